// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What doctor says of machines, each of them a folder with the kernel's files.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/version.h>
#include "campaign/probe.h"

static char root[64];

static int make_root(void **state)
{
	strcpy(root, "/tmp/machine.XXXXXX");
	assert_non_null(mkdtemp(root));
	strcat(root, "/");
	return 0;
}

static int remove_root(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void write_bytes(const char *name, const void *bytes, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *p = path + strlen(root); (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(path, 0755);
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void write_line(const char *name, const char *line)
{
	write_bytes(name, line, strlen(line));
}

/* The answer of that name says @text and, to mend it, @mend. */
static void says(const char *name, int state, const char *text, const char *mend)
{
	struct maple_probe probes[16];
	struct maple_answers a = { .probes = probes, .max = 16 };
	unsigned int i, found = 0;

	maple_machine_probe(&a, root);
	for (i = 0; i < a.n; i++) {
		if (strcmp(probes[i].name, name))
			continue;
		found++;
		if (!strstr(probes[i].text, text))
			fail_msg("'%s' is not '%s'", probes[i].text, text);
		if (*mend ? !strstr(probes[i].mend, mend) : *probes[i].mend)
			fail_msg("'%s' is not '%s'", probes[i].mend, mend);
		assert_int_equal(probes[i].state, state);
	}
	assert_int_equal(found, 1);
}

static void test_throttling(void **state)
{
	static const char name[] = "real-time throttling";

	says(name, MAPLE_PROBE_INFO, "unknown", "");
	write_line("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	says(name, MAPLE_PROBE_OK, "on, 950000 us", "");
	write_line("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	says(name, MAPLE_PROBE_MISSING, "off", "sched_rt_runtime_us=950000");
}

static void test_groups(void **state)
{
	static const char name[] = "real-time groups";

	says(name, MAPLE_PROBE_OK, "none", "");
	write_line("proc/self/cgroup", "3:cpuset:/b\n"
				       "2:cpu,cpuacct:/a/b\n"
				       "0::/c\n");
	write_line("proc/self/mountinfo",
		   "30 24 0:26 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - "
		   "cgroup cgroup rw,cpuset\n"
		   "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - "
		   "cgroup cgroup rw,cpu,cpuacct\n");
	/* A kernel without RT_GROUP_SCHED has the group, but not the file. */
	says(name, MAPLE_PROBE_OK, "none", "");
	write_line("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.rt_runtime_us", "0\n");
	says(name, MAPLE_PROBE_MISSING, "group /a/b has no real-time",
	     "sudo tee /sys/fs/cgroup/cpu,cpuacct/a/b/cpu.rt_runtime_us");
	write_line("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.rt_runtime_us", "5000\n");
	says(name, MAPLE_PROBE_OK, "group /a/b has 5000 us", "");
	write_line("proc/self/cgroup", "2:cpu,cpuacct:/\n");
	write_line("sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us", "950000\n");
	says(name, MAPLE_PROBE_OK, "group / has 950000 us", "");
	/* The second version of control groups says nothing of it. */
	write_line("proc/self/cgroup", "0::/c\n");
	says(name, MAPLE_PROBE_OK, "none", "");
}

static void test_preemption(void **state)
{
	static const char name[] = "PREEMPT_RT";

	says(name, MAPLE_PROBE_OK, "no:", "");
	write_line("sys/kernel/realtime", "1\n");
	says(name, MAPLE_PROBE_INFO, "up to 85 holds up", "");
	write_line("sys/module/maple/parameters/top_prio", "85\n");
	says(name, MAPLE_PROBE_INFO, "up to 85 holds up", "top_prio=49");
	write_line("sys/module/maple/parameters/top_prio", "49\n");
	says(name, MAPLE_PROBE_INFO, "the agent's", "");
}

static void test_signatures(void **state)
{
	static const char name[] = "secure boot";
	static const char variable[] =
		"sys/firmware/efi/efivars/"
		"SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

	says(name, MAPLE_PROBE_OK, "off, lockdown none", "");
	write_bytes(variable, "\6\0\0\0\0", 5);
	write_line("sys/kernel/security/lockdown",
		   "[none] integrity confidentiality\n");
	says(name, MAPLE_PROBE_OK, "off, lockdown none", "");
	write_bytes(variable, "\6\0\0\0\1", 5);
	write_line("sys/kernel/security/lockdown",
		   "none [integrity] confidentiality\n");
	says(name, MAPLE_PROBE_INFO, "on, lockdown integrity: maple.ko is",
	     "apt install maple-dkms mokutil");
	write_line("var/lib/dkms/mok.pub", "");
	says(name, MAPLE_PROBE_INFO, "signed with a key",
	     "sudo mokutil --import /var/lib/dkms/mok.pub, then reboot");
	write_line("sys/module/maple/initstate", "live\n");
	says(name, MAPLE_PROBE_OK, "the key of maple.ko is known", "");
	write_line("sys/kernel/security/lockdown",
		   "none integrity [confidentiality]\n");
	says(name, MAPLE_PROBE_INFO, "no eBPF observer",
	     "without lockdown=confidentiality");
}

static void test_version(void **state)
{
	static const char name[] = "module version";

	says(name, MAPLE_PROBE_OK, "no maple.ko is loaded", "");
	write_line("sys/module/maple/initstate", "live\n");
	says(name, MAPLE_PROBE_INFO, "of no version is loaded",
	     "sudo rmmod maple && sudo modprobe maple");
	write_line("sys/module/maple/version", "0.0\n");
	says(name, MAPLE_PROBE_INFO,
	     "maple.ko 0.0 is loaded, but this is mapletest " MAPLE_VERSION,
	     "sudo rmmod maple && sudo modprobe maple");
	write_line("sys/module/maple/version", MAPLE_VERSION "\n");
	says(name, MAPLE_PROBE_OK, "both " MAPLE_VERSION, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_throttling, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_groups, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_preemption, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_signatures, make_root,
						remove_root),
		cmocka_unit_test_setup_teardown(test_version, make_root,
						remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
