/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Maple: predict, then enforce; internal to this folder. */
#ifndef MAPLE_STRATEGY_MAPLE_H
#define MAPLE_STRATEGY_MAPLE_H

#include "profile.h"

/* What it does, by itself or as a part of another; it begins with profiling. */
struct maple_search {
	struct maple_profiling profiling;
	unsigned int since_profile; /* enforced runs */
	unsigned int looks; /* at exposed orders, since the last profile run */
};

/* maple.c */
int maple_search_begin(struct maple_search *m, struct maple_job *job,
		       struct maple_error *err);
int maple_search_ended(struct maple_search *m, struct maple_job *job,
		       const struct maple_job_end *end, struct maple_error *err);
bool maple_search_is_eager(const struct maple_search *m);
void maple_search_drop(struct maple_search *m, struct maple_job *job);
bool maple_search_is_idle(const struct maple_search *m);
void maple_search_standing(const struct maple_search *m,
			   struct maple_standing *standing);

/* claims.c */
int maple_candidates_claim(struct maple_profiling *p,
			   struct maple_candidate **chosen, unsigned int *n,
			   struct maple_error *err);

/* enforce.c */
int maple_enforce_begin(struct maple_profiling *p, struct maple_job *job,
			struct maple_candidate *candidate, uint32_t which,
			struct maple_error *err);
int maple_enforce_ended(struct maple_profiling *p, struct maple_job *job,
			const struct maple_job_end *end,
			struct maple_error *err);
void maple_enforce_drop(struct maple_job *job);

#endif
