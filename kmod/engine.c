// SPDX-License-Identifier: GPL-2.0-only
/*
 * The automaton (lib/plan) at work in the kernel; lib/agent/enforce.c is the
 * same in the target. A thread that comes to one of the plan's accesses asks
 * it; what it answers is carried out by real priorities: a held thread is
 * only lowered, and sleeps only where the one it waits for sleeps itself.
 *
 *	lock
 *	before(), or resumed()
 *	all new levels; log; unlock
 *	here the CPU may go, and come back later
 *	GO and nobody has moved? then the access happens
 *
 * The lock is a spinning one: whoever has it cannot be preempted, which on
 * the one CPU of the target is worth a priority above all others and costs
 * nothing. All that is done under it is arithmetic and sched_setattr().
 */
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "kmod.h"
#include "trace.h"

#define TICK_NS	  (10 * NSEC_PER_MSEC) /* a spinner's slice (rule 10) */
#define LOOK_NS	  NSEC_PER_MSEC /* the target's CPU time is added up anew */
#define WANT_BITS 10		/* of the hash of call sites in the plan */

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
	WARN_ONCE(now.broken, "maple: an invariant of the automaton broke\n");
	s->said = now;
}

/* The CPU time since the last step bounds the attempt. */
static void tick(struct maple_session *s)
{
	u64 wall = ktime_get_ns(), now = 0;
	u32 i;

	if (wall - s->ticked_at < LOOK_NS)
		return;
	s->ticked_at = wall;
	for (i = 0; i < s->nthreads; i++)
		now += s->thread[i]->cpu_seen;
	raw_spin_lock(&s->threads_lock);
	for (i = 0; i < s->nthreads; i++) {
		struct maple_thread *t = s->thread[i];
		u64 cpu = t->task ? maple_task_cpu(t->task) : 0;

		if (cpu > t->cpu_seen) {
			now += cpu - t->cpu_seen;
			t->cpu_seen = cpu;
		}
	}
	raw_spin_unlock(&s->threads_lock);
	if (!s->attempt_began || s->tick_attempts != s->said.attempts ||
	    s->tick_steps != s->said.steps) {
		s->attempt_began = now;
		s->tick_attempts = s->said.attempts;
		s->tick_steps = s->said.steps;
	}
	if (now - s->ticked < TICK_NS)
		return;
	s->ticked = now;
	maple_auto_tick(s->automaton,
			div_u64(now - s->attempt_began, NSEC_PER_MSEC));
}

static void enter(struct maple_session *s)
{
	raw_spin_lock(&s->lock);
}

/* The range that must be watched now; true if there is something to arm. */
static bool watch_changed(struct maple_session *s)
{
	u64 addr = 0, size = 0;

	if (s->native || !maple_auto_watched(s->automaton, &addr, &size))
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
 * Carries out what the automaton has decided, and leaves it. Returns the
 * number of moves so far.
 */
static u32 leave(struct maple_thread *t, bool may_arm)
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
	moves = ++s->moves;
	raw_spin_unlock(&s->lock);
	wake_up_all(&s->moved);
	if (arms)
		arm(t, may_arm);
	if (need_resched())
		schedule();
	return moves;
}

static unsigned int want_hash(u32 site)
{
	return hash_32(site, WANT_BITS);
}

static void want(struct maple_session *s, u32 site)
{
	if (site & MAPLE_SITE_CALL)
		__set_bit(want_hash(site), s->wanted);
}

/*
 * maple_engine_wanted - whether the plan may name @site: two call sites of
 * one hash both count, which costs time and nothing else
 */
bool maple_engine_wanted(const struct maple_session *s, u32 site)
{
	if (!s->automaton || READ_ONCE(s->native) || site == MAPLE_SITE_NONE)
		return false;
	return !(site & MAPLE_SITE_CALL) ||
	       test_bit(want_hash(site), s->wanted);
}

/* maple_engine_log_access - with what is there now; a lock has no value */
void maple_engine_log_access(struct maple_thread *t, const struct maple_op *op)
{
	u64 value = 0;

	if (maple_event_is_memory(op->acc.kind) &&
	    copy_from_user_nofault(&value, (void __user *)op->acc.addr,
				   min_t(u64, op->acc.size, sizeof(value))))
		value = 0;
	maple_log_event(t, op->acc.kind, &op->acc, value,
			op->flags | MAPLE_EVF_EXACT, 0, op->caller);
}

/*
 * maple_engine_pass - @op happens, and before() was not told
 *
 * Locks that the plan does not name are logged, for who holds what: UNLOCK
 * here, before another thread's LOCK can follow it.
 */
void maple_engine_pass(struct maple_thread *t, const struct maple_op *op)
{
	if (op->acc.kind == MAPLE_EV_UNLOCK &&
	    !maple_engine_wanted(t->session, op->acc.site))
		maple_engine_log_access(t, op);
}

/*
 * maple_engine_glance - whether @op may happen without before()
 *
 * Context: any in which @t itself runs; does not sleep.
 */
bool maple_engine_glance(struct maple_thread *t, struct maple_op *op)
{
	struct maple_session *s = t->session;
	bool free;

	if (!maple_engine_wanted(s, op->acc.site))
		return true;
	enter(s);
	free = s->said.finished || s->native ||
	       maple_auto_glance(s->automaton, t->number, &op->acc);
	raw_spin_unlock(&s->lock);
	return free;
}

/* maple_engine_minds - whether after() must be told of @op */
bool maple_engine_minds(struct maple_thread *t, const struct maple_op *op)
{
	struct maple_session *s = t->session;
	bool minds;

	if (!maple_engine_wanted(s, op->acc.site))
		return false;
	enter(s);
	minds = !s->said.finished && !s->native &&
		maple_auto_minds(s->automaton, t->number, &op->acc);
	raw_spin_unlock(&s->lock);
	return minds;
}

/* A slice, or until others move: who is waited for sleeps itself. */
static void sleep_slice(struct maple_thread *t, u32 moves)
{
	struct maple_session *s = t->session;
	long left;

	WRITE_ONCE(t->asleep, true);
	maple_count(s, holds);
	left = wait_event_killable_timeout(
		s->moved, READ_ONCE(s->moves) != moves || READ_ONCE(s->native),
		msecs_to_jiffies(clamp(s->plan->slice_ms, 1u, 1000u)));
	WRITE_ONCE(t->asleep, false);
	if (!left)
		maple_count(s, timeouts);
}

/*
 * maple_engine_before - @t, the caller, stands before @op; returns when that
 * is to happen
 *
 * Context: task; the caller may lose the CPU here for as long as it is held.
 */
void maple_engine_before(struct maple_thread *t, struct maple_op *op,
			 bool may_arm)
{
	struct maple_session *s = t->session;
	enum maple_verdict verdict;
	bool held = false, moved;
	u32 n;

	if (!maple_engine_wanted(s, op->acc.site)) {
		maple_engine_pass(t, op);
		return;
	}
	WRITE_ONCE(t->at, op->acc.site + 1);
	enter(s);
	tick(s);
	verdict = maple_auto_before(s->automaton, t->number, &op->acc);
	for (;;) {
		if (verdict != MAPLE_GO && !held) {
			maple_log_event(t, MAPLE_EV_HOLD, &op->acc, 0, 0,
					verdict, op->caller);
			trace_maple_hold(s->tgid, t->number, op->acc.site,
					 op->acc.addr);
			held = true;
		}
		n = leave(t, may_arm);
		if (verdict == MAPLE_SLEEP)
			sleep_slice(t, n);
		if (READ_ONCE(s->native) || fatal_signal_pending(current))
			break;
		enter(s);
		moved = maple_auto_moved(s->automaton, t->number);
		if (verdict == MAPLE_GO && !moved) {
			raw_spin_unlock(&s->lock);
			break;
		}
		raw_spin_unlock(&s->lock);
		moved = maple_task_waits(s, t);
		enter(s);
		tick(s);
		verdict = maple_auto_resumed(s->automaton, t->number, moved);
	}
	if (held) {
		maple_log_event(t, MAPLE_EV_RELEASE, &op->acc, 0, 0, 0,
				op->caller);
		trace_maple_release(s->tgid, t->number, op->acc.site,
				    op->acc.addr);
	}
	WRITE_ONCE(t->at, 0);
}

/* maple_engine_after - @op of @t, the caller, has happened, or not */
void maple_engine_after(struct maple_thread *t, struct maple_op *op,
			bool may_arm)
{
	struct maple_session *s = t->session;

	if (!maple_engine_wanted(s, op->acc.site)) {
		if (op->happened && op->acc.kind == MAPLE_EV_LOCK)
			maple_engine_log_access(t, op);
		return;
	}
	if (!maple_engine_minds(t, op)) {
		/* A hot site must not fill the log with what matters not. */
		if (op->happened &&
		    (!t->stale || !maple_event_is_memory(op->acc.kind)))
			maple_engine_log_access(t, op);
		return;
	}
	enter(s);
	if (op->happened)
		maple_engine_log_access(t, op);
	maple_auto_after(s->automaton, t->number, &op->acc, op->happened);
	leave(t, may_arm);
}

/* maple_engine_written - @t, the caller, has written there, past all probes */
void maple_engine_written(struct maple_thread *t, u64 addr, u64 size)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_WRITE, addr,
				    size };
	struct maple_session *s = t->session;

	if (!s->automaton || READ_ONCE(s->native))
		return;
	enter(s);
	maple_auto_watch(s->automaton, t->number, &acc);
	leave(t, true);
}

/*
 * maple_engine_freed - [addr, addr + size) ends to be what the attempt may
 * be about: memory at the same address will be another variable
 */
void maple_engine_freed(struct maple_thread *t, u64 addr, u64 size, bool may_arm)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_WRITE, addr,
				    size };
	struct maple_session *s = t->session;

	if (!s->automaton || READ_ONCE(s->native) || !size)
		return;
	enter(s);
	if (!maple_auto_concerns(s->automaton, addr, size)) {
		raw_spin_unlock(&s->lock);
		return;
	}
	maple_auto_watch(s->automaton, t->number, &acc);
	leave(t, may_arm);
}

/*
 * maple_engine_born - thread @t is about to run for the first time: gives it
 * its level; does nothing the second time
 *
 * Context: a work of @t or of the thread that has created it, or @t stopped.
 */
void maple_engine_born(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct maple_thread *self = maple_thread_find(s, current);
	unsigned int roles = 0, n, prio, r;

	enter(s);
	if (t->born_done || t->gone_done || s->native) {
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
		leave(self, true);
		return;
	}
	while (maple_auto_change(s->automaton, MAPLE_THREAD_NONE, &n, &prio))
		maple_task_level(s->thread[n], prio);
	raw_spin_unlock(&s->lock);
}

/* maple_engine_gone - @t has ended, or is as good as */
void maple_engine_gone(struct maple_thread *t, bool may_arm)
{
	struct maple_session *s = t->session;
	struct maple_thread *self = maple_thread_find(s, current);

	enter(s);
	if (t->gone_done || !s->automaton || !self) {
		t->gone_done = true;
		raw_spin_unlock(&s->lock);
		return;
	}
	t->gone_done = true;
	if (t->born_done)
		maple_auto_exit(s->automaton, t->number);
	leave(self, may_arm);
}

/*
 * maple_engine_spins - @t burns CPU without an event: it goes below everyone,
 * or it has been there long enough
 *
 * Context: session->lock; not a thread of the target.
 */
void maple_engine_spins(struct maple_thread *t, bool spins)
{
	struct maple_session *s = t->session;
	unsigned int n, prio;

	lockdep_assert_held(&s->lock);
	if (s->automaton) {
		if (spins)
			maple_auto_spin(s->automaton, t->number);
		else
			maple_auto_tick(s->automaton, 0);
		log_moves(t);
	}
	maple_task_demote(t, spins);
	while (s->automaton &&
	       maple_auto_change(s->automaton, MAPLE_THREAD_NONE, &n, &prio))
		maple_task_level(s->thread[n], prio);
	s->moves++;
}

/* maple_engine_create - the automaton for @plan, which is copied */
int maple_engine_create(struct maple_session *s, const struct maple_plan *plan)
{
	u32 i, g;

	s->plan = kvmalloc(sizeof(*plan), GFP_KERNEL);
	s->automaton = kvzalloc(maple_auto_size(), GFP_KERNEL);
	s->wanted = bitmap_zalloc(1 << WANT_BITS, GFP_KERNEL);
	if (!s->plan || !s->automaton || !s->wanted)
		return -ENOMEM;
	memcpy(s->plan, plan, sizeof(*plan));
	maple_auto_init(s->automaton, plan);
	for (i = 0; i < plan->nsteps; i++) {
		want(s, plan->step[i].site);
		for (g = 0; g < plan->step[i].ngates; g++)
			want(s, plan->step[i].gate[g]);
	}
	for (i = 0; i < plan->nguards; i++)
		want(s, plan->guard[i]);
	for (i = 0; i < plan->ncovers; i++)
		want(s, plan->cover[i]);
	return 0;
}
