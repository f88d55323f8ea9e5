// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watchdog: one kernel thread for all sessions, on any CPU but their
 * targets' where there is another one, above every thread of a target. While
 * there are sessions it looks every few milliseconds, by a high-resolution
 * timer, for
 *	spinners (algorithms.md 7, rule 10): a thread that has used 10 ms of
 *	CPU without an event, while another one could run below it, goes below
 *	every one of them for a slice; and below means out of SCHED_FIFO,
 *	where even a thread held at MIN comes first;
 *	a session whose target has ended, that has outlived its deadline, or
 *	whose CPU starves: a small work for an ordinary kernel thread of that
 *	CPU has not come back. While real-time throttling is on it always does.
 *
 * It waits for nobody, or one session could keep it from the others. What it
 * cannot do without, it has a worker do, which is an ordinary thread; by then
 * everyone whom it could wait for is one as well.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>
#include "kmod.h"
#include "netlink/rights.h"

#define LOOK_EVERY    (MAPLE_SLOW * 4 * NSEC_PER_MSEC)
#define CANARY_EVERY  msecs_to_jiffies(500)
#define PRIO_WATCHDOG 99

static struct task_struct *watchdog;
static DEFINE_MUTEX(cpus_lock); /* where it may run */

/* Runnable, not only running: also one that has not run yet. */
static bool other_ready(struct maple_session *s, const struct maple_thread *self)
{
	bool ready = false;
	u32 i;

	for (i = 0; i < smp_load_acquire(&s->nthreads) && !ready; i++) {
		struct maple_thread *t = s->thread[i];

		raw_spin_lock(&s->threads_lock);
		ready = t != self && t->task && t->alive &&
			task_is_running(t->task);
		raw_spin_unlock(&s->threads_lock);
	}
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

/* ---- what may wait ---- */

static void chore(struct work_struct *work)
{
	struct maple_session *s =
		container_of(work, struct maple_session, chore);
	u32 i, due = xchg(&s->due, 0);

	if (due)
		maple_session_end(s, due);
	for (i = 0; !due && i < smp_load_acquire(&s->nthreads); i++)
		maple_task_pin(s->thread[i]);
	maple_session_put(s);
}

static void canary_back(struct work_struct *work)
{
	struct maple_session *s =
		container_of(work, struct maple_session, canary);

	WRITE_ONCE(s->canary_at, 0);
	maple_session_put(s);
}

/* The session is listed, so that its owner holds it, too. */
static void send_chore(struct maple_session *s)
{
	kref_get(&s->refs);
	if (!queue_work(maple_workers, &s->chore))
		maple_session_put(s);
}

static void end(struct maple_session *s, u32 state)
{
	maple_session_loose(s, state);
	WRITE_ONCE(s->due, state);
	send_chore(s);
}

/* ---- the look ---- */

static void look_at_threads(struct maple_session *s)
{
	bool kept, strays = false;
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
			strays |= maple_task_keep(s->thread[i]);
	}
	if (strays)
		send_chore(s);
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
		kref_get(&s->refs);
		if (!schedule_work_on(s->cpu, &s->canary))
			maple_session_put(s);
	}
	return false;
}

static void look(struct maple_session *s)
{
	u32 asked;

	if (!READ_ONCE(s->native))
		look_at_threads(s);
	asked = READ_ONCE(s->asked);
	if (asked)
		end(s, asked);
	else if (READ_ONCE(s->native))
		return;
	else if (time_after(jiffies, s->deadline))
		end(s, MAPLE_SESSION_DEADLINE);
	else if (starves(s))
		end(s, MAPLE_SESSION_STARVED);
}

/* What is listed stays as long as this lasts; see session_leave(). */
static void look_at_all(void)
{
	struct maple_session *s;

	rcu_read_lock();
	list_for_each_entry_rcu(s, &maple_sessions, list)
		if (smp_load_acquire(&s->watched))
			look(s);
	rcu_read_unlock();
}

static int watch(void *unused)
{
	ktime_t every = ns_to_ktime(LOOK_EVERY);

	while (!kthread_should_stop()) {
		look_at_all();
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			;
		else if (list_empty(&maple_sessions))
			schedule();
		else
			schedule_hrtimeout(&every, HRTIMER_MODE_REL);
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* Where no target is pinned; anywhere, if there is no such CPU. */
static void choose_cpus(void)
{
	struct maple_session *s;
	cpumask_var_t cpus;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return;
	mutex_lock(&cpus_lock);
	cpumask_copy(cpus, cpu_online_mask);
	rcu_read_lock();
	list_for_each_entry_rcu(s, &maple_sessions, list)
		if (READ_ONCE(s->watched) && s->cpu >= 0)
			cpumask_clear_cpu(s->cpu, cpus);
	rcu_read_unlock();
	if (cpumask_empty(cpus))
		cpumask_copy(cpus, cpu_online_mask);
	if (!cpumask_equal(cpus, &watchdog->cpus_mask))
		set_cpus_allowed_ptr(watchdog, cpus);
	mutex_unlock(&cpus_lock);
	free_cpumask_var(cpus);
}

/* maple_watchdog_start - @s, which is listed, is looked at from now on */
void maple_watchdog_start(struct maple_session *s)
{
	INIT_WORK(&s->chore, chore);
	INIT_WORK(&s->canary, canary_back);
	s->looked = jiffies;
	smp_store_release(&s->watched, true);
	choose_cpus();
	wake_up_process(watchdog);
}

/*
 * maple_watchdog_stop - it is not looked at any more, but for the look that may
 * be on its way, and its works; both can do no harm to a session that has
 * ended, and it stays until they are done
 */
void maple_watchdog_stop(struct maple_session *s)
{
	if (!READ_ONCE(s->watched))
		return;
	WRITE_ONCE(s->watched, false);
	choose_cpus();
}

int __init maple_watchdog_init(void)
{
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_FIFO,
		.sched_priority = PRIO_WATCHDOG,
	};

	watchdog = kthread_create(watch, NULL, "maple/watch");
	if (IS_ERR(watchdog))
		return PTR_ERR(watchdog);
	sched_setattr_nocheck(watchdog, &attr);
	wake_up_process(watchdog);
	return 0;
}

/* maple_watchdog_exit - Context: there is no session any more */
void maple_watchdog_exit(void)
{
	kthread_stop(watchdog);
}
