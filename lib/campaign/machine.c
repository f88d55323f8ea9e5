// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the kernel's own files say of this machine: whether real-time threads
 * get their time, whom they hold up, which modules it takes, and which maple.ko
 * it has.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/version.h>
#include "probe.h"

#define IRQ_PRIO 50 /* of interrupt threads */

__attribute__((format(printf, 2, 3))) static FILE *open_in(const char *root,
							   const char *fmt, ...)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s", root);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	return fopen(path, "re");
}

/* The first line, without its end; false if there is none. */
static bool read_line(FILE *file, char *line, size_t size)
{
	bool got = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	line[got ? strcspn(line, "\n") : 0] = '\0';
	return got;
}

static bool read_long(FILE *file, long *value)
{
	char line[64], *end;

	if (!read_line(file, line, sizeof(line)))
		return false;
	*value = strtol(line, &end, 10);
	return end != line;
}

static void probe_throttling(struct maple_answers *a, const char *root)
{
	long us;

	if (!read_long(open_in(root, "proc/sys/kernel/sched_rt_runtime_us"),
		       &us))
		maple_answer(a, "real-time throttling", MAPLE_PROBE_INFO, "",
			     "unknown: no /proc/sys/kernel/sched_rt_runtime_us");
	else if (us < 0)
		maple_answer(a, "real-time throttling", MAPLE_PROBE_MISSING,
			     "sudo sysctl kernel.sched_rt_runtime_us=950000",
			     "off: a spinning target would starve its CPU");
	else
		maple_answer(a, "real-time throttling", MAPLE_PROBE_OK, "",
			     "on, %ld us of each period", us);
}

/* Whether @list, of words with commas between, has @word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, word, n) && (!list[n] || list[n] == ','))
			return true;
	}
	return false;
}

/* The first version's group of the controller "cpu" that we are in. */
static bool find_group(const char *root, char *group, size_t size)
{
	FILE *file = open_in(root, "proc/self/cgroup");
	char line[4096], *names, *path = NULL;

	while (file && !path && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		names = strchr(line, ':');
		path = names ? strchr(++names, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		if (!has_word(names, "cpu"))
			path = NULL;
	}
	if (path)
		snprintf(group, size, "%s", strcmp(path, "/") ? path : "");
	if (file)
		fclose(file);
	return path;
}

/* Where that controller's groups are. */
static bool find_groups(const char *root, char *at, size_t size)
{
	FILE *file = open_in(root, "proc/self/mountinfo");
	char line[4096], type[64], options[1024], *rest;
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		rest = strstr(line, " - ");
		found = rest &&
			sscanf(rest, " - %63s %*s %1023s", type, options) == 2 &&
			!strcmp(type, "cgroup") && has_word(options, "cpu") &&
			sscanf(line, "%*s %*s %*s %*s %1023s", options) == 1;
	}
	if (found)
		snprintf(at, size, "%s", options);
	if (file)
		fclose(file);
	return found;
}

/* With RT_GROUP_SCHED a new group has no time for real-time threads. */
static void probe_groups(struct maple_answers *a, const char *root)
{
	char at[1024], group[1024], mend[256];
	long us;

	if (!find_groups(root, at, sizeof(at)) ||
	    !find_group(root, group, sizeof(group)) ||
	    !read_long(open_in(root, "%s%s/cpu.rt_runtime_us", at + 1, group),
		       &us)) {
		maple_answer(a, "real-time groups", MAPLE_PROBE_OK, "",
			     "none: no control group takes real-time CPU time "
			     "away");
		return;
	}
	if (us) {
		maple_answer(a, "real-time groups", MAPLE_PROBE_OK, "",
			     "control group %.128s has %ld us of each period",
			     *group ? group : "/", us);
		return;
	}
	snprintf(mend, sizeof(mend),
		 "echo 500000 | sudo tee %.90s%.90s/cpu.rt_runtime_us", at,
		 group);
	maple_answer(a, "real-time groups", MAPLE_PROBE_MISSING, mend,
		     "control group %.128s has no real-time CPU time: a forced "
		     "target would stand still",
		     group);
}

static void probe_preemption(struct maple_answers *a, const char *root)
{
	long realtime = 0, top = 0;

	read_long(open_in(root, "sys/kernel/realtime"), &realtime);
	read_long(open_in(root, "sys/module/maple/parameters/top_prio"), &top);
	if (!realtime)
		maple_answer(a, "PREEMPT_RT", MAPLE_PROBE_OK, "",
			     "no: interrupts come before any target");
	else
		maple_answer(a, "PREEMPT_RT", MAPLE_PROBE_INFO,
			     top >= IRQ_PRIO ? "sudo rmmod maple && sudo "
					       "modprobe maple top_prio=49"
					     : "",
			     "yes: a target at priorities up to 85%s holds up "
			     "the interrupt threads of its CPU, at 50",
			     top && top < IRQ_PRIO ? " (the agent's)" : "");
}

/* The word in brackets of "none [integrity] confidentiality". */
static void read_lockdown(const char *root, char *mode, size_t size)
{
	char line[128], *from = NULL;

	if (read_line(open_in(root, "sys/kernel/security/lockdown"), line,
		      sizeof(line)))
		from = strchr(line, '[');
	snprintf(mode, size, "%s", from ? from + 1 : "none");
	mode[strcspn(mode, "]")] = '\0';
}

/* A variable of UEFI: four bytes about it, then its own. */
static bool secure_boot(const char *root)
{
	FILE *file = open_in(root,
			     "sys/firmware/efi/efivars/"
			     "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
	uint8_t bytes[5] = { 0 };
	bool on = file && fread(bytes, sizeof(bytes), 1, file) == 1 && bytes[4];

	if (file)
		fclose(file);
	return on;
}

static bool is_there(const char *root, const char *what)
{
	FILE *file = open_in(root, "%s", what);
	bool is = file;

	if (is)
		fclose(file);
	return is;
}

static void probe_signatures(struct maple_answers *a, const char *root)
{
	static const char key[] = "var/lib/dkms/mok.pub";
	bool secure = secure_boot(root), strict;
	char mode[64], said[128];

	read_lockdown(root, mode, sizeof(mode));
	strict = secure || strcmp(mode, "none");
	snprintf(said, sizeof(said), "Secure Boot %s, lockdown %s",
		 secure ? "on" : "off", mode);
	if (!strcmp(mode, "confidentiality"))
		maple_answer(a, "secure boot", MAPLE_PROBE_INFO,
			     "boot without lockdown=confidentiality",
			     "%s: no kprobes and no reading of kernel memory, "
			     "so no eBPF observer",
			     said);
	else if (!strict)
		maple_answer(a, "secure boot", MAPLE_PROBE_OK, "",
			     "%s: maple.ko needs no signature", said);
	else if (is_there(root, "sys/module/maple/initstate"))
		maple_answer(a, "secure boot", MAPLE_PROBE_OK, "",
			     "%s: the key of maple.ko is known", said);
	else
		maple_answer(a, "secure boot", MAPLE_PROBE_INFO,
			     is_there(root, key)
				     ? "sudo mokutil --import "
				       "/var/lib/dkms/mok.pub, then reboot and "
				       "choose Enroll MOK"
				     : "sudo apt install maple-dkms mokutil, "
				       "which makes a key; then sudo mokutil "
				       "--import /var/lib/dkms/mok.pub, reboot "
				       "and choose Enroll MOK",
			     "%s: maple.ko is loaded only when signed with a "
			     "key that the kernel knows",
			     said);
}

/* One from before an upgrade stays loaded. */
static void probe_version(struct maple_answers *a, const char *root)
{
	char version[64];

	if (!is_there(root, "sys/module/maple/initstate"))
		maple_answer(a, "module version", MAPLE_PROBE_OK, "",
			     "no maple.ko is loaded; this is mapletest %s",
			     MAPLE_VERSION);
	else if (!read_line(open_in(root, "sys/module/maple/version"), version,
			    sizeof(version)) ||
		 strcmp(version, MAPLE_VERSION))
		maple_answer(a, "module version", MAPLE_PROBE_INFO,
			     "sudo rmmod maple && sudo modprobe maple",
			     "maple.ko %s is loaded, but this is mapletest %s",
			     *version ? version : "of no version",
			     MAPLE_VERSION);
	else
		maple_answer(a, "module version", MAPLE_PROBE_OK, "",
			     "maple.ko and mapletest are both %s", version);
}

/*
 * maple_machine_probe - an answer for each
 * @root: the folder that all is looked for in, with a slash behind it
 */
void maple_machine_probe(struct maple_answers *a, const char *root)
{
	probe_throttling(a, root);
	probe_groups(a, root);
	probe_preemption(a, root);
	probe_signatures(a, root);
	probe_version(a, root);
}
