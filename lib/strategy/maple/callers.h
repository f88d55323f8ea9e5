/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Orders of an iRoot that certain callers make; contracts in callers.c. */
#ifndef MAPLE_STRATEGY_CALLERS_H
#define MAPLE_STRATEGY_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/error.h>
#include <maple/iroot.h>
#include "../../plan/plan.h"
#include "../../predict/predict.h"

#define MAPLE_CALLERS_KNOWN 16 /* of an iRoot; others are not looked at */
#define MAPLE_CALLERS_TRIED 4  /* ... and of these, the rarest */

/* The same iRoot, where these callers have its events happen. */
struct maple_variant {
	uint32_t context[MAPLE_IROOT_EVENTS];
	struct maple_predict_facts facts;
	char name[MAPLE_IROOT_EVENTS][MAPLE_PLAN_NAME]; /* threads */
	uint32_t seen; /* executions of its events in one run */
	bool predicted, exposed;
	unsigned int apart; /* the ends of its pairs, in calls */
	unsigned int tries;
	bool missed; /* the last try was none, and comes again */
};

struct maple_callers {
	struct maple_variant *variant;
	uint32_t n, room;
};

struct maple_candidate;
struct maple_candidates;
struct maple_choice_limits;
struct maple_job_end;
struct maple_profiling;

int maple_callers_learn(struct maple_profiling *p,
			const struct maple_job_end *end, bool *news,
			struct maple_error *err);
struct maple_candidate *
maple_callers_next(const struct maple_candidates *all,
		   const struct maple_choice_limits *limits, uint32_t *which);
void maple_callers_tried(struct maple_variant *v, bool missed);
int maple_callers_plan(const struct maple_candidate *c, uint32_t which,
		       uint64_t seed, struct maple_plan *plan);
void maple_callers_deinit(struct maple_callers *callers);

#endif
