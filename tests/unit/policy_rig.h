/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Programs of a few operations a thread, run by a policy as the agent runs
 * them: who is chosen goes on until the policy chooses another one. Thread 0
 * creates the others, which come to their first operation, and ends.
 */
#ifndef POLICY_RIG_H
#define POLICY_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "policy/policy.h"

#define RIG_THREADS 8
#define RIG_OPS	    64
#define RIG_STEPS   (RIG_THREADS * RIG_OPS)

/* Not a point in this run, though the program does it. */
#define RIG_UNCONTROLLED 1

struct rig_op {
	uint32_t site, kind;
	uint64_t addr;
	uint32_t peek; /* LOCK: 1, while it may have to wait */
	unsigned int flags;
	uint64_t until; /* it waits for that time alone; 0: for none */
	bool patient;
};

struct rig_program {
	unsigned int nthreads; /* without thread 0 */
	unsigned int nops[RIG_THREADS];
	struct rig_op op[RIG_THREADS][RIG_OPS];
};

static struct rig {
	struct maple_policy *p;
	struct maple_policy_order order;
	struct maple_policy_setup setup;
	struct maple_policy_counts counts;
	struct maple_policy_switch log[1024];
	uint32_t nlog;
	struct maple_policy_name name[RIG_THREADS + 1];
	const struct rig_program *program;
	unsigned int at[RIG_THREADS + 1];
	/* who made the n-th operation of all */
	unsigned int step[RIG_STEPS], nsteps;
	uint32_t hit[RIG_STEPS]; /* ... and at which hit; 0: it was no point */
	uint64_t value[64];	 /* by address */
	uint32_t owner[64];	 /* of a lock; 0: free */
	bool waits[RIG_THREADS + 1]; /* for a lock, in the kernel */
	unsigned int blocked;	     /* how often somebody did */
	bool outside;		     /* somebody is not parked */
	unsigned int asked;	     /* how often about that */
	void *memory[64];	     /* that the policy was given */
	unsigned int nmemory;
	uint64_t follows; /* entries of a list that were about to be done */
} rig;

static void *rig_memory(uint64_t size)
{
	assert_true(rig.nmemory < 64);
	return rig.memory[rig.nmemory++] = calloc(1, size);
}

static bool rig_enabled(uint32_t t, const struct maple_policy_op *op)
{
	return !rig.owner[op->addr] || rig.owner[op->addr] == t;
}

static uint64_t rig_value(const struct maple_policy_op *op)
{
	return rig.value[op->addr];
}

static bool rig_outside(void)
{
	rig.asked++;
	return rig.outside;
}

static void rig_follows(uint32_t at, uint32_t thread, uint32_t next)
{
	const struct maple_policy_switch *e = &rig.setup.list[at];

	assert_true(at < rig.setup.nlist && e->what != MAPLE_POLICY_ARRIVED);
	assert_string_equal(rig.setup.name[e->thread].text,
			    rig.name[thread].text);
	assert_string_equal(rig.setup.name[e->next].text, rig.name[next].text);
	/* Nobody goes on yet. */
	assert_int_not_equal(maple_policy_chosen(rig.p),
			     next == thread ? MAPLE_POLICY_NOBODY : next);
	rig.follows++;
}

static const struct maple_policy_ops rig_ops = {
	.follows = rig_follows,
	.outside = rig_outside,
	.enabled = rig_enabled,
	.value = rig_value,
	.memory = rig_memory,
};

static const struct rig_op *rig_next(unsigned int t)
{
	return &rig.program->op[t - 1][rig.at[t]];
}

static bool rig_ended(unsigned int t)
{
	return !t || rig.at[t] == rig.program->nops[t - 1];
}

static void rig_execute(unsigned int t)
{
	const struct rig_op *op = rig_next(t);

	if (op->kind == MAPLE_EV_LOCK)
		rig.owner[op->addr] = t;
	else if (op->kind == MAPLE_EV_UNLOCK)
		rig.owner[op->addr] = 0;
	else if (op->kind == MAPLE_EV_WRITE)
		rig.value[op->addr]++;
	rig.hit[rig.nsteps] = op->flags & RIG_UNCONTROLLED
				      ? 0
				      : maple_policy_hits(rig.p, t, op->site);
	rig.step[rig.nsteps++] = t;
	rig.at[t]++;
}

/* Up to its next point; false: it has ended before. */
static bool rig_advance(unsigned int t)
{
	while (!rig_ended(t) && rig_next(t)->flags & RIG_UNCONTROLLED)
		rig_execute(t);
	return !rig_ended(t);
}

static void rig_announce(unsigned int t)
{
	const struct rig_op *op = rig_next(t);

	maple_policy_announce(rig.p, t,
			      &(struct maple_policy_op){
				      .site = op->site,
				      .kind = op->kind,
				      .addr = op->addr,
				      .size = 1,
				      .peek = op->peek,
				      .event = op->until != 0,
				      .until = op->until,
				      .patient = op->patient,
			      });
}

static void rig_birth(const struct rig_program *program)
{
	rig.p = calloc(1, maple_policy_size());
	assert_non_null(rig.p);
	rig.setup.order = &rig.order;
	rig.setup.log = rig.log;
	rig.setup.nlog = &rig.nlog;
	rig.setup.counts = &rig.counts;
	rig.setup.ops = &rig_ops;
	rig.program = program;
	maple_policy_start(rig.p, &rig.setup);
	for (unsigned int t = 1; t <= program->nthreads; t++) {
		snprintf(rig.name[t].text, MAPLE_POLICY_NAME, "0.%u", t);
		maple_policy_born(rig.p, t, rig.name[t].text, 0);
		if (rig_advance(t)) {
			rig_announce(t);
			maple_policy_arrive(rig.p, t);
		} else {
			maple_policy_exit(rig.p, t);
		}
	}
	strcpy(rig.name[0].text, "0");
	maple_policy_exit(rig.p, 0);
}

static bool rig_anyone(void)
{
	for (unsigned int t = 1; t <= rig.program->nthreads; t++)
		if (maple_policy_is_parked(rig.p, t))
			return true;
	return false;
}

/* Whether @t, which goes on, sleeps until somebody gives it its lock. */
static bool rig_blocks(unsigned int t)
{
	const struct rig_op *op = rig_next(t);

	if (op->kind != MAPLE_EV_LOCK || !rig.owner[op->addr])
		return false;
	rig.blocked++;
	return rig.waits[t] = true;
}

/* Who waits for a lock that is free has it, and comes to its next point. */
static void rig_wake(void)
{
	for (unsigned int t = 1; t <= rig.program->nthreads; t++) {
		if (!rig.waits[t] || rig.owner[rig_next(t)->addr])
			continue;
		rig.waits[t] = false;
		rig_execute(t);
		if (rig_advance(t)) {
			rig_announce(t);
			maple_policy_arrive(rig.p, t);
		} else {
			maple_policy_exit(rig.p, t);
		}
	}
}

/* @t is chosen, and goes on until it blocks or ends. */
static void rig_go_on(unsigned int t)
{
	while (!rig_blocks(t)) {
		if (rig_next(t)->until)
			maple_policy_expire(rig.p, t, rig_next(t)->until);
		maple_policy_execute(rig.p, t);
		rig_execute(t);
		rig_wake();
		if (!rig_advance(t)) {
			maple_policy_exit(rig.p, t);
			break;
		}
		rig_announce(t);
		t = maple_policy_decide(rig.p, t);
		assert_int_equal(maple_policy_chosen(rig.p), t);
	}
}

/* To the end, or until all who are left wait. */
static void rig_finish(void)
{
	while (rig_anyone())
		rig_go_on(maple_policy_fall(rig.p));
}

/* Runs @program by rig.order. */
static void rig_run(const struct rig_program *program)
{
	rig_birth(program);
	rig_finish();
}

static void rig_clear(void)
{
	static const struct rig none;

	while (rig.nmemory)
		free(rig.memory[--rig.nmemory]);
	free(rig.p);
	rig = none;
}

/* A new order, for a run from the beginning. */
static struct maple_policy_order *rig_order(enum maple_policy_kind policy,
					    uint64_t seed)
{
	rig_clear();
	rig.order.policy = policy;
	rig.order.seed = seed;
	return &rig.order;
}

#endif
