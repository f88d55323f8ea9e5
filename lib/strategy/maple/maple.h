/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Maple: predict, then enforce; internal to this folder. */
#ifndef MAPLE_STRATEGY_MAPLE_H
#define MAPLE_STRATEGY_MAPLE_H

#include "../pcr/patterns.h"
#include "profile.h"

/* Its own. */
struct maple_search {
	struct maple_profiling profiling;
	struct maple_patterns patterns; /* what controlled runs did */
	unsigned int since_profile;	/* enforced runs */
	unsigned int looks; /* at exposed orders, since the last profile run */
	unsigned int idle; /* runs since nothing is left to try, but for looks */
	unsigned int mixed; /* controlled runs since the last profile run */
	double enforced, controlled; /* seconds of runs so far */
	double profiled;	     /* ... of the longest profile run */
	bool hung;		     /* a controlled run */
	/* Controlled runs, the last ones, without news; and by policies. */
	unsigned int quiet;
	struct {
		unsigned int runs, news;
	} by[MAPLE_POLICIES];
};

/* enforce.c */
int maple_enforce_begin(struct maple_profiling *p, struct maple_job *job,
			struct maple_candidate *candidate,
			struct maple_error *err);
int maple_enforce_ended(struct maple_profiling *p, struct maple_job *job,
			const struct maple_job_end *end,
			struct maple_error *err);
void maple_enforce_drop(struct maple_job *job);

#endif
