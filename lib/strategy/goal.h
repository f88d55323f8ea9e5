/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A goal: what a strategy wants a run to do, in the form in which the memo and
 * the reports count it. What its class means is the strategy's.
 */
#ifndef MAPLE_STRATEGY_GOAL_H
#define MAPLE_STRATEGY_GOAL_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/iroot.h>
#include <maple/memo.h>

struct maple_plan;

struct maple_goal {
	bool found;		/* a finding of this campaign is about it */
	unsigned int marks;	/* that the memo will be told of, bits */
	int64_t row;		/* in the memo; 0: not told yet */
	struct maple_iroot key; /* class, and what is done where */
	struct maple_memo_state known; /* by the memo, before this campaign */
};

int maple_goal_of_plan(const struct maple_plan *plan, struct maple_goal *goal);

#endif
