// SPDX-License-Identifier: GPL-2.0-only
/*
 * The records of a session's threads: numbers in the order of their creation,
 * names that last ("0.2.1"), and what each had before the session.
 *
 * Records are made ahead of time. One with a number lives as long as the
 * session; who may hold one is said at maple_session_put(). One without, of a
 * process that was forked or of a thread too many, is given back as soon as
 * that has its own scheduling: it is on no other list than the session's, so
 * what else may hold it are works, and who puts everyone right.
 */
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include "kmod.h"

/* maple_thread_find - the record of @task; Context: RCU, or @task is current */
struct maple_thread *maple_thread_find(struct maple_session *s,
				       const struct task_struct *task)
{
	struct maple_thread *t;

	rcu_read_lock();
	hash_for_each_possible_rcu(s->by_task, t, node, (unsigned long)task)
		if (READ_ONCE(t->task) == task) {
			rcu_read_unlock();
			return t;
		}
	rcu_read_unlock();
	return NULL;
}

/* maple_thread_task - its task, with a reference; NULL if it has ended */
struct task_struct *maple_thread_task(struct maple_thread *t)
{
	struct task_struct *task;

	raw_spin_lock(&t->session->threads_lock);
	task = t->task;
	if (task)
		get_task_struct(task);
	raw_spin_unlock(&t->session->threads_lock);
	return task;
}

/* maple_thread_name - "0.2" is the second child of "0"; too long ends in + */
void maple_thread_name(char *name, const char *parent, unsigned int n)
{
	size_t len = strnlen(parent, MAPLE_PLAN_NAME - 1);

	if (len + 12 >= MAPLE_PLAN_NAME) {
		memcpy(name, parent, len);
		memset(name + len, 0, MAPLE_PLAN_NAME - len);
		name[MAPLE_PLAN_NAME - 2] = '+';
		return;
	}
	snprintf(name, MAPLE_PLAN_NAME, "%s.%u", parent, n);
}

static struct maple_thread *record_create(struct maple_session *s)
{
	struct maple_thread *t = kzalloc(sizeof(*t), MAPLE_GFP);

	if (!t)
		return NULL;
	t->session = s;
	t->number = MAPLE_THREAD_NONE;
	t->parent = MAPLE_THREAD_NONE;
	t->site = MAPLE_SITE_NONE;
	return t;
}

/* maple_thread_refill - records for the next threads; Context: may sleep */
void maple_thread_refill(struct maple_session *s)
{
	while (READ_ONCE(s->nspare) < MAPLE_SPARE) {
		struct maple_thread *t = record_create(s);

		if (!t)
			return;
		raw_spin_lock(&s->threads_lock);
		list_add(&t->list, &s->spare);
		WRITE_ONCE(s->nspare, s->nspare + 1);
		raw_spin_unlock(&s->threads_lock);
	}
}

/* Nobody sees @t any more, or has seen it yet. */
static void record_return(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	bool spare;

	put_pid(t->pid);
	t->pid = NULL;
	t->native.known = false;
	raw_spin_lock(&s->threads_lock);
	spare = s->nspare < MAPLE_SPARE;
	if (spare) {
		list_add(&t->list, &s->spare);
		WRITE_ONCE(s->nspare, s->nspare + 1);
	}
	raw_spin_unlock(&s->threads_lock);
	if (!spare)
		kfree(t);
}

/* Whether @t, which has no number, is done with; then it is on no list. */
static bool record_taken(struct maple_thread *t)
{
	struct maple_session *s = t->session;

	lockdep_assert_held(&s->threads_lock);
	if (t->number != MAPLE_THREAD_NONE || t->task || t->queued)
		return false;
	list_del(&t->list);
	s->nothers--;
	return true;
}

/* maple_thread_work_done - work @bit of @t, which may be gone then */
void maple_thread_work_done(struct maple_thread *t, unsigned int bit)
{
	struct maple_session *s = t->session;
	bool taken;

	if (t->number != MAPLE_THREAD_NONE) {
		clear_bit(bit, &t->queued);
		return;
	}
	raw_spin_lock(&s->threads_lock);
	clear_bit(bit, &t->queued);
	taken = record_taken(t);
	raw_spin_unlock(&s->threads_lock);
	if (taken)
		record_return(t);
}

/*
 * maple_thread_record - a record for new task @task, child of @parent
 * @native: what it is to get back
 * @counts: it is one of the run's threads, and gets a number and a name
 *
 * Context: atomic, also on PREEMPT_RT, which has no memory to give there.
 *
 * NULL if no record is ready, or if too many processes have not run yet;
 * ERR_PTR(-EEXIST) if it has one as a thread of the run, which can be while a
 * session begins on a program that runs: a new thread is there before it is
 * told of.
 */
struct maple_thread *maple_thread_record(struct maple_session *s,
					 struct task_struct *task,
					 struct maple_thread *parent,
					 const struct maple_native *native,
					 bool counts)
{
	struct maple_thread *t = NULL;

	raw_spin_lock(&s->threads_lock);
	if (counts && maple_thread_find(s, task))
		t = ERR_PTR(-EEXIST);
	else if ((counts && s->nthreads < MAPLE_THREADS) ||
		 s->nothers < MAPLE_OTHERS)
		t = list_first_entry_or_null(&s->spare, struct maple_thread,
					     list);
	if (IS_ERR_OR_NULL(t)) {
		raw_spin_unlock(&s->threads_lock);
		return t;
	}
	list_del(&t->list);
	WRITE_ONCE(s->nspare, s->nspare - 1);
	t->native = *native;
	t->pid = get_pid(task_pid(task));
	t->task = get_task_struct(task);
	if (counts && s->nthreads < MAPLE_THREADS) {
		t->number = s->nthreads;
		t->alive = true;
		s->nalive++;
		if (parent) {
			t->parent = parent->number;
			maple_thread_name(t->name, parent->name, ++parent->born);
		} else {
			strscpy(t->name, "0", sizeof(t->name));
		}
		s->thread[t->number] = t;
		smp_store_release(&s->nthreads, s->nthreads + 1);
		hash_add_rcu(s->by_task, &t->node, (unsigned long)task);
	} else {
		s->nothers++;
		if (counts)
			maple_count(s, threads_over);
	}
	list_add_tail(&t->list, &s->records);
	raw_spin_unlock(&s->threads_lock);
	return t;
}

/* maple_thread_inherits - what @task has a record for is to get back @native */
void maple_thread_inherits(struct maple_session *s, struct task_struct *task,
			   const struct maple_native *native)
{
	struct maple_thread *t = maple_thread_find(s, task);

	raw_spin_lock(&s->lock);
	if (t && t->native.known)
		t->native = *native;
	raw_spin_unlock(&s->lock);
}

static void one_less(struct maple_session *s)
{
	lockdep_assert_held(&s->threads_lock);
	if (!--s->nalive)
		WRITE_ONCE(s->asked, MAPLE_SESSION_GONE);
}

/* maple_thread_dies - @t ends; for the first who says so */
void maple_thread_dies(struct maple_thread *t)
{
	struct maple_session *s = t->session;

	raw_spin_lock(&s->threads_lock);
	if (t->alive)
		one_less(s);
	WRITE_ONCE(t->alive, false);
	raw_spin_unlock(&s->threads_lock);
}

/* maple_threads_taken - every thread of the target has a record */
void maple_threads_taken(struct maple_session *s)
{
	raw_spin_lock(&s->threads_lock);
	one_less(s);
	raw_spin_unlock(&s->threads_lock);
}

/* maple_thread_ended - @t, the caller, will not run in user space again */
void maple_thread_ended(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct task_struct *task;

	raw_spin_lock(&s->threads_lock);
	task = t->task;
	if (task) {
		WRITE_ONCE(t->task, NULL);
		if (t->number != MAPLE_THREAD_NONE)
			hash_del_rcu(&t->node);
	}
	raw_spin_unlock(&s->threads_lock);
	if (task)
		put_task_struct(task);
}

/* maple_thread_find_pthread - the newest thread that is @pthread, or NONE */
u32 maple_thread_find_pthread(struct maple_session *s, u64 pthread)
{
	u32 i;

	for (i = smp_load_acquire(&s->nthreads); i-- > 0;) {
		struct task_struct *task = maple_thread_task(s->thread[i]);
		u64 base = READ_ONCE(s->thread[i]->pthread);

		if (task) {
			if (!base)
				base = READ_ONCE(task->thread.fsbase);
			put_task_struct(task);
		}
		if (base == pthread)
			return i;
	}
	return MAPLE_THREAD_NONE;
}

/*
 * maple_thread_restore - @t's task back to what it had, if that is still due
 *
 * Context: may sleep.
 */
void maple_thread_restore(struct maple_thread *t, struct task_struct *task)
{
	struct maple_session *s = t->session;
	struct maple_native native;

	raw_spin_lock(&s->lock);
	maple_task_wishes(t, task);
	native = t->native;
	t->native.known = false; /* from now on its own affair */
	raw_spin_unlock(&s->lock);
	maple_native_restore(&native, task);
}

/*
 * maple_thread_relieve - @t, the caller, back to what it had, for now: whoever
 * was about to give it something may still do so, and whoever ends the session
 * makes up for that
 */
void maple_thread_relieve(struct maple_thread *t)
{
	struct maple_native native;

	raw_spin_lock(&t->session->lock);
	maple_task_wishes(t, current);
	native = t->native;
	raw_spin_unlock(&t->session->lock);
	maple_native_restore(&native, current);
}

/*
 * The task of @t, with a reference, as long as anybody can see it: also when
 * it will not run in user space again, since on its way out it may wait for
 * the CPU, below everyone, for any time.
 */
static struct task_struct *seen_task(struct maple_thread *t)
{
	struct task_struct *task = maple_thread_task(t);

	if (task)
		return task;
	task = get_pid_task(t->pid, PIDTYPE_PID);
	/* The number of a leader goes to the thread that execs. */
	if (!task || READ_ONCE(task->flags) & PF_EXITING)
		return task;
	put_task_struct(task);
	return NULL;
}

/* maple_threads_restore - everyone back to what it had; Context: may sleep */
void maple_threads_restore(struct maple_session *s)
{
	struct maple_thread *t, *next;
	struct task_struct *task;
	LIST_HEAD(taken);

	/* Others are added meanwhile, at the end; what is held stays. */
	raw_spin_lock(&s->threads_lock);
	list_for_each_entry_safe(t, next, &s->records, list) {
		if (!READ_ONCE(t->native.known))
			continue;
		set_bit(MAPLE_WORK_RESTORE, &t->queued);
		raw_spin_unlock(&s->threads_lock);
		task = seen_task(t);
		if (task) {
			maple_thread_restore(t, task);
			put_task_struct(task);
		}
		raw_spin_lock(&s->threads_lock);
		clear_bit(MAPLE_WORK_RESTORE, &t->queued);
		next = list_next_entry(t, list);
		if (record_taken(t))
			list_add(&t->list, &taken);
	}
	raw_spin_unlock(&s->threads_lock);
	list_for_each_entry_safe(t, next, &taken, list)
		record_return(t);
}

static void free_list(struct list_head *list)
{
	struct maple_thread *t, *next;

	list_for_each_entry_safe(t, next, list, list) {
		if (t->task)
			put_task_struct(t->task);
		put_pid(t->pid);
		kfree(t);
	}
}

/* maple_threads_free - Context: nobody holds the session any more */
void maple_threads_free(struct maple_session *s)
{
	free_list(&s->records);
	free_list(&s->spare);
}
