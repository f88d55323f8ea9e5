// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Whether the agent can join a process, and what is in the way. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "join.h"

static bool read_line(pid_t pid, const char *name, const char *key, char *to,
		      size_t size)
{
	char path[64], line[256];
	size_t n = strlen(key);
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = !strncmp(line, key, n);
	fclose(file);
	if (found)
		snprintf(to, size, "%s", line + n + strspn(line + n, " \t"));
	return found;
}

static bool find_agent(void *ctx, const struct maple_memory_map *m)
{
	bool *found = ctx;

	*found |= strstr(m->path, "libmaple-agent.so") != NULL;
	return !*found;
}

static int no_trace(pid_t pid, int e, struct maple_error *err)
{
	const char *yama = "/proc/sys/kernel/yama/ptrace_scope";
	FILE *file = fopen(yama, "re");
	int scope = file ? fgetc(file) - '0' : 0;

	if (file)
		fclose(file);
	if (scope > 0)
		return maple_error_set(err, e,
				       "process %d may not be traced, since %s "
				       "is %d: `sudo mapletest attach %d`, or "
				       "write 0 there",
				       pid, yama, scope, pid);
	return maple_error_set(err, e,
			       "process %d may not be traced: %s, as is the "
			       "case where it was set-user-id or has given up "
			       "rights; `sudo mapletest attach %d`",
			       pid, strerror(e), pid);
}

/* In a child, since who is asked to trace stops being a tracer at its end. */
static int may_trace(pid_t pid, struct maple_error *err)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		int e = ptrace(PTRACE_SEIZE, pid, NULL, NULL) ? errno : 0;

		_exit(e);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return maple_error_set(err, errno, "no joiner: %m");
	return WEXITSTATUS(status) ? no_trace(pid, WEXITSTATUS(status), err)
				   : 0;
}

static bool is_elsewhere(pid_t pid, const char *space)
{
	char path[64];
	struct stat a, b;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, space);
	if (stat(path, &a))
		return false;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", space);
	return !stat(path, &b) && a.st_ino != b.st_ino;
}

/*
 * maple_join_fits - whether the agent can join process @pid; -errno with the
 * cause and the mend if not
 */
int maple_join_fits(pid_t pid, struct maple_error *err)
{
	char text[64];
	bool has_agent = false;
	int e;

	if (read_line(pid, "status", "State:", text, sizeof(text)) &&
	    (*text == 'T' || *text == 't'))
		return maple_error_set(err, EBUSY,
				       "process %d is stopped: `kill -CONT %d`",
				       pid, pid);
	e = may_trace(pid, err);
	if (e)
		return e;
	if (read_line(pid, "status", "Seccomp:", text, sizeof(text)) &&
	    *text != '0')
		return maple_error_set(err, ENOTSUP,
				       "process %d filters its system calls "
				       "(seccomp), which may kill it for the "
				       "agent's: start it without",
				       pid);
	if (is_elsewhere(pid, "mnt") || is_elsewhere(pid, "pid"))
		return maple_error_set(err, ENOTSUP,
				       "process %d is in a container, where the "
				       "agent cannot be found: run mapletest "
				       "in there",
				       pid);
	maple_memory_maps(pid, find_agent, &has_agent);
	if (has_agent)
		return maple_error_set(err, EBUSY,
				       "process %d has an agent already: it is "
				       "the run of a campaign; start it "
				       "without `mapletest run`",
				       pid);
	if (!maple_memory_libc(pid, "dlopen"))
		return maple_error_set(err, ENOTSUP,
				       "process %d is statically linked, or its "
				       "libc is not glibc 2.34 or later, whose "
				       "dlopen() it takes: start it with "
				       "another libc, or load maple.ko",
				       pid);
	return 0;
}
