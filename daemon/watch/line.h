/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A line of mapled.conf that says what is watched. */
#ifndef MAPLE_DAEMON_WATCH_LINE_H
#define MAPLE_DAEMON_WATCH_LINE_H

#include <stdbool.h>
#include <stddef.h>

#define MAPLE_WATCH_LINES     64 /* of a file, at most */
#define MAPLE_WATCH_PROCESSES 64 /* of a line, at most */

struct maple_watch_line {
	char user[64];
	char glob[256];		/* of the executable's path */
	double share;		/* of one CPU's time, 0.01 is 1 % */
	double stretch;		/* seconds that a job lasts */
	unsigned int processes; /* watched at once, of those that match */
	bool force;		/* orders are forced as well */
};

struct maple_watch_lines {
	struct maple_watch_line *line;
	size_t n;
};

/* Adds the line that @value is; returns NULL, or what was expected, static. */
const char *maple_watch_lines_add(struct maple_watch_lines *lines,
				  const char *value);

/*
 * The user of the next line, from *@at on, whom this machine does not know,
 * which is no mistake of the file: users are removed. Moves *@at behind it,
 * which is 0 at first; NULL: there is no more.
 */
const char *maple_watch_lines_stranger(const struct maple_watch_lines *lines,
				       size_t *at);
void maple_watch_lines_deinit(struct maple_watch_lines *lines);

#endif
