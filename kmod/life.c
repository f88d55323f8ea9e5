// SPDX-License-Identifier: GPL-2.0-only
/*
 * Births, deaths and changes of program, told by the kernel's tracepoints.
 *
 * These run with preemption off, so all that may sleep is left to works: a
 * thread's birth is told to the automaton by its parent before that returns
 * to user space, or, where the parent does not get there first, by the
 * thread itself before its first instruction. A process that was forked gets
 * its own scheduling back in the same way.
 */
#include <linux/mm.h>
#include <linux/mm_types.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include "kmod.h"
#include "netlink/rights.h"

/* Where its stack lies, as far as the mappings tell. */
static void find_stack(struct maple_access *acc)
{
	unsigned long sp = task_pt_regs(current)->sp;
	struct vm_area_struct *vma;

	if (!current->mm || mmap_read_lock_killable(current->mm))
		return;
	vma = find_vma(current->mm, sp ? sp - 1 : 0);
	if (vma && vma->vm_start < sp) {
		acc->addr = vma->vm_start;
		acc->size = vma->vm_end - vma->vm_start;
	}
	mmap_read_unlock(current->mm);
}

static void birth_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, birth);
	struct maple_access acc = { .site = MAPLE_SITE_NONE };
	struct maple_session *s = t->session;

	maple_thread_refill(s); /* its parent may wait for it (vfork) */
	if (t->number != MAPLE_THREAD_NONE && !(current->flags & PF_EXITING)) {
		maple_turn_born(t);
		find_stack(&acc);
	}
	/* Also when the session has ended meanwhile. */
	if (t->number == MAPLE_THREAD_NONE || READ_ONCE(s->native))
		maple_thread_restore(t, current);
	if (t->number == MAPLE_THREAD_NONE)
		maple_thread_ended(t);
	else
		maple_log_event(t, MAPLE_EV_START, &acc, 0, 0, 0, 0);
	maple_work_done(t, MAPLE_WORK_BIRTH);
}

/* The system call that has made @t is over. */
static void parent_work(struct callback_head *work)
{
	struct maple_thread *t =
		container_of(work, struct maple_thread, birth_by_parent);
	struct maple_thread *self = maple_thread_find(t->session, current);

	if (self)
		WRITE_ONCE(self->told_birth, false);
	maple_thread_refill(t->session);
	if (t->number != MAPLE_THREAD_NONE)
		maple_turn_born(t);
	maple_work_done(t, MAPLE_WORK_PARENT);
}

/*
 * What @child would natively have. What it has is copied from its parent, but
 * some time ago: in the meantime that may have got its own back.
 */
static void inherit(struct maple_thread *parent, struct maple_native *native)
{
	struct maple_session *s = parent->session;
	struct maple_native own;

	raw_spin_lock(&s->lock);
	maple_task_wishes(parent, current);
	own = parent->native;
	if (READ_ONCE(s->restored))
		maple_native_save(&own, current);
	raw_spin_unlock(&s->lock);
	maple_native_inherit(native, &own);
	native->known = s->sched != MAPLE_UAPI_NATIVE;
}

/*
 * Who ends the session may have passed the child by, since it was not there
 * yet. So it gets a record for as long as the session is listed, by which it
 * is put right: by the one who ends the session, or by itself before its
 * first instruction.
 */
static void born(struct maple_thread *parent, struct task_struct *child)
{
	bool counts = child->tgid == current->tgid;
	struct maple_session *s = parent->session;
	struct maple_native native;
	struct maple_thread *t;

	inherit(parent, &native);
	if (!maple_rights_kept(s, current->mm)) {
		if (!native.known)
			return;
		counts = false;
	}
	if (native.known && s->sched != MAPLE_UAPI_PCTLARGE)
		set_user_nice(child, native.nice);
	t = maple_thread_record(s, child, parent, &native, counts);
	if (!t) {
		maple_native_restore_new(&native, child);
		maple_count(s, threads_over);
		return;
	}
	if (IS_ERR(t)) { /* who has begun the session saw it first */
		maple_thread_inherits(s, child, &native);
		return;
	}
	if (t->number != MAPLE_THREAD_NONE) {
		t->pthread = child->thread.fsbase;
		maple_log_event(parent, MAPLE_EV_CREATE,
				&(struct maple_access){ .site = parent->site },
				0, 0, t->number, parent->site_caller);
		maple_session_run(s);
	}
	/* From now on it is on the list. */
	if (!maple_work_add(t, current, &t->birth_by_parent, parent_work,
			    MAPLE_WORK_PARENT))
		smp_store_release(&parent->told_birth, true);
	maple_work_add(t, child, &t->birth, birth_work, MAPLE_WORK_BIRTH);
}

static void on_fork(void *data, struct task_struct *task,
		    struct task_struct *child)
{
	struct maple_thread *parent;
	struct maple_session *s;

	rcu_read_lock();
	s = maple_session_of(task);
	parent = s ? maple_thread_find(s, task) : NULL;
	if (parent) /* or it is none of ours, or left alone */
		born(parent, child);
	rcu_read_unlock();
}

static void worker_work(struct callback_head *work)
{
	struct maple_thread *t =
		container_of(work, struct maple_thread, birth_by_parent);
	struct task_struct *task = maple_thread_task(t);

	maple_thread_refill(t->session);
	if (task) {
		maple_thread_restore(t, task);
		put_task_struct(task);
	}
	maple_thread_ended(t);
	maple_work_done(t, MAPLE_WORK_PARENT);
}

/*
 * The kernel's own threads in a process have its CPUs, policy and nice value,
 * and no user space: who makes one puts it right before its own next
 * instruction.
 */
static void worker_born(struct maple_thread *parent, struct task_struct *child)
{
	struct maple_session *s = parent->session;
	struct maple_native native;
	struct maple_thread *t;

	inherit(parent, &native);
	if (!native.known)
		return;
	if (s->sched != MAPLE_UAPI_PCTLARGE)
		set_user_nice(child, native.nice);
	t = maple_thread_record(s, child, NULL, &native, false);
	if (!t || maple_work_add(t, current, &t->birth_by_parent, worker_work,
				 MAPLE_WORK_PARENT))
		maple_native_restore_new(&native, child);
}

/* Of all others the fork tracepoint tells, and only of them. */
static MAPLE_ON_NEWTASK(on_newtask)
{
	struct maple_thread *parent;
	struct maple_session *s;

	if (!(task->flags & MAPLE_PF_WORKER))
		return;
	rcu_read_lock();
	s = maple_session_of(current);
	parent = s ? maple_thread_find(s, current) : NULL;
	if (parent)
		worker_born(parent, task);
	rcu_read_unlock();
}

static void end_work(struct callback_head *work)
{
	struct maple_thread *t = container_of(work, struct maple_thread, end);

	maple_hit_unstep(t);
	if (maple_rights_kept(t->session, current->mm))
		maple_log_exit(t);
	maple_turn_gone(t, true);
	maple_watch_drop(t);
	maple_thread_ended(t);
	maple_work_done(t, MAPLE_WORK_END);
}

static MAPLE_ON_EXIT(on_exit)
{
	struct maple_session *s;
	struct maple_thread *t;

	rcu_read_lock();
	list_for_each_entry_rcu(s, &maple_sessions, list) {
		/* What else it has open may keep it from the socket for long. */
		if (s->owner == task->tgid && !atomic_read(&task->signal->live))
			cmpxchg(&s->asked, 0, MAPLE_SESSION_RELEASED);
		t = maple_session_has(s, task) ? maple_thread_find(s, task)
					       : NULL;
		if (!t)
			continue;
		maple_thread_dies(t);
		maple_work_add(t, task, &t->end, end_work, MAPLE_WORK_END);
	}
	rcu_read_unlock();
}

/* What it is over by; by an exec, if it was not over before. */
static u32 exec_ends(struct maple_session *s)
{
	u32 state = READ_ONCE(s->state);

	return state < MAPLE_SESSION_RELEASED ? MAPLE_SESSION_GONE : state;
}

/*
 * The program under test begins with the exec that comes before anything was
 * seen of it, and ends with one that comes later, or of other rights. What is
 * executed when the session is over is none of its.
 */
static void on_exec(void *data, struct task_struct *task, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	struct maple_session *s;

	rcu_read_lock();
	s = maple_session_of(task);
	if (!s || READ_ONCE(s->ended) || !maple_rights_exec(s, bprm)) {
		; /* it is none of ours */
	} else if (s->nmm < MAPLE_MMS && !maple_is_32bit(task) &&
		   READ_ONCE(s->state) == MAPLE_SESSION_ARMED) {
		mmgrab(task->mm);
		s->mm[s->nmm] = task->mm;
		smp_store_release(&s->nmm, s->nmm + 1);
		maple_sites_forget(s);
	} else {
		maple_session_cut(s, exec_ends(s));
	}
	rcu_read_unlock();
}

static struct {
	const char *name;
	void *fn;
	struct tracepoint *tp;
} points[] = {
	{ "sched_process_fork", on_fork },
	{ "task_newtask", on_newtask },
	{ "sched_process_exit", on_exit },
	{ "sched_process_exec", on_exec },
};

static void find_point(struct tracepoint *tp, void *priv)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(tp->name, points[i].name))
			points[i].tp = tp;
}

static void remove_points(unsigned int n)
{
	while (n-- > 0)
		tracepoint_probe_unregister(points[n].tp, points[n].fn, NULL);
	tracepoint_synchronize_unregister();
}

int maple_life_init(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find_point, NULL);
	for (i = 0; i < ARRAY_SIZE(points); i++) {
		err = -ENOENT;
		if (points[i].tp)
			err = tracepoint_probe_register(points[i].tp,
							points[i].fn, NULL);
		if (err) {
			pr_err("no tracepoint %s (%d)\n", points[i].name, err);
			remove_points(i);
			return err;
		}
	}
	return 0;
}

void maple_life_exit(void)
{
	remove_points(ARRAY_SIZE(points));
}
