/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A job of a user's, which mapled watch begins: what attach --detach makes. */
#ifndef MAPLE_DAEMON_WATCH_STRETCH_H
#define MAPLE_DAEMON_WATCH_STRETCH_H

#include <maple/detached.h>
#include "state.h"
#include "user.h"

/* What the user's folder of a job says of it. */
struct maple_stretch_news {
	enum maple_detached_state state;
	int status;
	pid_t pid; /* who carries it out; 0: nobody */
	uint64_t started;
	unsigned int runs, findings;
	uint64_t predicted, exposed;
};

/*
 * Begins a job on @process, as @user; @socket: where mapled listens, or NULL
 *
 * Errors, with the words of mapletest: it refuses, or is not there. -ESRCH the
 * process is gone.
 */
int maple_stretch_begin(const struct maple_watch_line *line,
			const struct maple_watch_user *user,
			const struct maple_scan_process *process,
			const char *socket, uint64_t *number,
			struct maple_error *err);

/* What there is to know of job @number; -errno. */
int maple_stretch_look(const struct maple_watch_user *user, uint64_t number,
		       struct maple_stretch_news *news);

/* It is to end, and we wait for that; -errno. */
int maple_stretch_stop(const struct maple_watch_user *user, uint64_t number);

/* It is forgotten, what it has learned is not; -errno. */
int maple_stretch_remove(const struct maple_watch_user *user, uint64_t number);

#endif
