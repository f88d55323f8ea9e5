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

#define LOOK_NS NSEC_PER_MSEC /* the target's CPU time is added up anew */

/* Who has the turn. */
struct turn {
	struct maple_thread *thread;
	const struct maple_op *op; /* that it stands before; NULL: none */
	bool may_arm;
	bool arms; /* the watchpoints have to follow */
};

static void log_move(void *who, unsigned int kind,
		     const struct maple_access *acc, u32 aux)
{
	static const struct maple_access none = { .site = MAPLE_SITE_NONE };
	const struct turn *turn = who;
	struct maple_thread *t = turn->thread;
	struct maple_session *s = t->session;

	maple_log_event(t, kind, acc ? acc : &none, 0, 0, aux,
			acc ? turn->op->caller : 0);
	switch (kind) {
	case MAPLE_EV_STEP:
		trace_maple_step(s->tgid, t->number, aux);
		break;
	case MAPLE_EV_GIVEUP:
		trace_maple_giveup(s->tgid, t->number, aux);
		break;
	case MAPLE_EV_EXPOSED:
		trace_maple_expose(s->tgid, t->number, s->drive.said.attempts);
		break;
	case MAPLE_EV_HOLD:
		trace_maple_hold(s->tgid, t->number, acc->site, acc->addr);
		break;
	case MAPLE_EV_RELEASE:
		trace_maple_release(s->tgid, t->number, acc->site, acc->addr);
		break;
	}
}

/* The CPU time since the last step bounds the attempt. */
static void turn_tick(struct maple_session *s)
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
	maple_drive_tick(&s->drive, div_u64(now, MAPLE_SLOW * NSEC_PER_MSEC));
}

/* maple_turn_begin - nobody else has the automaton until the turn ends */
void maple_turn_begin(struct maple_session *s)
{
	raw_spin_lock(&s->lock);
}

/* The range that must be watched now; true if there is something to arm. */
static bool watch_changed(struct maple_session *s, u64 addr, u64 size)
{
	if (READ_ONCE(s->native))
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

static void set_watch(void *who, u64 addr, u64 size)
{
	struct turn *turn = who;

	turn->arms = watch_changed(turn->thread->session, addr, size);
	if (turn->arms && turn->may_arm)
		maple_task_hook(turn->thread);
}

static void set_level(void *who, unsigned int n, unsigned int prio)
{
	const struct turn *turn = who;
	struct maple_thread *t = turn->thread;

	lockdep_assert_held(&t->session->lock);
	if (n == t->number && turn->arms && turn->may_arm)
		t->prio = prio;
	else
		maple_task_level(t->session->thread[n], prio);
}

/* The thread may lose the CPU here. */
static u32 leave(void *who)
{
	const struct turn *turn = who;
	struct maple_session *s = turn->thread->session;
	u32 moves = s->moves + 1;

	WRITE_ONCE(s->moves, moves);
	raw_spin_unlock(&s->lock);
	wake_up_all(&s->moved);
	if (turn->arms)
		arm(turn->thread, turn->may_arm);
	if (need_resched())
		schedule();
	return moves;
}

/* A slice, or until others move: who is waited for sleeps itself. */
static void sleep_slice(void *who, u32 moves)
{
	struct maple_thread *t = ((const struct turn *)who)->thread;
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

static bool stands(void *who, enum maple_verdict verdict)
{
	struct maple_thread *t = ((const struct turn *)who)->thread;
	struct maple_session *s = t->session;
	bool moved;

	if (READ_ONCE(s->native) || fatal_signal_pending(current))
		return true;
	if (verdict != MAPLE_GO)
		return false;
	maple_turn_begin(s);
	moved = maple_auto_moved(s->drive.automaton, t->number);
	raw_spin_unlock(&s->lock);
	return !moved;
}

static void begin_again(void *who, struct maple_waits *waits)
{
	struct maple_thread *t = ((const struct turn *)who)->thread;

	maple_task_waits(t->session, t, waits);
	maple_turn_begin(t->session);
	turn_tick(t->session);
}

static const struct maple_drive_ops ops = {
	.again = begin_again,
	.watch = set_watch,
	.level = set_level,
	.log = log_move,
	.leave = leave,
	.sleep = sleep_slice,
	.stands = stands,
};

/*
 * maple_turn_end - carries out what the automaton has decided; @t, the caller,
 * may lose the CPU here
 */
void maple_turn_end(struct maple_thread *t, bool may_arm)
{
	struct turn turn = { .thread = t, .may_arm = may_arm };

	lockdep_assert_held(&t->session->lock);
	maple_drive_leave(&t->session->drive, t->number, &ops, &turn);
}

/*
 * maple_turn_before - @t, the caller, stands before @op; returns when that is
 * to happen, or the session is over
 */
void maple_turn_before(struct maple_thread *t, const struct maple_op *op,
		       bool may_arm)
{
	struct turn turn = { .thread = t, .op = op, .may_arm = may_arm };

	maple_turn_begin(t->session);
	turn_tick(t->session);
	maple_drive_before(&t->session->drive, t->number, &op->acc, &ops, &turn);
}

/* Of @t, by who is no thread of the target. */
static void tell(struct maple_thread *t)
{
	struct turn turn = { .thread = t };

	maple_drive_tell(&t->session->drive, &ops, &turn);
}

/* What the automaton has decided, told by who is no thread of the target. */
static void set_levels(struct maple_thread *t)
{
	struct turn turn = { .thread = t };

	maple_drive_levels(&t->session->drive, MAPLE_THREAD_NONE, &ops, &turn);
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

	maple_turn_begin(s);
	if (t->born_done || t->gone_done || READ_ONCE(s->native)) {
		raw_spin_unlock(&s->lock);
		return;
	}
	t->born_done = true;
	if (!s->drive.automaton) {
		maple_task_begin(t);
		raw_spin_unlock(&s->lock);
		if (self && need_resched())
			schedule();
		return;
	}
	maple_auto_start(s->drive.automaton, t->number,
			 maple_plan_roles(s->plan, t->name));
	if (self) {
		s->watch_born = true;
		maple_turn_end(self, true);
		return;
	}
	set_levels(t);
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
	if (t->gone_done || !s->drive.automaton) {
		t->gone_done = true;
		raw_spin_unlock(&s->lock);
		return;
	}
	t->gone_done = true;
	if (t->born_done)
		maple_auto_exit(s->drive.automaton, t->number);
	if (self) {
		maple_turn_end(self, may_arm);
		return;
	}
	tell(t);
	set_levels(t);
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
	if (s->drive.automaton) {
		if (spins)
			maple_auto_spin(s->drive.automaton, t->number);
		else
			maple_auto_tick(s->drive.automaton, 0);
		tell(t);
	}
	maple_task_demote(t, spins);
	if (s->drive.automaton)
		set_levels(t);
	WRITE_ONCE(s->moves, s->moves + 1);
}
