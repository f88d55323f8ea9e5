// SPDX-License-Identifier: GPL-2.0-only
/*
 * A turn: one thread, or the watchdog, has the automaton to itself, tells it
 * something, and carries out what it has decided. engine.c tells of accesses;
 * here is told of threads: born, gone, spinning.
 *
 * The lock is a spinning one: whoever has it cannot be preempted, which on
 * the one CPU of the target is worth a priority above all others and costs
 * nothing. All that is done under it is arithmetic and sched_setattr().
 */
#include <linux/math64.h>
#include <linux/sched/signal.h>
#include "kmod.h"
#include "trace.h"

#define TICK_NS \
	(MAPLE_SLOW * 10 * NSEC_PER_MSEC) /* a spinner's slice (rule 10) */
#define LOOK_NS NSEC_PER_MSEC /* the target's CPU time is added up anew */

static const struct maple_access none = { .site = MAPLE_SITE_NONE };

/* Says what has become of the plan since the last move. */
static void log_moves(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct maple_auto_result now;

	maple_auto_result(s->automaton, &now);
	/* The caller's access has been logged right before. */
	if (now.executed != s->said.executed) {
		maple_log_event(t, MAPLE_EV_STEP, &none, 0, 0, now.last_step, 0);
		trace_maple_step(s->tgid, t->number, now.last_step);
	}
	if (now.attempts != s->said.attempts) {
		maple_log_event(t, MAPLE_EV_GIVEUP, &none, 0, 0, now.attempts,
				0);
		trace_maple_giveup(s->tgid, t->number, now.attempts);
	}
	if (now.exposed && !s->said.exposed) {
		maple_log_event(t, MAPLE_EV_EXPOSED, &none, 0, 0, 0, 0);
		trace_maple_expose(s->tgid, t->number, now.attempts);
	}
	s->said = now;
}

/* maple_turn_tick - the CPU time since the last step bounds the attempt */
void maple_turn_tick(struct maple_session *s)
{
	u64 wall = ktime_get_ns(), now = 0;
	u32 i, n = smp_load_acquire(&s->nthreads);

	if (wall - s->ticked_at < LOOK_NS)
		return;
	s->ticked_at = wall;
	for (i = 0; i < n; i++)
		now += s->thread[i]->cpu_seen;
	for (i = 0; i < n; i++) {
		struct maple_thread *t = s->thread[i];
		u64 cpu;

		raw_spin_lock(&s->threads_lock);
		cpu = t->task ? maple_task_cpu(t->task) : 0;
		raw_spin_unlock(&s->threads_lock);
		if (cpu > t->cpu_seen) {
			now += cpu - t->cpu_seen;
			t->cpu_seen = cpu;
		}
	}
	if (!s->attempt_began || s->tick_attempts != s->said.attempts ||
	    s->tick_steps != s->said.steps) {
		s->attempt_began = now;
		s->tick_attempts = s->said.attempts;
		s->tick_steps = s->said.steps;
	}
	if (now - s->ticked < TICK_NS)
		return;
	s->ticked = now;
	maple_auto_tick(s->automaton, div_u64(now - s->attempt_began,
					      MAPLE_SLOW * NSEC_PER_MSEC));
}

/* maple_turn_begin - nobody else has the automaton until the turn ends */
void maple_turn_begin(struct maple_session *s)
{
	raw_spin_lock(&s->lock);
}

/* The range that must be watched now; true if there is something to arm. */
static bool watch_changed(struct maple_session *s)
{
	u64 addr = 0, size = 0;

	if (READ_ONCE(s->native) ||
	    !maple_auto_watched(s->automaton, &addr, &size))
		size = 0;
	if (size == s->watch_size && (!size || addr == s->watch_addr)) {
		bool born = size && s->watch_born;

		s->watch_born = false;
		return born;
	}
	s->watch_born = false;
	s->watch_addr = addr;
	s->watch_size = size;
	s->watch_generation++;
	return true;
}

/* What the automaton has decided, told by who is no thread of the target. */
static void set_levels(struct maple_session *s)
{
	unsigned int n, prio;

	lockdep_assert_held(&s->lock);
	while (maple_auto_change(s->automaton, MAPLE_THREAD_NONE, &n, &prio))
		maple_task_level(s->thread[n], prio);
}

static void arm_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, arm);

	maple_watch_follow(t->session);
	maple_work_done(t, MAPLE_WORK_ARM);
}

/*
 * Watchpoints cannot be armed under the lock. The caller stays above all
 * others meanwhile, so that on one CPU nobody gets ahead of them.
 */
static void arm(struct maple_thread *t, bool may_arm)
{
	struct maple_session *s = t->session;

	if (!may_arm) {
		maple_work_add(t, current, &t->arm, arm_work, MAPLE_WORK_ARM);
		return;
	}
	maple_watch_follow(s);
	raw_spin_lock(&s->lock);
	maple_task_settle(t);
	raw_spin_unlock(&s->lock);
}

/*
 * maple_turn_end - carries out what the automaton has decided; @t, the caller,
 * may lose the CPU here; returns the number of moves so far
 */
u32 maple_turn_end(struct maple_thread *t, bool may_arm)
{
	struct maple_session *s = t->session;
	unsigned int n, prio;
	bool arms;
	u32 moves;

	lockdep_assert_held(&s->lock);
	log_moves(t);
	arms = watch_changed(s);
	if (arms && may_arm)
		maple_task_hook(t);
	while (maple_auto_change(s->automaton, t->number, &n, &prio)) {
		if (n == t->number && arms && may_arm)
			t->prio = prio;
		else
			maple_task_level(s->thread[n], prio);
	}
	moves = s->moves + 1;
	WRITE_ONCE(s->moves, moves);
	raw_spin_unlock(&s->lock);
	wake_up_all(&s->moved);
	if (arms)
		arm(t, may_arm);
	if (need_resched())
		schedule();
	return moves;
}

/*
 * maple_turn_born - thread @t is about to run for the first time: gives it
 * its level; does nothing the second time
 *
 * Context: a work of @t or of the thread that has created it, or @t stopped.
 */
void maple_turn_born(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct maple_thread *self = maple_thread_find(s, current);
	unsigned int roles = 0, r;

	maple_turn_begin(s);
	if (t->born_done || t->gone_done || READ_ONCE(s->native)) {
		raw_spin_unlock(&s->lock);
		return;
	}
	t->born_done = true;
	if (!s->automaton) {
		maple_task_begin(t);
		raw_spin_unlock(&s->lock);
		if (self && need_resched())
			schedule();
		return;
	}
	for (r = 0; r < MAPLE_PLAN_ROLES; r++)
		if (s->plan->hint[r][0] && !strcmp(s->plan->hint[r], t->name))
			roles |= 1u << r;
	maple_auto_start(s->automaton, t->number, roles);
	if (self) {
		s->watch_born = true;
		maple_turn_end(self, true);
		return;
	}
	set_levels(s);
	raw_spin_unlock(&s->lock);
}

/*
 * maple_turn_gone - @t has ended, or is as good as; does nothing the second
 * time
 *
 * Context: any thread; may sleep. One of the target may lose the CPU here.
 */
void maple_turn_gone(struct maple_thread *t, bool may_arm)
{
	struct maple_session *s = t->session;
	struct maple_thread *self = maple_thread_find(s, current);

	maple_turn_begin(s);
	if (t->gone_done || !s->automaton) {
		t->gone_done = true;
		raw_spin_unlock(&s->lock);
		return;
	}
	t->gone_done = true;
	if (t->born_done)
		maple_auto_exit(s->automaton, t->number);
	if (self) {
		maple_turn_end(self, may_arm);
		return;
	}
	log_moves(t);
	set_levels(s);
	raw_spin_unlock(&s->lock);
}

/*
 * maple_turn_spins - @t burns CPU without an event: it goes below everyone,
 * or it has been there long enough
 *
 * Context: session->lock; not a thread of the target.
 */
void maple_turn_spins(struct maple_thread *t, bool spins)
{
	struct maple_session *s = t->session;

	lockdep_assert_held(&s->lock);
	if (s->automaton) {
		if (spins)
			maple_auto_spin(s->automaton, t->number);
		else
			maple_auto_tick(s->automaton, 0);
		log_moves(t);
	}
	maple_task_demote(t, spins);
	if (s->automaton)
		set_levels(s);
	WRITE_ONCE(s->moves, s->moves + 1);
}
