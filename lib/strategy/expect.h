/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the next controlled run is expected to do, by those before it: PCT has
 * its change points spread over so many points, SURW counts how often each
 * thread will be at a variable, POS decides fewer conflicts anew. Guesses,
 * both: a run may do something else.
 */
#ifndef MAPLE_STRATEGY_EXPECT_H
#define MAPLE_STRATEGY_EXPECT_H

#include "strategy.h"

struct maple_expect_variable;

/* Of one run: the memory that its threads came to at points. Owned. */
struct maple_variables {
	struct maple_expect_variable
		*table; /* in the order of their first accesses */
	bool begun;	/* a second thread was created */
};

#define MAPLE_EXPECT_LANES 16 /* those beyond share them */

/* Of one lane, whose runs are forked from one process. */
struct maple_expect_lane {
	/* Of its last controlled run that was whole, and its threads' names. */
	struct maple_variables variables;
	uint32_t nnames;
	struct maple_policy_name *names;
	/* Where that run's images lay; whether the run after had them moved. */
	uint32_t nimages;
	struct maple_run_image *images;
	bool moved;
};

struct maple_expect {
	uint64_t points; /* a mean; 0: not known yet */
	bool controlled; /* ... of controlled runs */
	struct maple_expect_lane lane[MAPLE_EXPECT_LANES];
};

void maple_variables_note(struct maple_variables *v,
			  const struct maple_event *event);
void maple_variables_visit(const struct maple_variables *v,
			   void (*visit)(void *ctx, uint64_t addr,
					 uint32_t threads, uint32_t accesses),
			   void *ctx);
void maple_variables_deinit(struct maple_variables *v);

void maple_expect_learn(struct maple_expect *x, struct maple_variables *v,
			const struct maple_run *run, unsigned int lane);
int maple_expect_order(const struct maple_expect *x,
		       const struct maple_study *study, struct maple_job *job,
		       enum maple_policy_kind policy, unsigned int changes,
		       bool bound);
uint32_t maple_expect_one_in(const struct maple_expect *x);
void maple_expect_deinit(struct maple_expect *x);

#endif
