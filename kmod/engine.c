// SPDX-License-Identifier: GPL-2.0-only
/*
 * The automaton (lib/plan, driven by drive.c) at work in the kernel;
 * lib/agent/force/enforce.c is the same in the target.
 */
#include <linux/bitmap.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "kmod.h"
#include "trace.h"

#define WANT_BITS 10 /* of the hash of call sites in the plan */

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
	if (!s->drive.automaton || READ_ONCE(s->native) ||
	    site == MAPLE_SITE_NONE)
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
	maple_turn_begin(s);
	free = s->drive.said.finished || READ_ONCE(s->native) ||
	       maple_auto_glance(s->drive.automaton, t->number, &op->acc);
	raw_spin_unlock(&s->lock);
	return free;
}

/*
 * maple_engine_did - @op of @t, the caller, has happened, or not; false if
 * after() must be told, which is left to maple_engine_after()
 *
 * Context: any in which @t itself runs; does not sleep.
 */
bool maple_engine_did(struct maple_thread *t, const struct maple_op *op)
{
	struct maple_session *s = t->session;
	bool minds;

	if (!maple_engine_wanted(s, op->acc.site)) {
		if (op->happened && op->acc.kind == MAPLE_EV_LOCK)
			maple_engine_log_access(t, op);
		return true;
	}
	maple_turn_begin(s);
	minds = !s->drive.said.finished && !READ_ONCE(s->native) &&
		maple_auto_minds(s->drive.automaton, t->number, &op->acc);
	raw_spin_unlock(&s->lock);
	if (minds)
		return false;
	/* A hot site must not fill the log with what matters not. */
	if (op->happened && (!t->stale || !maple_event_is_memory(op->acc.kind)))
		maple_engine_log_access(t, op);
	return true;
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
	if (!maple_engine_wanted(t->session, op->acc.site)) {
		maple_engine_pass(t, op);
		return;
	}
	WRITE_ONCE(t->at, op->acc.site + 1);
	maple_turn_before(t, op, may_arm);
	WRITE_ONCE(t->at, 0);
}

/* maple_engine_after - @op of @t, the caller, has happened, or not */
void maple_engine_after(struct maple_thread *t, struct maple_op *op,
			bool may_arm)
{
	struct maple_session *s = t->session;

	if (maple_engine_did(t, op))
		return;
	maple_turn_begin(s);
	if (op->happened)
		maple_engine_log_access(t, op);
	maple_auto_after(s->drive.automaton, t->number, &op->acc, op->happened);
	maple_turn_end(t, may_arm);
}

/* maple_engine_written - @t, the caller, has written there, past all probes */
void maple_engine_written(struct maple_thread *t, u64 addr, u64 size)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_WRITE, addr,
				    size };
	struct maple_session *s = t->session;

	if (!s->drive.automaton || READ_ONCE(s->native))
		return;
	maple_turn_begin(s);
	maple_auto_watch(s->drive.automaton, t->number, &acc);
	maple_turn_end(t, true);
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

	if (!s->drive.automaton || READ_ONCE(s->native) || !size)
		return;
	maple_turn_begin(s);
	if (!maple_auto_concerns(s->drive.automaton, addr, size)) {
		raw_spin_unlock(&s->lock);
		return;
	}
	maple_auto_watch(s->drive.automaton, t->number, &acc);
	maple_turn_end(t, may_arm);
}

/* maple_engine_create - the automaton for @plan, which is copied */
int maple_engine_create(struct maple_session *s, const struct maple_plan *plan)
{
	u32 i, g;

	s->plan = kvmalloc(sizeof(*plan), MAPLE_GFP);
	s->drive.automaton = kvzalloc(maple_auto_size(MAPLE_THREADS), MAPLE_GFP);
	s->wanted = bitmap_zalloc(1 << WANT_BITS, MAPLE_GFP);
	if (!s->plan || !s->drive.automaton || !s->wanted)
		return -ENOMEM;
	memcpy(s->plan, plan, sizeof(*plan));
	maple_drive_start(&s->drive, s->drive.automaton, plan);
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
