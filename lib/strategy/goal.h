/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A goal: what a strategy wants a run to do, in the form in which the memo and
 * the reports count it. What its class means is the strategy's.
 */
#ifndef MAPLE_STRATEGY_GOAL_H
#define MAPLE_STRATEGY_GOAL_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/goal.h>
#include <maple/memo.h>

struct maple_plan;

struct maple_goal_use {
	uint64_t context; /* hash of who called; 0: whoever did */
	uint32_t site;
	uint32_t kind; /* READ, WRITE, LOCK, UNLOCK, NOTIFY or SLEEP */
};

struct maple_goal {
	bool found; /* a finding of this campaign is about it */
	/* Of campaigns that share the memo; claims.c. */
	bool claimed;	  /* no other one tries it now, ... */
	bool taken;	  /* ... or one did when it was to be claimed, */
	double elsewhere; /* ... and it is left to that one until then, */
	double since;	  /* ... first asked for then in vain; 0: it was not */
	unsigned int marks; /* that the memo will be told of, bits */
	int64_t row;	    /* in the memo; 0: not told yet */
	const char *class;  /* one of its strategy's; not owned */
	/* What is done where, in the order that tells it from others. */
	unsigned int n;
	struct maple_goal_use use[MAPLE_GOAL_USES];
	/* by the memo, before this campaign; at a server: when it was claimed */
	struct maple_memo_state known;
};

int maple_goal_of_plan(const struct maple_plan *plan, struct maple_goal *goal);

#endif
