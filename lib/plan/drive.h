/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The driver of the automaton: in which order its calls are made, its decisions
 * carried out, and what comes of them told. The agent, the module and the
 * simulator differ in how they do each of that, which is a maple_drive_ops.
 *
 * Nothing of this is on the way of an access that passes at once.
 */
#ifndef MAPLE_PLAN_DRIVE_H
#define MAPLE_PLAN_DRIVE_H

#ifndef __KERNEL__
#include <stdbool.h>
#include <stddef.h>
#endif
#include "automaton.h"

struct maple_drive {
	struct maple_auto *automaton;
	struct maple_auto_result said; /* what the log has said of it */
	uint64_t began_ms, ticked_ms;  /* of the target's CPU time */
	uint32_t attempts, steps;      /* said at began_ms */
};

/*
 * @who is the caller's own: for whom a turn is taken. Between again() and
 * leave() nobody else is in the automaton.
 */
struct maple_drive_ops {
	/* enters once more, with maple_drive_tick(); the others' waits */
	void (*again)(void *who, struct maple_waits *waits);
	/* the range to watch from now; size 0: none */
	void (*watch)(void *who, uint64_t addr, uint64_t size);
	void (*level)(void *who, unsigned int thread, unsigned int prio);
	/* STEP, GIVEUP, EXPOSED, without @acc; HOLD and RELEASE */
	void (*log)(void *who, unsigned int kind,
		    const struct maple_access *acc, uint32_t aux);
	/* here the CPU may go, and come back later; the number of moves so far */
	uint32_t (*leave)(void *who);
	/* a slice, or until there have been more than @moves */
	void (*sleep)(void *who, uint32_t moves);
	/* whether @verdict is the last: GO, and nobody has moved since */
	bool (*stands)(void *who, enum maple_verdict verdict);
};

/* maple_drive_start - @d has @automaton, which begins to force @plan */
void maple_drive_start(struct maple_drive *d, struct maple_auto *automaton,
		       const struct maple_plan *plan);

/* maple_drive_follow - the automaton, which has finished, goes on with @plan */
void maple_drive_follow(struct maple_drive *d, const struct maple_plan *plan);

/*
 * maple_drive_tick - the CPU time since the last step bounds the attempt
 * @cpu_ms: the target's CPU time so far
 */
void maple_drive_tick(struct maple_drive *d, uint64_t cpu_ms);

/* maple_drive_tell - logs what has become of the plan since the last time */
void maple_drive_tell(struct maple_drive *d, const struct maple_drive_ops *ops,
		      void *who);

/* maple_drive_levels - hands out all new levels, @self's last */
void maple_drive_levels(struct maple_drive *d, unsigned int self,
			const struct maple_drive_ops *ops, void *who);

/*
 * maple_drive_leave - carries out what the automaton has decided, and leaves
 * it; the number of moves so far
 */
uint32_t maple_drive_leave(struct maple_drive *d, unsigned int self,
			   const struct maple_drive_ops *ops, void *who);

/*
 * maple_drive_before - thread @self, the caller, stands before @acc, and has
 * the automaton; returns when it is to happen
 */
void maple_drive_before(struct maple_drive *d, unsigned int self,
			const struct maple_access *acc,
			const struct maple_drive_ops *ops, void *who);

#endif
