/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Which processes a line of mapled.conf matches. */
#ifndef MAPLE_DAEMON_WATCH_SCAN_H
#define MAPLE_DAEMON_WATCH_SCAN_H

#include <stdint.h>
#include "line.h"
#include "user.h"

struct maple_scan_process {
	pid_t pid;
	uint64_t started; /* in ticks since boot: with pid, who it is */
};

struct maple_scan {
	unsigned int n; /* of these, the oldest first; */
	struct maple_scan_process process[MAPLE_WATCH_PROCESSES];
	unsigned int matching; /* ... of so many that could be, */
	unsigned int replaced; /* and whose executable is another by now, */
	unsigned int single;   /* and that have one thread */
};

/* Looks at all that the user may look at; 0 or -errno. */
int maple_scan(const struct maple_watch_line *line,
	       const struct maple_watch_user *user, struct maple_scan *scan);

/* Whether @process is still the one that @line matched; by its user. */
bool maple_scan_is(const struct maple_watch_line *line,
		   const struct maple_scan_process *process);

#endif
