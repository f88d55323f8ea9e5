// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Looks through /proc for processes that match, with their user's own rights:
 * one that this user may not trace does not tell its executable either.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../stat.h"
#include "scan.h"

#define GONE " (deleted)" /* how the kernel calls what was replaced */

enum match { OTHER, MATCHES, REPLACED, SINGLE };

/* All of its user ids are ours: root may see others' as well. */
static bool is_of_user(pid_t pid)
{
	unsigned int id[4], ours = geteuid();
	char text[1024];
	const char *at;

	if (!maple_stat_text(pid, "status", text, sizeof(text)))
		return false;
	at = strstr(text, "\nUid:");
	return at &&
	       sscanf(at + 5, "%u %u %u %u", &id[0], &id[1], &id[2], &id[3]) ==
		       4 &&
	       id[0] == ours && id[1] == ours && id[2] == ours && id[3] == ours;
}

/* What is ours is no program of the user's. */
static bool is_ours(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash &&
	       (!strcmp(slash, "/mapletest") || !strcmp(slash, "/mapled"));
}

static enum match match(const struct maple_watch_line *line, pid_t pid,
			uint64_t *started)
{
	char path[32], exe[4096];
	bool gone = false;
	struct maple_stat stat;
	size_t length;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return OTHER;
	exe[n] = '\0';
	length = (size_t)n;
	if (length > strlen(GONE) &&
	    !strcmp(exe + length - strlen(GONE), GONE)) {
		exe[length - strlen(GONE)] = '\0';
		gone = true;
	}
	if (fnmatch(line->glob, exe, FNM_PATHNAME) || is_ours(exe) ||
	    !is_of_user(pid) || !maple_stat_read(pid, &stat))
		return OTHER;
	*started = stat.started;
	return gone ? REPLACED : stat.threads < 2 ? SINGLE : MATCHES;
}

/* @scan stays in the order of age. */
static void add(struct maple_scan *scan, unsigned int most, pid_t pid,
		uint64_t started)
{
	unsigned int at = scan->n < most ? scan->n++ : most;

	scan->matching++;
	for (; at && scan->process[at - 1].started > started; at--)
		if (at < most)
			scan->process[at] = scan->process[at - 1];
	if (at < most)
		scan->process[at] = (struct maple_scan_process){ pid, started };
}

static int look(const void *ctx, void *answer)
{
	const struct maple_watch_line *line = ctx;
	struct maple_scan *scan = answer;
	const struct dirent *entry;
	DIR *dir = opendir("/proc");
	char path[32];
	struct stat st;
	uint64_t started;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		/* Another user's, or one that may not be traced. */
		snprintf(path, sizeof(path), "/proc/%d", (int)pid);
		if (stat(path, &st) || st.st_uid != geteuid())
			continue;
		switch (match(line, pid, &started)) {
		case MATCHES:
			add(scan, line->processes, pid, started);
			break;
		case REPLACED:
			scan->replaced++;
			break;
		case SINGLE:
			scan->single++;
			break;
		case OTHER:
			break;
		}
	}
	closedir(dir);
	return 0;
}

int maple_scan(const struct maple_watch_line *line,
	       const struct maple_watch_user *user, struct maple_scan *scan)
{
	return maple_watch_user_do(user, look, line, scan, sizeof(*scan));
}

bool maple_scan_is(const struct maple_watch_line *line,
		   const struct maple_scan_process *process)
{
	uint64_t started;

	return match(line, process->pid, &started) == MATCHES &&
	       started == process->started;
}
