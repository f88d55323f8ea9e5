// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions: what their entry and their return mean. The same events come out
 * as from the agent's intercept/, which stands in front of them.
 *
 * A probe has a kind at entry and one at return. Of these
 *	an access at entry happens, for all we can say, right there, unless
 *	the return says the same, or there is nothing else at the return: then
 *	it has happened when the function returns;
 *	LOCK at return alone was to be expected at entry;
 *	FREE with a return, of a call that the plan names, is a write to all of
 *	the block, which has happened when the function returns;
 *	everything else is an event for the log.
 *
 * Functions that others call from inside are not the program's calls: locks,
 * waits and copies have no inner calls. A frame that was left by a jump is
 * known by its stack pointer.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/uaccess.h>
#include "kmod.h"

#define OWNER_DEAD    130 /* the lock is ours all the same */
#define RWLOCK_WRITER 24  /* of glibc's pthread_rwlock_t: __cur_writer */

static bool is_access(unsigned int kind)
{
	return maple_event_is_access(kind);
}

/* The access whose before() is told at entry; NONE if there is none. */
static unsigned int access_at_entry(const struct maple_uapi_probe *p)
{
	if (is_access(p->kind))
		return p->kind;
	return p->after == MAPLE_EV_LOCK ? MAPLE_EV_LOCK : MAPLE_EV_NONE;
}

/* ... and has it happened only at the return? */
static bool access_spans(const struct maple_uapi_probe *p)
{
	return (p->flags & MAPLE_PROBE_RETURN) &&
	       (p->after == access_at_entry(p) || p->after == MAPLE_EV_NONE);
}

static unsigned int event_flags(const struct maple_uapi_probe *p)
{
	unsigned int flags = 0;

	if (p->flags & MAPLE_PROBE_SHARED)
		flags |= MAPLE_EVF_SHARED;
	if (p->flags & MAPLE_PROBE_MAYFAIL)
		flags |= MAPLE_EVF_MAYFAIL;
	if (p->flags & MAPLE_PROBE_MAYWAIT)
		flags |= MAPLE_EVF_MAYWAIT;
	return flags;
}

static bool has_inner_calls(const struct maple_probe_point *p)
{
	const struct maple_uapi_probe *probe =
		&list_first_entry(&p->spots, struct maple_spot, list)->probe;

	return probe->kind == MAPLE_EV_CREATE || probe->kind == MAPLE_EV_ONCE ||
	       probe->after == MAPLE_EV_ONCE ||
	       probe->after == MAPLE_EV_ONCED || probe->after == MAPLE_EV_JOIN;
}

/* malloc's own note of a block's size stands in front of it. */
static u64 block_size(u64 addr)
{
	u64 head;

	if (copy_from_user_nofault(&head, (void __user *)(addr - sizeof(head)),
				   sizeof(head)))
		return 0;
	head &= ~7ull;
	return head > 8 && head < 1ull << 40 ? head - 8 : 0;
}

/* Which side of a rwlock its owner gives back: a writer is known by name. */
static bool is_read_side(u64 lock)
{
	u32 writer;

	static_assert(RWLOCK_WRITER % sizeof(writer) == 0, "an int");
	return !copy_from_user_nofault(&writer,
				       (void __user *)(lock + RWLOCK_WRITER),
				       sizeof(writer)) &&
	       !writer;
}

static struct maple_op op_make(const struct maple_uapi_probe *p,
			       const struct maple_call_frame *f, unsigned int i)
{
	return (struct maple_op){
		.flags = event_flags(p),
		.happened = true,
		.caller = f->caller,
		.acc = { .site = f->site,
			 .addr = f->arg[i],
			 .size = f->size[i],
			 .may_fail = !!(p->flags & MAPLE_PROBE_MAYFAIL) },
	};
}

static void emit_note(struct maple_thread *t, struct maple_op op,
		      unsigned int kind, u64 value, u32 aux)
{
	op.type = MAPLE_OP_NOTE;
	op.acc.kind = kind;
	op.acc.size = 0;
	op.value = value;
	op.aux = aux;
	maple_hit_emit(t, &op);
}

static void emit_access(struct maple_thread *t, struct maple_op op,
			enum maple_op_type type, unsigned int kind)
{
	op.type = type;
	op.acc.kind = kind;
	if (kind == MAPLE_EV_LOCK || kind == MAPLE_EV_UNLOCK)
		op.acc.size = 1;
	if (op.acc.size)
		maple_hit_emit(t, &op);
}

/* Whether the end of memory in this call is a step of the plan's, perhaps. */
static bool is_end(struct maple_thread *t, const struct maple_uapi_probe *p,
		   u32 site)
{
	return p->kind == MAPLE_EV_FREE && (p->flags & MAPLE_PROBE_RETURN) &&
	       maple_engine_wanted(t->session, site);
}

/* Told before: the block is held until the call may be carried out. */
static void enter_end(struct maple_thread *t, struct maple_call_frame *f,
		      const struct maple_uapi_probe *p, struct maple_op op,
		      unsigned int i)
{
	if (!op.acc.addr)
		return;
	f->size[i] = f->size[i] ?: block_size(op.acc.addr);
	op.acc.size = f->size[i];
	if (is_end(t, p, f->site))
		emit_access(t, op, MAPLE_OP_BEFORE, MAPLE_EV_WRITE);
	emit_note(t, op, p->kind, f->size[i], 0);
}

static void enter_one(struct maple_thread *t, struct maple_call_frame *f,
		      const struct maple_uapi_probe *p, unsigned int i)
{
	unsigned int access = access_at_entry(p);
	struct maple_op op = op_make(p, f, i);

	switch (p->kind) {
	case MAPLE_EV_CREATE: /* told when there is a thread */
		t->site = f->site;
		t->site_caller = f->caller;
		return;
	case MAPLE_EV_FREE:
		enter_end(t, f, p, op, i);
		return;
	}
	if (p->after == MAPLE_EV_JOIN)
		f->joined = maple_thread_find_pthread(t->session, f->arg[i]);
	if (access == MAPLE_EV_UNLOCK && p->flags & MAPLE_PROBE_SHARED) {
		f->shared = is_read_side(op.acc.addr);
		if (!f->shared)
			op.flags &= ~MAPLE_EVF_SHARED;
	}
	if (access && op.acc.addr) {
		emit_access(t, op, MAPLE_OP_BEFORE, access);
		if (!access_spans(p) && p->after != access)
			emit_access(t, op, MAPLE_OP_AFTER, access);
	} else if (!access && p->kind != MAPLE_EV_NONE &&
		   p->kind != MAPLE_EV_JOIN && p->kind != MAPLE_EV_ALLOC) {
		if (p->kind == MAPLE_EV_BLOCK)
			op.acc.addr = 0;
		emit_note(t, op, p->kind, 0, 0);
	}
	if (p->kind == MAPLE_EV_WAIT) {
		op.acc.addr = 0;
		op.flags = 0;
		emit_note(t, op, MAPLE_EV_BLOCK, 0, 0);
	}
}

/* maple_call_ops - how many operations @p leads to at once, at most */
unsigned int maple_call_ops(const struct maple_uapi_probe *p)
{
	bool waits = p->kind == MAPLE_EV_WAIT;

	if (access_at_entry(p) || p->kind == MAPLE_EV_FREE)
		return 2 + waits;
	return 1 + waits;
}

static bool happened(const struct maple_uapi_probe *p, int ret)
{
	if (p->flags & MAPLE_PROBE_ZERO)
		return !ret || (ret == OWNER_DEAD && p->after == MAPLE_EV_LOCK);
	if (p->flags & MAPLE_PROBE_NONZERO)
		return ret;
	return true;
}

static void leave_one(struct maple_thread *t, const struct maple_call_frame *f,
		      const struct maple_uapi_probe *p, unsigned int i,
		      const struct pt_regs *regs)
{
	unsigned int access = access_at_entry(p);
	struct maple_op op = op_make(p, f, i);
	int ret = regs->ax;

	op.happened = happened(p, ret);
	if (access == MAPLE_EV_UNLOCK && !f->shared)
		op.flags &= ~MAPLE_EVF_SHARED;
	switch (p->kind) {
	case MAPLE_EV_CREATE:
		t->site = MAPLE_SITE_NONE;
		t->site_caller = 0;
		return;
	case MAPLE_EV_FREE:
		if (op.acc.addr && is_end(t, p, f->site))
			emit_access(t, op, MAPLE_OP_AFTER, MAPLE_EV_WRITE);
		return;
	}
	if (access && op.acc.addr && access_spans(p)) {
		emit_access(t, op, MAPLE_OP_AFTER, access);
	} else if (is_access(p->after)) {
		if (op.happened && op.acc.addr)
			emit_access(t, op, MAPLE_OP_AFTER, p->after);
	} else if (p->after == MAPLE_EV_WAKE) {
		op.flags = ret && ret != OWNER_DEAD ? MAPLE_EVF_TIMEOUT : 0;
		emit_note(t, op, p->after, 0, 0);
	} else if (p->after == MAPLE_EV_JOIN) {
		op.acc.addr = 0;
		if (op.happened && f->joined < MAPLE_THREADS)
			emit_note(t, op, p->after, 0, f->joined);
	} else if (p->after == MAPLE_EV_ALLOC) {
		op.acc.addr = regs->ax;
		if (regs->ax)
			emit_note(t, op, p->after,
				  f->arg[i] * (f->size[i] ?: 1), 0);
	} else if (p->after != MAPLE_EV_NONE && op.happened) {
		emit_note(t, op, p->after,
			  p->after == MAPLE_EV_FREE ? f->size[i] : 0, 0);
	}
}

/*
 * Where the kernel has probed functions return to, so that it knows of it: the
 * start of a mapping of its own, which it makes when it first needs it.
 */
static void find_trampoline(struct maple_session *s)
{
	VMA_ITERATOR(vmas, current->mm, 0);
	struct vm_area_struct *vma;
	const char *name;

	if (mmap_read_lock_killable(current->mm))
		return;
	for_each_vma(vmas, vma)
	{
		if (!vma->vm_ops || !vma->vm_ops->name)
			continue;
		name = vma->vm_ops->name(vma);
		if (name && !strcmp(name, "[uprobes]")) {
			WRITE_ONCE(s->trampoline, vma->vm_start);
			break;
		}
	}
	mmap_read_unlock(current->mm);
}

/*
 * Where the function returns to, if the stack says at @slot that it is @caller.
 * Where that is the kernel's doing already, one function has jumped to the
 * other: they have one return, and the first has noted it.
 */
static u64 return_of(struct maple_thread *t, u64 slot, u64 caller)
{
	unsigned int i = t->nback;

	if (caller != READ_ONCE(t->session->trampoline))
		return caller;
	while (i-- > 0)
		if (t->back[i].slot == slot)
			return t->back[i].caller;
	return caller;
}

/* What the stack does not say any more as soon as the handler is done. */
static void note_return(struct maple_thread *t, u64 slot, u64 caller)
{
	unsigned int n = t->nback;

	while (n && t->back[n - 1].slot <= slot)
		n--;
	if (n == MAPLE_RETURNS) {
		memmove(t->back, t->back + 1,
			sizeof(t->back) - sizeof(t->back[0]));
		n--;
	}
	t->back[n].slot = slot;
	t->back[n++].caller = caller;
	WRITE_ONCE(t->nback, n);
}

/*
 * maple_session_returns - what is noted of thread @number, @max at most
 *
 * If it runs meanwhile this may be of different moments.
 */
unsigned int maple_session_returns(struct maple_session *s, unsigned int number,
				   struct maple_uapi_return *returns,
				   unsigned int max)
{
	unsigned int n;

	if (number >= maple_session_threads(s) || READ_ONCE(s->ended))
		return 0;
	n = min3(READ_ONCE(s->thread[number]->nback), max, MAPLE_RETURNS + 0u);
	data_race(
		memcpy(returns, s->thread[number]->back, n * sizeof(*returns)));
	return n;
}

/* maple_call_enter - @t, the caller, is at the first instruction of @p */
void maple_call_enter(struct maple_probe_point *p, struct maple_thread *t,
		      struct pt_regs *regs)
{
	struct maple_call_frame now = { .point = p, .sp = regs->sp };
	struct maple_call_frame *f = &now;
	struct maple_spot *spot;
	bool returns = false;
	unsigned int i = 0;
	u32 hits;

	if (copy_from_user_nofault(&now.caller, (void __user *)regs->sp,
				   sizeof(now.caller)))
		return;
	if (p->consumer.ret_handler && !READ_ONCE(t->session->trampoline))
		find_trampoline(t->session);
	now.caller = return_of(t, regs->sp, now.caller);
	if (p->consumer.ret_handler)
		note_return(t, regs->sp, now.caller);
	while (t->ncalls && t->call[t->ncalls - 1].sp < regs->sp)
		t->ncalls--;
	if (t->ncalls && !has_inner_calls(t->call[t->ncalls - 1].point))
		return;
	now.site = maple_site_of(t->session, now.caller, &hits);
	t->stale = hits > MAPLE_OFTEN;
	now.joined = MAPLE_THREAD_NONE;
	maple_count(t->session, calls);
	list_for_each_entry(spot, &p->spots, list) {
		returns |= spot->probe.flags & MAPLE_PROBE_RETURN;
	}
	if (returns && t->ncalls < MAPLE_CALLS) {
		f = &t->call[t->ncalls++];
		*f = now;
	} else if (returns) {
		maple_count(t->session, lost); /* what it returns */
	}
	list_for_each_entry(spot, &p->spots, list) {
		if (i == MAPLE_ARGS)
			break;
		f->arg[i] = maple_operand_address(&spot->probe, regs);
		f->size[i] = maple_operand_size(&spot->probe, regs);
		enter_one(t, f, &spot->probe, i);
		i++;
	}
}

/* maple_call_leave - @t, the caller, has returned from @p */
void maple_call_leave(struct maple_probe_point *p, struct maple_thread *t,
		      struct pt_regs *regs)
{
	struct maple_call_frame f;
	struct maple_spot *spot;
	unsigned int n = t->ncalls, i = 0;

	while (n > 0 && (t->call[n - 1].point != p ||
			 t->call[n - 1].sp + sizeof(u64) != regs->sp))
		n--;
	if (!n) /* an inner call, or one that was entered before us */
		return;
	f = t->call[n - 1];
	t->ncalls = n - 1;
	list_for_each_entry(spot, &p->spots, list)
		i++;
	list_for_each_entry_reverse(spot, &p->spots, list) {
		if (i-- > MAPLE_ARGS)
			continue;
		if (spot->probe.flags & MAPLE_PROBE_RETURN)
			leave_one(t, &f, &spot->probe, i, regs);
	}
}
