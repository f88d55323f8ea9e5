/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Schedules that are one turn further from one that was run: which is next, and
 * what its run gives rise to.
 */
#ifndef MAPLE_STRATEGY_RANKING_H
#define MAPLE_STRATEGY_RANKING_H

#include "../maple/profile.h"
#include "lists.h"

struct maple_ranking {
	struct maple_controlled how; /* of its runs */
	struct maple_rank_lists lists;
	struct maple_rank_names names;
	struct maple_bounds bounds;
	struct maple_rank_seen *traces; /* by hash: turns of its list, plus 1 */
	/* VARIABLES: the same, by hash and what its list is about */
	struct maple_rank_seen *searched;
	unsigned int underway;
	uint64_t schedules; /* that were run, of all within bounds */
	uint64_t alive;	    /* events of runs that are kept */
	bool begun, everywhere;
	bool exhausts; /* nothing may be left out */
	/* What may have been missed, so that a bound is not exhausted. */
	uint64_t unsure;
	uint32_t told; /* variables of the net, when it was begun */
};

void maple_ranking_init(struct maple_ranking *r, enum maple_rank_way way,
			const struct maple_campaign_options *options);

/*
 * maple_ranking_begin - @job becomes a run of the best list, to be ended or
 * dropped; WAIT: none is left, unless what is under way brings more; DONE: none
 * is left. @e: 0, or -errno
 */
enum maple_next maple_ranking_begin(struct maple_ranking *r,
				    struct maple_profiling *p,
				    struct maple_job *job,
				    struct maple_error *err, int *e);

/*
 * maple_ranking_ended - the run of @job, begun here, has ended, and @p has
 * heard of it
 */
int maple_ranking_ended(struct maple_ranking *r, const struct maple_profiling *p,
			struct maple_job *job, const struct maple_job_end *end,
			struct maple_error *err);
void maple_ranking_drop(struct maple_ranking *r, struct maple_job *job);

/* maple_ranking_bound - what became of options->exhaust so far */
void maple_ranking_bound(const struct maple_ranking *r,
			 struct maple_bound *bound);
void maple_ranking_deinit(struct maple_ranking *r);

#endif
