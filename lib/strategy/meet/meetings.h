/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Meetings of two threads on two CPUs, one run each: of every crossing that
 * runs showed (predict/cells/crossed.h), until it has been met, or not, often
 * enough.
 */
#ifndef MAPLE_STRATEGY_MEETINGS_H
#define MAPLE_STRATEGY_MEETINGS_H

#include "../maple/profile.h"

struct maple_meeting {
	struct maple_crossing crossing;
	unsigned int tries, met; /* runs */
};

/* Zeroed before its first use. */
struct maple_meetings {
	struct maple_meeting **at; /* in the order in which they were found */
	size_t n, room;
	unsigned int met; /* runs, of all of them */
};

/* maple_meetings_learn - what @p's last run showed; returns -errno */
int maple_meetings_learn(struct maple_meetings *m,
			 const struct maple_profiling *p,
			 struct maple_error *err);

/* maple_meetings_begin - @job is to be a run of one; false: none is left */
bool maple_meetings_begin(struct maple_meetings *m, struct maple_job *job);

/* maple_meetings_is - whether @job was begun so */
bool maple_meetings_is(const struct maple_job *job);
void maple_meetings_ended(struct maple_meetings *m, struct maple_job *job,
			  const struct maple_job_end *end);
void maple_meetings_deinit(struct maple_meetings *m);

#endif
