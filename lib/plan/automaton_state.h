/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The automaton's state and what its files ask of each other: holds.c and
 * gates.c say why a thread is held, levels.c gives levels, moves.c binds,
 * executes and gives up, accesses.c is the life of one access, automaton.c
 * that of the whole. Only they and the unit tests include this.
 */
#ifndef MAPLE_AUTOMATON_STATE_H
#define MAPLE_AUTOMATON_STATE_H

#ifndef __KERNEL__
#include <stdbool.h>
#include <stddef.h>
#endif
#include "automaton.h"

#define MAPLE_AUTO_TOUCHED 64 /* ranges remembered per role and pair */
/*
 * A hot loop that comes to a step over and over while everything else is
 * blocked passes each time (rule 4c); after so many passes in a row it is not
 * held again until another thread comes to something.
 */
#define MAPLE_AUTO_PASSES 500

/* What the automaton sleeps for one step, in slices, at most: rule 4. */
#define MAPLE_AUTO_SLICES 10

/*
 * What the caller does takes about so many us, for each thread: system calls,
 * to look at it and to give it another level, to watch a range. Counted rather
 * than measured, so that a run can be repeated.
 */
#define MAPLE_AUTO_HOLD_US  10
#define MAPLE_AUTO_STEP_US  4
#define MAPLE_AUTO_TOUCH_US 1

struct maple_range {
	uint64_t addr;
	uint64_t size; /* 0: not set */
};

enum maple_reason {
	MAPLE_REASON_FREE,
	MAPLE_REASON_ARRIVED, /* bound, before its role's first undone step */
	MAPLE_REASON_CAND,    /* could be bound, before its role's first step */
	MAPLE_REASON_GUARD,   /* would break a dependency or a pair */
	MAPLE_REASON_GATE,    /* before a lock that leads to its step */
	MAPLE_REASON_COVER,   /* a third thread before such a lock */
};

struct maple_hold {
	enum maple_reason reason;
	int step; /* for ARRIVED, CAND and GATE; else -1 */
};

struct maple_auto_thread {
	struct maple_access acc; /* while it stands before one */
	uint16_t live_at;	 /* index in live */
	uint8_t stands; /* has a record: before acc, or passed but not done */
	uint8_t go;	/* was told to go; after() is to come */
	uint8_t pass;	/* this access is let pass by decision */
	uint8_t failed; /* its last attempt at a step did not happen */
	uint8_t asleep; /* was told to sleep a slice */
	uint8_t spinning;
	uint8_t waited; /* slices slept for it, since it came to anything */
	uint8_t roles;	/* hinted for these */
	uint8_t norm;
	uint8_t want;	 /* level it should have */
	uint8_t given;	 /* level the caller was told */
	uint64_t lock;	 /* taken at a gate and held, by what we saw; or 0 */
	uint32_t seen;	 /* moves when it was told to go */
	uint32_t passes; /* in a row, while no other thread came to anything */
};

struct maple_auto {
	struct maple_plan plan;
	bool dead; /* a deadlock plan: all it wants is each in its last lock */

	/* The attempt. */
	uint32_t done;
	int executing;	 /* step, or -1 */
	bool watch_mode; /* it executes while everything else is blocked */
	int role[MAPLE_PLAN_ROLES];  /* thread, or -1 */
	bool cool[MAPLE_PLAN_ROLES]; /* last executed in watch mode */
	struct maple_range var[MAPLE_PLAN_VARS];
	struct maple_range step_range[MAPLE_PLAN_STEPS];
	uint16_t step_thread[MAPLE_PLAN_STEPS];
	uint32_t ntouched[MAPLE_PLAN_ROLES];
	struct maple_range touched[MAPLE_PLAN_ROLES][MAPLE_AUTO_TOUCHED];
	/* threads that have read an executed write since */
	uint64_t read_since[MAPLE_PLAN_STEPS][MAPLE_THREADS / 64];

	/* The run. */
	bool finished;
	bool dropped;	   /* hints no longer count */
	bool late;	   /* it did not see the run's beginning */
	uint32_t turns;	   /* into another try's way, */
	uint32_t setbacks; /* ... and since the last one */
	uint32_t arrivals[MAPLE_PLAN_STEPS]; /* at a role's first step */
	uint32_t moves;
	uint32_t spent; /* us on holds, steps and touches, about */
	uint32_t slept_step;
	uint32_t hoped; /* slices slept for what may never end, in all plans */
	uint32_t recalled_step; /* times spinners got another chance */
	uint32_t spin_moves;	/* moves at the last spin, and how many since */
	uint32_t spin_again;
	uint64_t random;
	struct maple_auto_result result;

	/* Threads. */
	uint32_t nlive;
	uint32_t ndirty; /* threads whose level the caller has to change */
	/* Not cleared: the first nlive of the one, and their entries, count. */
	uint16_t live[MAPLE_THREADS] __attribute__((aligned(8)));
	struct maple_auto_thread thread[MAPLE_THREADS];
};

static inline bool maple_range_overlap(const struct maple_range *r,
				       const struct maple_access *acc)
{
	return r->size && r->addr < acc->addr + acc->size &&
	       acc->addr < r->addr + r->size;
}

static inline bool maple_kind_is_lock(unsigned int kind)
{
	return kind == MAPLE_EV_LOCK || kind == MAPLE_EV_UNLOCK;
}

/*
 * Whether @t lives. That a place in live[] says so, too, tells it from what
 * stood in the memory before: nothing is written of a thread that never was.
 */
static inline bool maple_auto_knows(const struct maple_auto *a, unsigned int t)
{
	return t < MAPLE_THREADS && a->thread[t].live_at < a->nlive &&
	       a->live[a->thread[t].live_at] == t;
}

/* k, the first step undone; nsteps if there is none */
static inline int maple_auto_current(const struct maple_auto *a)
{
	int k = 0;

	while (k < (int)a->plan.nsteps && (a->done >> k & 1))
		k++;
	return k;
}

static inline int maple_auto_role(const struct maple_auto *a, int t)
{
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		if (a->role[r] == t)
			return r;
	}
	return -1;
}

static inline bool maple_auto_performs(const struct maple_auto *a, int t)
{
	return a->executing >= 0 &&
	       a->role[a->plan.step[a->executing].role] == t;
}

static inline bool maple_auto_pre_done(const struct maple_auto *a, int step)
{
	return !(a->plan.step[step].pre & ~a->done);
}

/* A mutex, or a condition, is the location of its first byte. */
static inline struct maple_access
maple_access_normal(const struct maple_access *acc)
{
	struct maple_access n = *acc;

	if (!maple_event_is_memory(n.kind) || !n.size)
		n.size = 1;
	return n;
}

/* holds.c */
struct maple_hold maple_hold_work_out(const struct maple_auto *a, int t,
				      const struct maple_access *acc);
bool maple_hold_breaks(const struct maple_auto *a, int t,
		       const struct maple_access *acc);
bool maple_hold_guard_active(const struct maple_auto *a, int step);
bool maple_hold_hint_agrees(const struct maple_auto *a, int t, int role);
bool maple_hold_hopeless(const struct maple_auto *a, int t,
			 const struct maple_access *acc);
bool maple_hold_candidate(const struct maple_auto *a, int t, int step);
int maple_hold_arrived(const struct maple_auto *a, int role);
int maple_hold_next_step(const struct maple_auto *a, int step);
int maple_hold_first_step(const struct maple_auto *a, int role);
void maple_hold_count_arrival(struct maple_auto *a, int t,
			      const struct maple_access *acc);
bool maple_hold_anywhere(const struct maple_auto *a, int t,
			 const struct maple_access *acc);
bool maple_hold_in_pair(const struct maple_auto *a, int role);
void maple_hold_note(struct maple_auto *a, int t,
		     const struct maple_access *acc);
bool maple_hold_noted(const struct maple_auto *a, int t,
		      const struct maple_access *acc);

/* gates.c */
bool maple_gate_known(const struct maple_auto *a, uint32_t site);
int maple_gate_of(const struct maple_auto *a, int t,
		  const struct maple_access *acc);
bool maple_gate_is_cover(const struct maple_auto *a, int t,
			 const struct maple_access *acc);

/* levels.c */
void maple_level_set(struct maple_auto *a, int t, unsigned int prio);
void maple_level_update(struct maple_auto *a);
void maple_level_plain(struct maple_auto *a, int t);
bool maple_level_is_plain(const struct maple_auto *a, int t);

/* ways.c */
unsigned int maple_way_norm(const struct maple_auto *a, unsigned int t);
bool maple_way_stuck(const struct maple_auto *a);
void maple_way_turn(struct maple_auto *a);

/* moves.c */
void maple_move_next(struct maple_auto *a);
void maple_move_bind(struct maple_auto *a, int t, int step);
void maple_move_execute(struct maple_auto *a, int step, bool watch_mode);
void maple_move_executed(struct maple_auto *a, int t, int step,
			 const struct maple_access *acc);
void maple_move_give_up(struct maple_auto *a);
void maple_move_finish(struct maple_auto *a, bool exposed);

#endif
