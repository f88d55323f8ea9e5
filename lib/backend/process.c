// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What /proc says of a target's threads. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "process.h"

static ssize_t slurp(pid_t pid, pid_t tid, const char *name, char *buf,
		     size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	buf[n] = '\0';
	return n;
}

/* maple_process_threads - the ids of @pid's threads; returns how many */
int maple_process_threads(pid_t pid, pid_t *tids, int max)
{
	struct dirent *entry;
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (n < max && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			tids[n++] = atoi(entry->d_name);
	closedir(dir);
	return n;
}

/*
 * maple_process_wait - what thread @tid waits for
 * @futex: the futex word's address with FOREVER; may be NULL
 */
enum maple_wait maple_process_wait(pid_t pid, pid_t tid, uint64_t *futex)
{
	unsigned long long nr, arg[4];
	char buf[256];

	if (slurp(pid, tid, "syscall", buf, sizeof(buf)) < 0)
		return MAPLE_WAIT_GONE;
	if (!strncmp(buf, "running", 7))
		return MAPLE_WAIT_RUNS;
	if (sscanf(buf, "%llu %llx %llx %llx %llx", &nr, &arg[0], &arg[1],
		   &arg[2], &arg[3]) != 5 ||
	    nr != SYS_futex)
		return MAPLE_WAIT_OTHER;
	switch (arg[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		break;
	default:
		return MAPLE_WAIT_OTHER;
	}
	if (arg[3])
		return MAPLE_WAIT_OTHER;
	if (futex)
		*futex = arg[0];
	return MAPLE_WAIT_FOREVER;
}

/* maple_process_cpu - CPU time that @tid has used, and its state letter */
bool maple_process_cpu(pid_t pid, pid_t tid, uint64_t *ns, char *state)
{
	unsigned long long used;
	char buf[512], *paren;

	if (slurp(pid, tid, "schedstat", buf, sizeof(buf)) < 0 ||
	    sscanf(buf, "%llu", &used) != 1)
		return false;
	if (slurp(pid, tid, "stat", buf, sizeof(buf)) < 0)
		return false;
	paren = strrchr(buf, ')');
	if (!paren || sscanf(paren + 1, " %c", state) != 1)
		return false;
	*ns = used;
	return true;
}

static uint64_t switches(pid_t pid, pid_t tid)
{
	unsigned long long n = 0;
	char buf[4096], *at;

	if (slurp(pid, tid, "status", buf, sizeof(buf)) < 0)
		return 0;
	at = strstr(buf, "\nvoluntary_ctxt_switches:");
	if (at)
		sscanf(strchr(at + 1, ':') + 1, "%llu", &n);
	return n;
}

/*
 * maple_process_stuck - whether every thread of @pid waits for another one
 * @stamp: changes whenever some thread has run; stuck twice in a row with
 *         the same stamp means that nothing happened in between
 *
 * Waits that a signal, a timer, a file or another process may end do not
 * count: only futexes without a timeout do.
 */
bool maple_process_stuck(pid_t pid, uint64_t *stamp)
{
	pid_t tids[4096];
	int i, n = maple_process_threads(pid, tids, 4096);
	uint64_t sum = n, futex;

	if (!n)
		return false;
	for (i = 0; i < n; i++) {
		if (maple_process_wait(pid, tids[i], &futex) !=
		    MAPLE_WAIT_FOREVER)
			return false;
		sum = sum * 31 + futex + switches(pid, tids[i]);
	}
	*stamp = sum;
	return true;
}
