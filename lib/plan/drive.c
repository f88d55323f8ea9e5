// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton at work. A thread that comes to one of the plan's accesses asks
 * it; what it answers is carried out by real priorities: a held thread is only
 * lowered, and sleeps only where the one it waits for sleeps itself.
 *
 *	enter
 *	before(), or resumed()
 *	log; watch; new levels; leave: here the CPU may go, and come back later
 *	GO and nobody has moved? then the access happens
 *
 * Freestanding.
 */
#include "drive.h"

#define TICK_MS 10 /* of CPU time: a spinner's slice (rule 10) */

void maple_drive_start(struct maple_drive *d, struct maple_auto *automaton,
		       const struct maple_plan *plan)
{
	d->automaton = automaton;
	maple_auto_init(automaton, plan);
	maple_auto_result(automaton, &d->said);
}

void maple_drive_follow(struct maple_drive *d, const struct maple_plan *plan)
{
	maple_auto_next(d->automaton, plan);
	maple_auto_result(d->automaton, &d->said);
}

void maple_drive_tick(struct maple_drive *d, uint64_t cpu_ms)
{
	if (!d->began_ms || d->attempts != d->said.attempts ||
	    d->steps != d->said.steps) {
		d->began_ms = cpu_ms;
		d->attempts = d->said.attempts;
		d->steps = d->said.steps;
	}
	if (cpu_ms - d->ticked_ms < TICK_MS)
		return;
	d->ticked_ms = cpu_ms;
	maple_auto_tick(d->automaton, (unsigned int)(cpu_ms - d->began_ms));
}

void maple_drive_tell(struct maple_drive *d, const struct maple_drive_ops *ops,
		      void *who)
{
	uint32_t executed = d->said.executed, attempts = d->said.attempts;
	uint32_t exposed = d->said.exposed;

	maple_auto_result(d->automaton, &d->said);
	/* Of two steps at once the log would have only the last. */
	if (!MAPLE_INVARIANT(d->automaton,
			     d->said.executed - executed <= 1 &&
				     d->said.attempts >= attempts &&
				     d->said.exposed >= exposed))
		maple_auto_result(d->automaton, &d->said);
	/* The caller's access has been logged right before. */
	if (d->said.executed != executed)
		ops->log(who, MAPLE_EV_STEP, NULL, d->said.last_step);
	if (d->said.attempts != attempts)
		ops->log(who, MAPLE_EV_GIVEUP, NULL, d->said.attempts);
	if (d->said.exposed && !exposed)
		ops->log(who, MAPLE_EV_EXPOSED, NULL, 0);
}

void maple_drive_levels(struct maple_drive *d, unsigned int self,
			const struct maple_drive_ops *ops, void *who)
{
	unsigned int thread, prio;

	while (maple_auto_change(d->automaton, self, &thread, &prio))
		ops->level(who, thread, prio);
}

uint32_t maple_drive_leave(struct maple_drive *d, unsigned int self,
			   const struct maple_drive_ops *ops, void *who)
{
	uint64_t addr = 0, size = 0;

	maple_drive_tell(d, ops, who);
	if (!maple_auto_watched(d->automaton, &addr, &size))
		size = 0;
	ops->watch(who, addr, size);
	maple_drive_levels(d, self, ops, who);
	return ops->leave(who);
}

void maple_drive_before(struct maple_drive *d, unsigned int self,
			const struct maple_access *acc,
			const struct maple_drive_ops *ops, void *who)
{
	enum maple_verdict verdict = maple_auto_before(d->automaton, self, acc);
	struct maple_waits waits;
	bool held = false;
	uint32_t moves;

	for (;;) {
		if (verdict != MAPLE_GO && !held) {
			ops->log(who, MAPLE_EV_HOLD, acc, verdict);
			held = true;
		}
		moves = maple_drive_leave(d, self, ops, who);
		if (verdict == MAPLE_SLEEP)
			ops->sleep(who, moves);
		if (ops->stands(who, verdict))
			break;
		ops->again(who, &waits);
		verdict = maple_auto_resumed(d->automaton, self, &waits);
	}
	if (held)
		ops->log(who, MAPLE_EV_RELEASE, acc, 0);
}
