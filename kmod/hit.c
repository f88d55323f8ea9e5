// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens at a probe: what the registers say becomes operations, which
 * are carried out before the thread goes on. What costs nothing (a site that
 * is nothing to the plan as things stand, an event for the log) is done in
 * the handler; the rest in a work of the thread, because a thread that is
 * held in the handler keeps the kernel from taking any probe away.
 *
 * A thread held in its work keeps one of the 31 slots in which its process
 * steps over probed instructions, so from 28 on threads are held in the
 * handler after all.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include "kmod.h"
#include "netlink/rights.h"
#include "trace.h"

#define SLOTS 28

/* maple_hit_unstep - @t has left the instruction that it was stepping over */
void maple_hit_unstep(struct maple_thread *t)
{
	if (!t->stepping)
		return;
	t->stepping = false;
	atomic_dec(&t->session->stepping);
}

static void step(struct maple_thread *t)
{
	if (t->stepping)
		return;
	t->stepping = true;
	atomic_inc(&t->session->stepping);
}

/* after() is to be told of @op when the probe behind it is hit. */
static void open_put(struct maple_thread *t, const struct maple_op *op)
{
	unsigned int i;

	if (t->nopen == MAPLE_OPEN) { /* left by a jump */
		for (i = 1; i < MAPLE_OPEN; i++)
			t->open[i - 1] = t->open[i];
		t->nopen--;
	}
	t->open[t->nopen] = *op;
	t->open[t->nopen++].type = MAPLE_OP_AFTER;
}

static void open_drop(struct maple_thread *t, unsigned int i)
{
	for (t->nopen--; i < t->nopen; i++)
		t->open[i] = t->open[i + 1];
}

/* The access at @site that was begun last. */
static bool open_take(struct maple_thread *t, u32 site, struct maple_op *op)
{
	unsigned int i = t->nopen;

	while (i-- > 0) {
		if (t->open[i].acc.site != site)
			continue;
		*op = t->open[i];
		/* A second operand of the same instruction stays open. */
		open_drop(t, i);
		return true;
	}
	return false;
}

/* The first access of the instruction that is, or was, stepped over. */
static bool open_take_stepped(struct maple_thread *t, struct maple_op *op)
{
	unsigned int i;

	for (i = 0; i < t->nopen; i++) {
		if (!t->open[i].stepped)
			continue;
		*op = t->open[i];
		open_drop(t, i);
		return true;
	}
	return false;
}

static void run_note(struct maple_thread *t, const struct maple_op *op,
		     bool may_arm)
{
	struct maple_thread *other;

	if (op->acc.kind == MAPLE_EV_JOIN) {
		other = t->session->thread[op->aux];
		maple_log_exit(other);
		maple_turn_gone(other, may_arm);
	}
	maple_log_event(t, op->acc.kind, &op->acc, op->value, op->flags,
			op->aux, op->caller);
	/* What the plan names has been asked about, as a write. */
	if (op->acc.kind == MAPLE_EV_FREE &&
	    !maple_engine_wanted(t->session, op->acc.site))
		maple_engine_freed(t, op->acc.addr, op->value, may_arm);
}

static void run(struct maple_thread *t, struct maple_op *op, bool may_arm)
{
	switch (op->type) {
	case MAPLE_OP_BEFORE:
		maple_engine_before(t, op, may_arm);
		if (op->open)
			open_put(t, op);
		break;
	case MAPLE_OP_AFTER:
		maple_engine_after(t, op, may_arm);
		break;
	case MAPLE_OP_NOTE:
		run_note(t, op, may_arm);
		break;
	}
}

static void run_all(struct maple_thread *t, bool may_arm)
{
	unsigned int i;

	for (i = 0; i < t->nops; i++)
		run(t, &t->op[i], may_arm);
	if (may_arm)
		for (i = 0; i < t->nops; i++)
			if (t->op[i].type == MAPLE_OP_BEFORE && t->op[i].open)
				maple_watch_step(t, &t->op[i].acc);
	t->nops = 0;
}

static void hit_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, work);

	if (current->flags & PF_EXITING)
		t->nops = 0;
	if (READ_ONCE(t->watch_off))
		maple_watch_stepped(t);
	run_all(t, true);
	maple_work_done(t, MAPLE_WORK_OPS);
}

/* Whether @op may happen right away; then it is open. */
static bool pass(struct maple_thread *t, struct maple_op *op)
{
	bool free;

	/* Who arms a watchpoint comes before this or sees what is open. */
	preempt_disable();
	free = maple_engine_glance(t, op) && !maple_watch_concerns(t, &op->acc);
	if (free && op->open)
		open_put(t, op);
	preempt_enable();
	return free;
}

/* Whether @op could be done here and now. */
static bool quick(struct maple_thread *t, struct maple_op *op)
{
	switch (op->type) {
	case MAPLE_OP_BEFORE:
		if (!pass(t, op))
			return false;
		maple_engine_pass(t, op);
		return true;
	case MAPLE_OP_AFTER:
		return maple_engine_did(t, op);
	case MAPLE_OP_NOTE:
		if (op->acc.kind == MAPLE_EV_JOIN ||
		    op->acc.kind == MAPLE_EV_FREE)
			return false;
		run_note(t, op, false);
		return true;
	}
	return false;
}

/*
 * maple_hit_emit - @op of @t, the caller, comes next: at once if that is
 * possible without sleeping, else when the handler has returned
 */
void maple_hit_emit(struct maple_thread *t, struct maple_op *op)
{
	if (!t->nops && quick(t, op))
		return;
	if (t->nops < MAPLE_OPS)
		t->op[t->nops++] = *op;
	else
		maple_count(t->session, lost);
}

/* Whatever could not be done at once. */
static void dispatch(struct maple_thread *t)
{
	int err = -EBUSY; /* it is on its way already */

	if (!t->nops && !READ_ONCE(t->watch_off))
		return;
	if (atomic_read(&t->session->stepping) < SLOTS)
		err = maple_work_add(t, current, &t->work, hit_work,
				     MAPLE_WORK_OPS);
	else if (!test_bit(MAPLE_WORK_OPS, &t->queued))
		err = -EAGAIN;
	if (err && err != -EBUSY)
		run_all(t, false);
}

/*
 * maple_hit_stepped - @t, the caller, has stepped over the instruction
 * @repeats: a string instruction, which goes on
 *
 * Context: the trap, interrupts off.
 */
void maple_hit_stepped(struct maple_thread *t, bool repeats)
{
	struct maple_op op;

	maple_hit_unstep(t);
	t->repeats = repeats;
	if (repeats)
		return;
	while (open_take_stepped(t, &op))
		maple_hit_emit(t, &op);
	if ((t->nops || READ_ONCE(t->watch_off)) &&
	    maple_work_add(t, current, &t->work, hit_work, MAPLE_WORK_OPS))
		t->nops = 0; /* it has no more works, nor another instruction */
}

static unsigned int event_flags(const struct maple_uapi_probe *p)
{
	return p->flags & MAPLE_PROBE_ATOMIC ? MAPLE_EVF_ATOMIC : 0;
}

static void hit_before(struct maple_thread *t, struct maple_spot *spot,
		       struct pt_regs *regs)
{
	const struct maple_uapi_probe *p = &spot->probe;
	struct maple_op op = {
		.type = MAPLE_OP_BEFORE,
		.flags = event_flags(p),
		.happened = true,
		.open = true,
		.stepped = !(p->flags & MAPLE_PROBE_AHEAD),
		.acc = { .site = p->number,
			 .kind = p->kind,
			 .addr = maple_operand_address(p, regs),
			 .size = maple_operand_size(p, regs) },
	};

	if (!op.acc.size) /* a string instruction that does nothing */
		return;
	maple_count(t->session, hits);
	t->stale = atomic_inc_return(&spot->hits) > MAPLE_OFTEN;
	trace_maple_hit(t->session->tgid, t->number, p->number, op.acc.addr);
	if (p->flags & MAPLE_PROBE_BEHIND)
		op.type = MAPLE_OP_AFTER;
	maple_hit_emit(t, &op);
}

static void hit_access(struct maple_probe_point *p, struct maple_thread *t,
		       struct pt_regs *regs)
{
	struct maple_spot *spot;
	struct maple_op op;

	t->at_point = p;
	list_for_each_entry(spot, &p->spots, list)
		if (spot->after && open_take(t, spot->probe.number, &op))
			maple_hit_emit(t, &op);
	list_for_each_entry(spot, &p->spots, list)
		if (!spot->after)
			hit_before(t, spot, regs);
}

/*
 * A thread of the target, and a session that may see it. A step that did
 * not come to its end was broken off by a signal: the access has not happened.
 */
static struct maple_thread *hit_thread(struct maple_probe_point *p,
				       struct maple_session *s)
{
	struct maple_thread *t = maple_thread_find(s, current);
	struct maple_op op;

	if (!t || !maple_rights_kept(s, current->mm) || READ_ONCE(p->off))
		return NULL;
	maple_session_run(s);
	maple_hit_unstep(t);
	t->repeats &= t->at_point == p;
	while (!t->repeats && open_take_stepped(t, &op))
		;
	return t;
}

static int hit(struct maple_probe_point *p, struct pt_regs *regs)
{
	struct maple_session *s = READ_ONCE(p->session);
	struct maple_thread *t;

	if (!s)
		return UPROBE_HANDLER_REMOVE;
	t = hit_thread(p, s);
	if (!t) {
		/* A vforked child has its parent's probes. */
		return READ_ONCE(s->cut) || (!maple_session_has(s, current) &&
					     current->mm != maple_session_mm(s))
			       ? UPROBE_HANDLER_REMOVE
			       : 0;
	}
	if (p->call)
		maple_call_enter(p, t, regs);
	else if (!t->repeats)
		hit_access(p, t, regs);
	step(t);
	dispatch(t);
	return 0;
}

static void hit_return(struct maple_probe_point *p, struct pt_regs *regs)
{
	struct maple_session *s = READ_ONCE(p->session);
	struct maple_thread *t = s ? hit_thread(p, s) : NULL;

	if (!t)
		return;
	maple_call_leave(p, t, regs);
	dispatch(t);
}

MAPLE_HANDLER(maple_hit_handler)
{
	int verdict, idx = srcu_read_lock(&maple_handlers);

	verdict = hit(container_of(consumer, struct maple_probe_point, consumer),
		      regs);
	srcu_read_unlock(&maple_handlers, idx);
	return verdict;
}

MAPLE_RET_HANDLER(maple_hit_ret_handler)
{
	int idx = srcu_read_lock(&maple_handlers);

	hit_return(container_of(consumer, struct maple_probe_point, consumer),
		   regs);
	srcu_read_unlock(&maple_handlers, idx);
	return 0;
}
