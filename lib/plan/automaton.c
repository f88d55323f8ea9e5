// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton (algorithms.md 7): one machine that forces any plan, a set of
 * steps under a partial order, on threads that share one CPU.
 *
 * It decides who may run, by priorities alone: being held is being lowered,
 * so a held thread runs again when nothing else of the target can, and then
 * has to be accounted for. That is how blocking, locks and barriers resolve
 * themselves without anyone tracking them. What a held thread is waiting for
 * is never stored but worked out anew at every move (holds.c), because each
 * move changes what the others are good for.
 *
 * What it is not for: proving that an exposure happened. The observer reads
 * the log for that.
 */
#include "automaton_state.h"

#define CPU_MS 50 /* an attempt's time */

unsigned long maple_auto_size(unsigned int threads)
{
	return offsetof(struct maple_auto, thread) +
	       threads * sizeof(struct maple_auto_thread);
}

/* Wordwise, with a barrier: or else the compiler calls libc for it. */
static void words_copy(uint64_t *to, const uint64_t *from, unsigned long size)
{
	for (unsigned long i = 0; i < size / sizeof(*to); i++) {
		to[i] = from ? from[i] : 0;
		__asm__ volatile("" : : : "memory");
	}
}

void maple_auto_init(struct maple_auto *a, const struct maple_plan *plan)
{
	_Static_assert(offsetof(struct maple_auto, live) % 8 == 0 &&
			       sizeof(*plan) % 8 == 0,
		       "copied by words");

	/* What follows means nothing yet: see maple_auto_knows(). */
	words_copy((uint64_t *)a, 0, offsetof(struct maple_auto, live));
	words_copy((uint64_t *)&a->plan, (const uint64_t *)plan, sizeof(*plan));
	a->dead = plan->idiom == MAPLE_IDIOM_DEADLOCK &&
		  !(plan->flags & MAPLE_PLAN_FLIPPED);
	a->executing = -1;
	a->random = plan->seed;
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		a->role[r] = -1;
		a->result.role[r] = MAPLE_THREAD_NONE;
	}
	MAPLE_INVARIANT(a, maple_plan_valid(&a->plan));
}

/* Nothing is under way, as when it is over. */
static bool is_idle(const struct maple_auto *a)
{
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		if (a->role[r] >= 0)
			return false;
	}
	return !a->done && a->executing < 0;
}

void maple_auto_next(struct maple_auto *a, const struct maple_plan *plan)
{
	bool idle = a->finished && is_idle(a);

	words_copy((uint64_t *)&a->plan, (const uint64_t *)plan, sizeof(*plan));
	words_copy((uint64_t *)&a->result, 0, sizeof(a->result) & ~7ul);
	a->dead = plan->idiom == MAPLE_IDIOM_DEADLOCK &&
		  !(plan->flags & MAPLE_PLAN_FLIPPED);
	a->finished = false;
	a->dropped = false;
	a->late = true;
	a->turns = a->setbacks = 0;
	a->spent = 0;
	a->spin_again = 0;
	a->random = plan->seed;
	for (int i = 0; i < MAPLE_PLAN_STEPS; i++) {
		a->arrivals[i] = 0;
		__asm__ volatile("" : : : "memory"); /* no memset */
	}
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++)
		a->result.role[r] = MAPLE_THREAD_NONE;
	for (uint32_t n = 0; n < a->nlive; n++) {
		struct maple_auto_thread *thread = &a->thread[a->live[n]];

		/* Accesses begun with the last plan are none of this one's. */
		thread->acc.size = 0;
		thread->acc.site = MAPLE_SITE_NONE;
		thread->stands = thread->go = thread->pass = 0;
		thread->asleep = 0;
		thread->lock = 0;
		thread->passes = 0;
	}
	a->moves++;
	MAPLE_INVARIANT(a, idle && maple_plan_valid(&a->plan));
}

void maple_auto_hint(struct maple_auto *a, unsigned int t, unsigned int roles)
{
	if (!maple_auto_knows(a, t))
		return;
	/* Between maple_auto_next() and the first access. */
	MAPLE_INVARIANT(a, a->late && is_idle(a));
	a->thread[t].roles = roles;
	a->thread[t].norm = maple_way_norm(a, t);
	maple_level_set(a, t, a->thread[t].norm);
}

void maple_auto_start(struct maple_auto *a, unsigned int t, unsigned int roles)
{
	struct maple_auto_thread *thread;

	if (t >= MAPLE_THREADS || maple_auto_knows(a, t))
		return;
	if (!MAPLE_INVARIANT(a, a->nlive < MAPLE_THREADS))
		return;
	thread = &a->thread[t];
	*thread = (struct maple_auto_thread){
		.live_at = a->nlive,
		.roles = roles,
	};
	thread->norm = maple_way_norm(a, t);
	a->live[a->nlive++] = t;
	MAPLE_INVARIANT(a, maple_auto_knows(a, t));
	maple_level_set(a, t, thread->norm);
}

static void live_remove(struct maple_auto *a, unsigned int t)
{
	struct maple_auto_thread *thread = &a->thread[t];
	uint16_t moved = a->live[a->nlive - 1];

	if (!MAPLE_INVARIANT(a, maple_auto_knows(a, moved)))
		return;
	a->nlive--;
	a->live[thread->live_at] = moved;
	a->thread[moved].live_at = thread->live_at;
	a->ndirty -= thread->want != thread->given;
	thread->stands = 0;
	thread->passes = 0;
	/* Nor do the levels that are to change count its own any more. */
	MAPLE_INVARIANT(a, !maple_auto_knows(a, t) && a->ndirty <= a->nlive);
}

void maple_auto_exit(struct maple_auto *a, unsigned int t)
{
	int role;

	if (!maple_auto_knows(a, t))
		return;
	role = maple_auto_role(a, t);
	if (!a->finished && role >= 0) {
		if (maple_hold_first_step(a, role) >= 0)
			maple_move_give_up(a);
		else
			a->role[role] = -1;
	} else if (a->thread[t].roles && !a->done && a->executing < 0) {
		a->dropped = true; /* the hint was wrong (rule 7) */
	}
	/* A role without a thread would be waited for for ever. */
	MAPLE_INVARIANT(a, maple_auto_role(a, t) < 0);
	live_remove(a, t);
	maple_move_next(a);
}

int maple_auto_concerns(const struct maple_auto *a, uint64_t addr, uint64_t size)
{
	struct maple_access acc = { .addr = addr, .size = size };

	if (a->finished)
		return 0;
	for (int v = 0; v < MAPLE_PLAN_VARS; v++) {
		if (maple_range_overlap(&a->var[v], &acc))
			return 1;
	}
	for (uint32_t i = 0; i < a->plan.nsteps; i++) {
		if ((a->done >> i & 1) &&
		    maple_range_overlap(&a->step_range[i], &acc))
			return 1;
	}
	return 0;
}

int maple_auto_watched(const struct maple_auto *a, uint64_t *addr,
		       uint64_t *size)
{
	if (a->finished)
		return 0;
	for (int i = (int)a->plan.nsteps - 1; i >= 0; i--) {
		int dep = a->plan.step[i].dep;

		if (dep < 0 || (a->done >> i & 1) || !(a->done >> dep & 1) ||
		    !maple_event_is_memory(a->plan.step[dep].kind))
			continue;
		*addr = a->step_range[dep].addr;
		*size = a->step_range[dep].size;
		return 1;
	}
	return 0;
}

/*
 * A spinner goes to MIN, also when all is over: what it waits for must be
 * able to come. If it spins on there and nothing has moved, even those at MIN
 * are what it waits for: then the guards that keep them must go.
 */
void maple_auto_spin(struct maple_auto *a, unsigned int t)
{
	if (!maple_auto_knows(a, t))
		return;
	a->result.spins++;
	a->spin_again = a->spin_moves == a->moves ? a->spin_again + 1 : 0;
	a->thread[t].spinning = 1;
	maple_level_set(a, t, MAPLE_PRIO_MIN);
	if (!a->finished && a->spin_again >= a->nlive &&
	    (a->done || a->executing >= 0)) {
		maple_move_give_up(a);
		maple_move_next(a);
	}
	a->spin_moves = a->moves;
}

void maple_auto_tick(struct maple_auto *a, unsigned int cpu_ms)
{
	for (uint32_t n = 0; n < a->nlive; n++) {
		int t = a->live[n];

		if (!a->thread[t].spinning)
			continue;
		a->thread[t].spinning = 0;
		if (a->finished)
			maple_level_set(a, t, a->thread[t].norm);
		else
			maple_level_plain(a, t);
	}
	if (!a->finished && cpu_ms >= CPU_MS && (a->done || a->executing >= 0)) {
		maple_move_give_up(a);
		maple_move_next(a);
	}
}

bool maple_auto_broken(struct maple_auto *a)
{
	a->result.broken++;
	if (!a->finished)
		maple_move_finish(a, false);
	a->result.exposed = 0;
	/* Whatever the count was: each new level is to be told. */
	a->ndirty = 0;
	for (uint32_t n = 0; n < a->nlive && n < MAPLE_THREADS; n++) {
		const struct maple_auto_thread *thread = &a->thread[a->live[n]];

		a->ndirty += thread->want != thread->given;
	}
	return false;
}

void maple_auto_result(const struct maple_auto *a, struct maple_auto_result *r)
{
	*r = a->result;
}
