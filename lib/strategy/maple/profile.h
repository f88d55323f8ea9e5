/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Profile runs: what a run exposed, and what another order of it could. maple
 * predicts from them; the strategies that it is compared with only count.
 */
#ifndef MAPLE_STRATEGY_PROFILE_H
#define MAPLE_STRATEGY_PROFILE_H

#include <stddef.h>
#include "../expect.h"
#include "../net.h"
#include "../strategy.h"
#include "predict/cells/crossed.h"
#include "predict/before/races.h"
#include "candidate.h"
#include "choice.h"

/* In a count: and more, of which there were no events. */
#define MAPLE_HITS_MORE 0x80000000u

#define MAPLE_DRY_PROFILES \
	3 /* profile runs in a row that add nothing, at least */

/* By number, without MAPLE_SITE_CALL. */
struct maple_hits {
	uint32_t *count;
	uint32_t n;
};

/* Of the accesses of a profile run, those that a change may be put at. */
struct maple_sample {
	struct maple_change change[MAPLE_RUN_CHANGES];
	uint32_t n;
	uint64_t seen;		   /* accesses it was drawn from */
	struct maple_hits hits[2]; /* sites and calls */
};

/* What is known of the sites' sharing: a byte each, see sharing.c. */
struct maple_sharing {
	struct maple_known {
		uint8_t *state;
		uint32_t n;
	} known[2];    /* sites and calls, by number */
	uint32_t left; /* sites, by the run that was chosen for last */
};

/* The events of a run, in order. */
struct maple_kept {
	struct maple_event *event;
	uint32_t n, room;
	bool cut; /* there were more */
};

/* Which sites are left alone, later on. */
enum maple_leaves {
	MAPLE_LEAVES_ORDERED, /* often executed ones that never raced, and */
	MAPLE_LEAVES_LONE,    /* those whose memory one thread uses, */
	MAPLE_LEAVES_OFTEN,   /* ... if they are executed often, */
	MAPLE_LEAVES_NONE,    /* not even what never raced, and is busy */
};

/* What a controlled run is for. */
struct maple_controlled {
	enum maple_leaves leaves;
	bool keeps; /* its events, */
	bool lean;  /* ... which are all that it is for: nothing is predicted */
	bool bound; /* PCT changes at one variable */
};

struct maple_profiling {
	struct maple_study *study;
	bool listens; /* to what is predicted */
	struct maple_choice_limits limits;
	struct maple_candidates candidates;
	bool crosses;		       /* crossings are looked for */
	struct maple_predict *predict; /* of the last run; may be NULL */
	struct maple_crossed *crossed; /* ... as well */
	struct maple_sample sample;    /* of the last run */
	struct maple_kept kept;	       /* of the last controlled run */
	struct maple_sharing sharing;
	struct maple_expect expect; /* of controlled runs */
	struct maple_net net;	    /* ... as well */
	unsigned int runs;	    /* but controlled ones */
	bool seen;		    /* some run was, to its end */
	unsigned int dry;	    /* runs without candidates, in a row */
	unsigned int underway;
	uint64_t not_split; /* the most that a run left alone */
};

/* profile.c */
void maple_profiling_init(struct maple_profiling *p, struct maple_study *study,
			  bool listens);
int maple_profiling_begin(struct maple_profiling *p, struct maple_job *job,
			  struct maple_error *err);
int maple_profiling_control(struct maple_profiling *p, struct maple_job *job,
			    const struct maple_controlled *how,
			    enum maple_policy_kind policy,
			    struct maple_error *err);
int maple_profiling_follow(struct maple_profiling *p, struct maple_job *job,
			   const struct maple_controlled *how,
			   struct maple_switches *list, struct maple_error *err);
void maple_profiling_event(struct maple_job *job,
			   const struct maple_event *event);
int maple_profiling_ended(struct maple_profiling *p, struct maple_job *job,
			  const struct maple_job_end *end,
			  struct maple_error *err);
void maple_profiling_drop(struct maple_profiling *p, struct maple_job *job);
void maple_profiling_guards(const struct maple_profiling *p,
			    struct maple_candidate *k);
unsigned int maple_profiling_around(const struct maple_profiling *p,
				    uint32_t site, uint32_t *sites,
				    unsigned int most);
void maple_profiling_deinit(struct maple_profiling *p);

/* profiled.c; of who begins with its profiling, see there */
#define MAPLE_PROFILED(type) \
	static_assert(!offsetof(type, profiling), "its profiling comes first")
void maple_profiled_event(void *self, struct maple_job *job,
			  const struct maple_event *event);
int maple_profiled_ended(void *self, struct maple_job *job,
			 const struct maple_job_end *end,
			 struct maple_error *err);
void maple_profiled_drop(void *self, struct maple_job *job);
void maple_profiled_count(const void *self, struct maple_coverage *coverage);
void maple_profiled_standing(const void *self, struct maple_standing *standing);
unsigned int maple_profiled_around(const void *self, uint32_t site,
				   uint32_t *sites, unsigned int most);
uint32_t maple_profiled_sites(const void *self);
void maple_profiled_close(void *self);

/* change.c */
void maple_change_note(const struct maple_study *study, struct maple_sample *s,
		       const struct maple_event *event);
void maple_change_draw(const struct maple_study *study, struct maple_sample *s,
		       struct maple_job *job, unsigned int n);
void maple_change_deinit(struct maple_sample *s);
unsigned int maple_change_depth(const struct maple_study *study);

/* sharing.c */
void maple_sharing_learn(struct maple_sharing *s,
			 const struct maple_sample *sample,
			 const struct maple_predict *predict,
			 const struct maple_races *races);
bool maple_sharing_raced(const struct maple_sharing *s, uint32_t site);
bool maple_sharing_is_shared(const struct maple_sharing *s, uint32_t site);
uint8_t *maple_sharing_choose(struct maple_sharing *s,
			      const struct maple_study *study, uint64_t seed,
			      bool controlled, enum maple_leaves leaves,
			      uint32_t *n);
void maple_sharing_deinit(struct maple_sharing *s);

/* cuts.c */
void maple_prediction_add(struct maple_prediction *prediction,
			  const struct maple_predict *p);

#endif
