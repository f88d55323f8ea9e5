// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks: their policy, priority and affinity, before, during and after; what
 * CPU time they have used, and how the waits end that they are in.
 *
 * Real-time priorities are set with RESET_ON_FORK, so that no process that
 * the target starts inherits one, whatever becomes of the session.
 */
#include <linux/cgroup.h>
#include <linux/prandom.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <uapi/linux/sched/types.h>
#include "kmod.h"

#define NICES 38 /* -20 to 17; 18 and 19 are below all of them */

/* The bit does not change under the lock; those beside it may. */
static bool resets_on_fork(const struct task_struct *task)
{
	lockdep_assert_held(&task->pi_lock);
	return data_race(!!task->sched_reset_on_fork);
}

/*
 * maple_task_may_run - whether @task would get any CPU time as a real-time one:
 * with RT_GROUP_SCHED, none in a group without rt_runtime, as new ones are;
 * the kernel refuses to put it there, but not who does not ask (_nocheck)
 *
 * The group's own file says what it has: all else is the scheduler's own.
 */
bool maple_task_may_run(struct task_struct *task)
{
	bool may = true;
#ifdef CONFIG_RT_GROUP_SCHED
	struct cgroup_subsys_state *group;
	struct cftype *files, *file;

	rcu_read_lock();
	group = task_css(task, cpu_cgrp_id);
	list_for_each_entry(files, &group->ss->cfts, node)
		for (file = files; file->name[0]; file++)
			if (!strcmp(file->name, "rt_runtime_us"))
				may = file->read_s64(group, file);
	rcu_read_unlock();
#endif
	return may;
}

/*
 * maple_task_prio - the real-time priority of a level of the automaton: where
 * top_prio leaves less room than there are levels, some of the threads that no
 * plan is about share theirs
 */
unsigned int maple_task_prio(unsigned int level)
{
	const unsigned int first = MAPLE_PRIO_NORM_FIRST;
	const unsigned int last = MAPLE_PRIO_NORM_LAST;
	const unsigned int room =
		maple_top_prio - (MAPLE_PRIO_HOOK - last) - first;

	if (level < first)
		return level;
	if (level > last)
		return maple_top_prio - (MAPLE_PRIO_HOOK - level);
	return first + (level - first) * room / (last - first);
}

/* maple_native_save - how @task is scheduled now */
void maple_native_save(struct maple_native *native, struct task_struct *task)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	native->policy = task->policy;
	native->priority = task->rt_priority;
	native->nice = task_nice(task);
	native->reset_on_fork = resets_on_fork(task);
	cpumask_copy(&native->cpus, &task->cpus_mask);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
	native->known = true;
}

/* maple_native_inherit - what a child of @from would natively have got */
void maple_native_inherit(struct maple_native *to,
			  const struct maple_native *from)
{
	*to = *from;
	if (!from->reset_on_fork)
		return;
	to->reset_on_fork = false;
	if (from->policy == SCHED_FIFO || from->policy == SCHED_RR ||
	    from->policy == SCHED_DEADLINE) {
		to->policy = SCHED_NORMAL;
		to->priority = 0;
	}
	if (to->nice < 0 || from->policy != to->policy)
		to->nice = 0;
}

/* Its policy; nobody's is changed who has SCHED_DEADLINE. */
static void restore_policy(const struct maple_native *native,
			   struct task_struct *task)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = native->policy,
		.sched_flags = native->reset_on_fork ? SCHED_FLAG_RESET_ON_FORK
						     : 0,
		.sched_nice = native->nice,
		.sched_priority = native->priority,
	};

	if (native->policy == SCHED_DEADLINE)
		return;
	/* It is no attribute of real-time policies and SCHED_IDLE. */
	set_user_nice(task, native->nice);
	sched_setattr_nocheck(task, &attr);
}

/* maple_native_restore - Context: may sleep */
void maple_native_restore(const struct maple_native *native,
			  struct task_struct *task)
{
	if (!native->known)
		return;
	restore_policy(native, task);
	if (!cpumask_equal(&task->cpus_mask, &native->cpus))
		set_cpus_allowed_ptr(task, &native->cpus);
}

/*
 * maple_native_restore_new - as far as it goes without sleeping, for a @task
 * that has not run yet; its policy is native, by RESET_ON_FORK
 *
 * Context: atomic.
 */
void maple_native_restore_new(const struct maple_native *native,
			      struct task_struct *task)
{
	if (!native->known)
		return;
	set_user_nice(task, native->nice);
	/* To move it would be to wait until it has been moved. */
	if (cpumask_test_cpu(task_cpu(task), &native->cpus))
		set_cpus_allowed_ptr(task, &native->cpus);
}

/*
 * maple_task_wishes - what the program has changed itself becomes what it gets
 * back: all that is not as we have made it
 */
void maple_task_wishes(struct maple_thread *t, struct task_struct *task)
{
	struct maple_session *s = t->session;
	struct maple_native *n = &t->native;
	unsigned long flags;

	lockdep_assert_held(&s->lock);
	if (!n->known)
		return;
	raw_spin_lock_irqsave(&task->pi_lock, flags);
	if (s->sched == MAPLE_UAPI_PCTLARGE ||
	    (t->given &&
	     (task->policy != t->given_policy ||
	      task->rt_priority != t->given_prio || !resets_on_fork(task)))) {
		t->given = false;
		n->policy = task->policy;
		n->priority = task->rt_priority;
		n->reset_on_fork = resets_on_fork(task);
	}
	if (s->sched != MAPLE_UAPI_PCTLARGE)
		n->nice = task_nice(task);
	if (s->cpu >= 0 && !cpumask_equal(&task->cpus_mask, cpumask_of(s->cpu)))
		cpumask_copy(&n->cpus, &task->cpus_mask);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
}

/* A dead task refuses; that is no refusal to tell of. */
static void set_policy(struct maple_thread *t, struct task_struct *task,
		       int policy, unsigned int prio)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = policy,
		.sched_flags = SCHED_FLAG_RESET_ON_FORK,
		.sched_priority = prio,
		.sched_nice = task_nice(task),
	};

	lockdep_assert_held(&t->session->lock);
	if (READ_ONCE(task->policy) == policy &&
	    READ_ONCE(task->rt_priority) == prio)
		return;
	maple_task_wishes(t, task);
	if (READ_ONCE(task->policy) == SCHED_DEADLINE ||
	    (prio && !t->given && !maple_task_may_run(task)) ||
	    sched_setattr_nocheck(task, &attr)) {
		maple_count(t->session, refused);
		return;
	}
	maple_count(t->session, priorities);
	t->given = true;
	t->given_policy = policy;
	t->given_prio = prio;
}

static void set_prio(struct maple_thread *t, unsigned int prio)
{
	struct task_struct *task;

	if (READ_ONCE(t->session->native) || WARN_ON_ONCE(prio > 90))
		return;
	task = maple_thread_task(t);
	if (!task)
		return;
	set_policy(t, task, prio ? SCHED_FIFO : SCHED_NORMAL,
		   maple_task_prio(prio));
	put_task_struct(task);
}

static void set_nice(struct maple_thread *t, int nice)
{
	struct task_struct *task = maple_thread_task(t);

	if (!task)
		return;
	set_user_nice(task, nice);
	maple_count(t->session, priorities);
	put_task_struct(task);
}

/*
 * maple_task_level - from now on @t has @prio; the caller, too, loses the CPU
 * only when it gives the lock
 */
void maple_task_level(struct maple_thread *t, unsigned int prio)
{
	lockdep_assert_held(&t->session->lock);
	t->prio = prio;
	if (prio > MAPLE_PRIO_MIN) /* a spinner gets another chance */
		t->demoted = false;
	if (!t->demoted)
		set_prio(t, prio);
}

/* maple_task_hook - @t, the caller, is above all others until it settles */
void maple_task_hook(struct maple_thread *t)
{
	set_prio(t, MAPLE_PRIO_HOOK);
}

/* maple_task_settle - @t, the caller, takes the level that it should have */
void maple_task_settle(struct maple_thread *t)
{
	set_prio(t, t->demoted ? 0 : t->prio);
}

/*
 * maple_task_keep - what the program has changed itself is kept for later, and
 * does not count before that; true if maple_task_pin() is to see to its CPU
 *
 * Context: the watchdog.
 */
bool maple_task_keep(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct task_struct *task = maple_thread_task(t);
	bool strays = false;

	if (!task)
		return false;
	raw_spin_lock(&s->lock);
	if (!READ_ONCE(s->native)) {
		maple_task_wishes(t, task);
		if (t->born_done && t->prio &&
		    READ_ONCE(task->rt_priority) !=
			    maple_task_prio(MAPLE_PRIO_HOOK))
			maple_task_settle(t);
		strays = s->cpu >= 0 &&
			 !cpumask_equal(&task->cpus_mask, cpumask_of(s->cpu));
	}
	raw_spin_unlock(&s->lock);
	put_task_struct(task);
	return strays;
}

/*
 * maple_task_take - @task, which is @t, to the session's CPU; what the program
 * has made of its affinity until now is what it gets back
 *
 * Context: may sleep.
 */
int maple_task_take(struct maple_thread *t, struct task_struct *task)
{
	struct maple_session *s = t->session;

	raw_spin_lock(&s->lock);
	maple_task_wishes(t, task);
	raw_spin_unlock(&s->lock);
	return set_cpus_allowed_ptr(task, cpumask_of(s->cpu));
}

/* maple_task_pin - back to the session's CPU; Context: may sleep */
void maple_task_pin(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	struct task_struct *task = maple_thread_task(t);

	if (!task)
		return;
	mutex_lock(&s->end_lock);
	if (!READ_ONCE(s->native) && s->cpu >= 0 &&
	    !cpumask_equal(&task->cpus_mask, cpumask_of(s->cpu)))
		maple_task_take(t, task);
	mutex_unlock(&s->end_lock);
	put_task_struct(task);
}

/*
 * maple_task_loose - what we gave @t is taken from it, as far as that goes
 * without sleeping; the rest is still due
 */
void maple_task_loose(struct maple_thread *t)
{
	struct task_struct *task;

	lockdep_assert_held(&t->session->lock);
	task = maple_thread_task(t);
	if (!task)
		return;
	maple_task_wishes(t, task);
	if (t->native.known && t->given)
		restore_policy(&t->native, task);
	put_task_struct(task);
}

/* maple_task_demote - @t goes below everyone, or back to where it was */
void maple_task_demote(struct maple_thread *t, bool demote)
{
	lockdep_assert_held(&t->session->lock);
	t->demoted = demote;
	set_prio(t, demote ? 0 : t->prio);
}

/*
 * maple_tasks_draw - the order of PCT's levels, or of its nice values
 *
 * Levels repeat only after all were given. CHANGES are left free below them.
 */
void maple_tasks_draw(struct maple_session *s, u64 seed, u32 changes)
{
	struct rnd_state random;
	unsigned int i, j;

	s->lowest = max(changes + 1, (u32)MAPLE_PRIO_NORM_FIRST);
	s->nlevels = s->sched == MAPLE_UAPI_PCTLARGE
			     ? NICES
			     : MAPLE_PRIO_NORM_LAST - s->lowest + 1;
	prandom_seed_state(&random, seed);
	for (i = 0; i < s->nlevels; i++) {
		j = prandom_u32_state(&random) % (i + 1);
		s->level[i] = s->level[j];
		s->level[j] = i;
	}
}

/* maple_task_begin - the priority that @t begins with, where no plan says so */
void maple_task_begin(struct maple_thread *t)
{
	const struct maple_session *s = t->session;
	unsigned int n = min_t(unsigned int, t->number, MAPLE_LEVELS - 1);
	unsigned int drawn = s->level[t->number % s->nlevels];

	switch (s->sched) {
	case MAPLE_UAPI_OLDER:
		maple_task_level(t, MAPLE_PRIO_NORM_LAST - n);
		break;
	case MAPLE_UAPI_YOUNGER:
		maple_task_level(t, MAPLE_PRIO_NORM_FIRST + n);
		break;
	case MAPLE_UAPI_PCT:
		maple_task_level(t, s->lowest + drawn);
		break;
	case MAPLE_UAPI_PCTLARGE:
		set_nice(t, MIN_NICE + (int)drawn);
		break;
	}
}

/* maple_task_cpu - CPU time in ns; not newer than the last tick or switch */
u64 maple_task_cpu(const struct task_struct *task)
{
	return READ_ONCE(task->se.sum_exec_runtime);
}

/* Of a thread that shares the caller's memory; what is not in core, is not. */
static int time_peek(u64 at, struct maple_wait_time *time)
{
	return !copy_from_user_nofault(time, u64_to_user_ptr(at), sizeof(*time));
}

static void time_now(int clock, struct maple_wait_time *time)
{
	struct timespec64 now;

	if (clock == CLOCK_REALTIME)
		ktime_get_real_ts64(&now);
	else
		ktime_get_ts64(&now);
	time->sec = now.tv_sec;
	time->nsec = now.tv_nsec;
}

/* Of a process that the target started, times cannot be read. */
static int no_peek(u64 at, struct maple_wait_time *time)
{
	return 0;
}

static enum maple_wait_end task_ends(struct task_struct *task, u32 slice_ms)
{
	const struct maple_wait_view view = {
		.slice_ms = slice_ms,
		.peek = task->mm == current->mm ? time_peek : no_peek,
		.now = time_now,
	};
	const struct pt_regs *regs = task_pt_regs(task);
	struct maple_wait_call call;

	if (!READ_ONCE(task->__state))
		return MAPLE_ENDS_NEVER;
	call.nr = (long)READ_ONCE(regs->orig_ax);
	call.arg[0] = READ_ONCE(regs->di);
	call.arg[1] = READ_ONCE(regs->si);
	call.arg[2] = READ_ONCE(regs->dx);
	call.arg[3] = READ_ONCE(regs->r10);
	return maple_wait_ends(&call, &view);
}

/*
 * maple_task_waits - the waits that other threads than @self, the caller, are in
 *
 * A thread takes the lock on its way out, so that while we have it, the
 * stacks of those that are there stay.
 */
void maple_task_waits(struct maple_session *s, struct maple_thread *self,
		      struct maple_waits *waits)
{
	enum maple_wait_end end;
	u32 i;

	*waits = (struct maple_waits){ 0 };
	for (i = 0; i < smp_load_acquire(&s->nthreads); i++) {
		struct maple_thread *t = s->thread[i];

		raw_spin_lock(&s->threads_lock);
		end = t == self || !t->alive || !t->task || READ_ONCE(t->asleep)
			      ? MAPLE_ENDS_NEVER
			      : task_ends(t->task, s->plan->slice_ms);
		raw_spin_unlock(&s->threads_lock);
		maple_waits_add(waits, t->number, end);
	}
}

/* The kernel enters each system call with -ENOSYS for its result. */
static bool is_cloning(const struct maple_thread *t)
{
	const struct pt_regs *regs;

	lockdep_assert_held(&t->session->threads_lock);
	/* Who ends makes none, and its stack goes. */
	if (!t->task || !t->alive || READ_ONCE(t->told_birth))
		return false;
	regs = task_pt_regs(t->task);
	if ((long)READ_ONCE(regs->ax) != -ENOSYS)
		return false;
	switch ((long)READ_ONCE(regs->orig_ax)) {
	case __NR_clone:
	case __NR_clone3:
	case __NR_fork:
	case __NR_vfork:
		return true;
	}
	return false;
}

/*
 * maple_task_clones - whether any thread may be on its way to a child that is
 * a copy of what it was some time ago, and has not told of it yet
 */
bool maple_task_clones(struct maple_session *s)
{
	bool clones = false;
	u32 i;

	for (i = 0; i < smp_load_acquire(&s->nthreads) && !clones; i++) {
		raw_spin_lock(&s->threads_lock);
		clones = is_cloning(s->thread[i]);
		raw_spin_unlock(&s->threads_lock);
	}
	return clones;
}
