/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DETACHED_STATE_H
#define MAPLE_DETACHED_STATE_H

#include <stdbool.h>
#include <stdint.h>

/* How far a job is, and how it ended. */
struct maple_job_state {
	unsigned int runs, findings;
	int status;   /* -1: it has not ended */
	int64_t user; /* who carries it out */
	int64_t ended;
	bool reported;
};

int maple_state_write(int fd, const struct maple_job_state *state);
int maple_state_read(int fd, struct maple_job_state *state);

#endif
