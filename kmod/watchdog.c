// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog: one kernel thread per session, on any CPU but the target's
 * where there is another one, above every thread of a target. It looks every
 * few milliseconds, by a high-resolution timer, for
 *	spinners (algorithms.md 7, rule 10): a thread that has used 10 ms of
 *	CPU without an event, while another one could run below it, goes below
 *	every one of them for a slice; and below means out of SCHED_FIFO,
 *	where even a thread held at MIN comes first;
 *	a session whose target has ended, that has outlived its deadline, or
 *	whose CPU starves: a small work for an ordinary kernel thread of that
 *	CPU has not come back. While real-time throttling is on it always does.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>
#include "kmod.h"
#include "rights.h"

#define LOOK_EVERY    (MAPLE_SLOW * 4 * NSEC_PER_MSEC)
#define CANARY_EVERY  msecs_to_jiffies(500)
#define PRIO_WATCHDOG 99

/* Runnable, not only running: also one that has not run yet. */
static bool other_ready(struct maple_session *s, const struct maple_thread *self)
{
	bool ready = false;
	u32 i;

	raw_spin_lock(&s->threads_lock);
	for (i = 0; i < s->nthreads && !ready; i++) {
		struct maple_thread *t = s->thread[i];

		ready = t != self && t->task && t->alive &&
			task_is_running(t->task);
	}
	raw_spin_unlock(&s->threads_lock);
	return ready;
}

static unsigned long spin_ms(void)
{
	return MAPLE_SLOW * (unsigned long)READ_ONCE(maple_spin_ms);
}

static void look_at(struct maple_thread *t)
{
	struct maple_session *s = t->session;
	u64 cpu, events = READ_ONCE(t->events);
	struct task_struct *task;
	bool running;

	lockdep_assert_held(&s->lock);
	task = maple_thread_task(t);
	if (!task)
		return;
	cpu = maple_task_cpu(task);
	running = task_is_running(task);
	put_task_struct(task);
	if (t->demoted) {
		if (time_before(jiffies, t->spin_until))
			return;
		maple_turn_spins(t, false);
	}
	if (events != t->spin_events || !t->spin_cpu) {
		t->spin_events = events;
		t->spin_cpu = cpu;
		return;
	}
	if (!running || !t->prio ||
	    cpu - t->spin_cpu < spin_ms() * NSEC_PER_MSEC || !other_ready(s, t))
		return;
	maple_count(s, spins);
	t->spin_cpu = 0;
	t->spin_until = jiffies + msecs_to_jiffies(spin_ms()) + 1;
	maple_turn_spins(t, true);
}

static void look_at_threads(struct maple_session *s)
{
	bool kept;
	u32 i;

	for (i = 0; i < smp_load_acquire(&s->nthreads); i++) {
		raw_spin_lock(&s->threads_lock);
		kept = maple_rights_look(s->thread[i]);
		raw_spin_unlock(&s->threads_lock);
		if (!kept)
			return;
		raw_spin_lock(&s->lock);
		if (!READ_ONCE(s->native) && s->thread[i]->born_done &&
		    READ_ONCE(s->thread[i]->alive))
			look_at(s->thread[i]);
		raw_spin_unlock(&s->lock);
		if (READ_ONCE(s->thread[i]->alive))
			maple_task_keep(s->thread[i]);
	}
}

static void canary_back(struct work_struct *work)
{
	struct maple_session *s =
		container_of(work, struct maple_session, canary);

	WRITE_ONCE(s->canary_at, 0);
}

static bool starves(struct maple_session *s)
{
	unsigned long at = READ_ONCE(s->canary_at);

	if (s->cpu < 0 || !maple_starve_ms)
		return false;
	if (at)
		return time_after(jiffies,
				  at + msecs_to_jiffies(maple_starve_ms));
	if (time_after(jiffies, s->looked + CANARY_EVERY)) {
		s->looked = jiffies;
		WRITE_ONCE(s->canary_at, jiffies ?: 1);
		schedule_work_on(s->cpu, &s->canary);
	}
	return false;
}

static void look(struct maple_session *s)
{
	u32 asked;

	if (!READ_ONCE(s->native))
		look_at_threads(s);
	asked = READ_ONCE(s->asked);
	if (READ_ONCE(s->native)) {
		if (asked)
			maple_session_end(s, asked);
		return;
	}
	if (asked)
		maple_session_end(s, asked);
	else if (time_after(jiffies, s->deadline))
		maple_session_end(s, MAPLE_SESSION_DEADLINE);
	else if (starves(s))
		maple_session_end(s, MAPLE_SESSION_STARVED);
}

static int watchdog(void *data)
{
	struct maple_session *s = data;
	ktime_t every = ns_to_ktime(LOOK_EVERY);

	while (!kthread_should_stop()) {
		look(s);
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule_hrtimeout(&every, HRTIMER_MODE_REL);
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

int maple_watchdog_start(struct maple_session *s)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = PRIO_WATCHDOG,
	};
	cpumask_var_t others;

	INIT_WORK(&s->canary, canary_back);
	s->looked = jiffies;
	s->watchdog = kthread_create(watchdog, s, "maple/%d", s->tgid);
	if (IS_ERR(s->watchdog)) {
		int err = PTR_ERR(s->watchdog);

		s->watchdog = NULL;
		return err;
	}
	sched_setattr_nocheck(s->watchdog, &attr);
	if (zalloc_cpumask_var(&others, GFP_KERNEL)) {
		cpumask_copy(others, cpu_online_mask);
		if (s->cpu >= 0)
			cpumask_clear_cpu(s->cpu, others);
		if (!cpumask_empty(others))
			set_cpus_allowed_ptr(s->watchdog, others);
		free_cpumask_var(others);
	}
	wake_up_process(s->watchdog);
	return 0;
}

/* maple_watchdog_stop - Context: not the watchdog itself */
void maple_watchdog_stop(struct maple_session *s)
{
	if (s->watchdog)
		kthread_stop(s->watchdog);
	s->watchdog = NULL;
}
