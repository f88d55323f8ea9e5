/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of lib/order. */
#ifndef MAPLE_ORDER_MODEL_H
#define MAPLE_ORDER_MODEL_H

#include "order.h"

/* Events between two steps of a thread, at most. */
#define MAPLE_ORDER_NEAR 40

/* In place of an event's number; or NONE. */
#define MAPLE_ORDER_INITIAL \
	0xfffffffeu		       /* a read: no event wrote what it read */
#define MAPLE_ORDER_UNSURE 0xfffffffdu /* ... several did, or nobody knows */

struct maple_order_event {
	uint32_t thread;
	uint32_t index; /* in its thread */
	uint32_t from;	/* its number in the run */
	uint32_t site;
	uint8_t kind;
	bool shared_lock; /* the read side of a rwlock */
	bool may_fail;	  /* LOCK: a trylock's */
	bool point;	  /* its thread stood there, at its own place and hit */
	uint32_t yield; /* then its thread gave way so many times in all; or 0 */
	/* The last point of its thread at or before it; hit 0: none so far. */
	uint32_t place, hit;
	uint32_t writer; /* reads and updates */
	uint32_t mate;	 /* LOCK: its UNLOCK; UNLOCK: its LOCK; WAKE: its WAIT;
			    or NONE */
	uint32_t held;	 /* the last LOCK before it that may be open; or NONE */
	uint32_t lock;	 /* LOCK, UNLOCK: number of the lock */
	uint32_t cond;	 /* SIGNAL, BROADCAST, WAIT: of the condition */
	/* What must come before it, of other threads: need[need ...]. */
	uint32_t need, nneed;
	/* Accesses: what it touches: touch[touch ...], by word. */
	uint32_t touch, ntouch;
};

/* An access touches bytes of a word. */
struct maple_order_touch {
	uint32_t word;
	uint8_t bytes; /* a bit each */
};

/* Who touched a word: at[at ...], in the order of the run. */
struct maple_order_word {
	uint32_t at, n;
};

struct maple_order_model {
	bool cut; /* not all that the run did is in it */
	uint32_t n, nthreads, nwords, nlocks, nconds;
	struct maple_order_event *event;
	uint32_t *chain_of, *chain; /* thread t's: chain[chain_of[t] ...] */
	uint32_t *need, nneed, need_room;
	struct maple_order_touch *touch;
	uint32_t ntouch;
	struct maple_order_word *word;
	uint32_t *at; /* events */
};

/* Whether @e was at a point: aux of some kinds is something else. */
static inline bool maple_order_has_hit(const struct maple_event *e)
{
	return e->aux && e->kind < MAPLE_EV_STEP &&
	       e->kind != MAPLE_EV_CREATE && e->kind != MAPLE_EV_JOIN &&
	       e->kind != MAPLE_EV_START && e->kind != MAPLE_EV_EXIT;
}

static inline bool maple_order_reads(const struct maple_order_event *e)
{
	return e->kind == MAPLE_EV_READ || e->kind == MAPLE_EV_UPDATE;
}

static inline bool maple_order_writes(const struct maple_order_event *e)
{
	return e->kind == MAPLE_EV_WRITE || e->kind == MAPLE_EV_UPDATE;
}

static inline uint32_t maple_order_length(const struct maple_order_model *m,
					  uint32_t thread)
{
	return m->chain_of[thread + 1] - m->chain_of[thread];
}

static inline uint32_t maple_order_of(const struct maple_order_model *m,
				      uint32_t thread, uint32_t index)
{
	return m->chain[m->chain_of[thread] + index];
}

bool maple_order_overlap(const struct maple_order_model *m, uint32_t a,
			 uint32_t b);

/* Whether @e touches bytes that both @a and @b do. */
bool maple_order_meets(const struct maple_order_model *m, uint32_t e,
		       uint32_t a, uint32_t b);

/*
 * The sections that @e is in, the last one that was begun first: pass NONE for
 * the first, and what was returned for the next; NONE: there is none left. A
 * LOCK is in its own.
 */
uint32_t maple_order_section(const struct maple_order_model *m, uint32_t e,
			     uint32_t after);

/* @lock's section of the same lock excludes @other's. */
static inline bool maple_order_excludes(const struct maple_order_event *lock,
					const struct maple_order_event *other)
{
	return lock->lock == other->lock &&
	       !(lock->shared_lock && other->shared_lock);
}

/*
 * What of a run is sure to happen when another order shows a goal: of each
 * thread so many of its first events.
 */
struct maple_order_cone {
	uint32_t *upto;	   /* by thread */
	uint32_t n;	   /* in all */
	unsigned int sure; /* steps of the goal that are among them */
	uint32_t changed;  /* the event that reads anew; or NONE */
};

/*
 * @also: events that are to be in it as well. FOUND: @cone->upto is to be
 * freed. REFUTED: no order of this run, with @also, can show @goal.
 */
enum maple_order_answer maple_order_cone(const struct maple_order_model *m,
					 const struct maple_order_goal *goal,
					 const uint32_t *also, uint32_t nalso,
					 struct maple_order_cone *cone);

#endif
