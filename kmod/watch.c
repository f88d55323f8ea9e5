// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware watchpoints, the net below the probes: between a step and the one
 * that depends on it, a write that no probe announced breaks the dependency,
 * and the automaton is told right after it. lib/agent/force/watch.c does the same.
 *
 * One perf event per thread. Armed from works only: in a probe's handler the
 * locks would be taken the wrong way round. Of the range, the largest aligned
 * part that a debug register holds is watched. Reads are not watched: the
 * trap does not tell them from writes. Writes by the kernel are not seen.
 *
 * An emulated machine (QEMU's TCG) never gets past an instruction that is
 * stepped over and hits a watchpoint, so the thread's own watch rests while
 * it does an access that it has announced; that needs no telling anyhow. Also
 * where the watch is armed, by another thread, while it stands there.
 */
#include <linux/hw_breakpoint.h>
#include "kmod.h"
#include "netlink/rights.h"

#define THREADS	 64   /* threads watched; later ones are not */
#define HITS_MAX 1000 /* of one run: then the net comes in */

/* The largest aligned part of [@at, @at + @size) that starts at @at. */
static u64 part_of(u64 at, u64 size)
{
	u64 n = 8;

	while (n > size || at % n)
		n /= 2;
	return n;
}

static bool announced(const struct maple_thread *t, u64 addr)
{
	unsigned int i, k;

	for (i = 0; i < t->nopen; i++)
		if (addr - t->open[i].acc.addr < t->open[i].acc.size)
			return true;
	for (i = 0; i < t->ncalls; i++)
		for (k = 0; k < MAPLE_ARGS; k++)
			if (addr - t->call[i].arg[k] < t->call[i].size[k])
				return true;
	return false;
}

static void watch_work(struct callback_head *work)
{
	struct maple_thread *t =
		container_of(work, struct maple_thread, watch_work);
	struct maple_session *s = t->session;
	u64 addr = t->watched, size;

	raw_spin_lock(&s->lock);
	size = addr == s->watch_addr ? s->watch_size : 0; /* or it is late */
	raw_spin_unlock(&s->lock);
	if (size && !(current->flags & PF_EXITING)) {
		maple_count(s, watch_told);
		maple_engine_written(t, addr, part_of(addr, size));
	}
	maple_work_done(t, MAPLE_WORK_WATCH);
}

/* Context: right after the write, interrupts off. */
static void on_write(struct perf_event *event, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	struct maple_thread *t = event->overflow_handler_context;

	if (t->task != current || !maple_rights_kept(t->session, current->mm))
		return;
	maple_count(t->session, watch_hits);
	if (announced(t, event->attr.bp_addr))
		return;
	t->watched = event->attr.bp_addr;
	maple_work_add(t, current, &t->watch_work, watch_work, MAPLE_WORK_WATCH);
}

static bool create(struct maple_thread *t, struct perf_event_attr *attr)
{
	struct task_struct *task = maple_thread_task(t);
	struct perf_event *event;

	if (!task)
		return true;
	event = register_user_hw_breakpoint(attr, on_write, t, task);
	put_task_struct(task);
	if (IS_ERR(event))
		return PTR_ERR(event) == -ESRCH;
	t->watch = event;
	return true;
}

static void arm(struct maple_thread *t, u64 addr, u64 size, u32 generation)
{
	struct maple_session *s = t->session;
	struct perf_event_attr attr;

	lockdep_assert_held(&s->watch_lock);
	if (t->watch_generation == generation && t->watch_on)
		return;
	if (t->watch && t->watch_on)
		perf_event_disable(t->watch);
	WRITE_ONCE(t->watch_at, addr);
	WRITE_ONCE(t->watch_size, part_of(addr, size));
	WRITE_ONCE(t->watch_on, true);
	/* What it begins from now on, it begins by maple_watch_step(). */
	if (data_race(announced(t, addr)))
		WRITE_ONCE(t->watch_off, true);
	hw_breakpoint_init(&attr);
	attr.bp_addr = addr;
	attr.bp_len = part_of(addr, size);
	attr.bp_type = HW_BREAKPOINT_W;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = t->watch_off;
	if (t->watch ? modify_user_hw_breakpoint(t->watch, &attr)
		     : !create(t, &attr)) {
		s->watch_refused = true;
		WRITE_ONCE(t->watch_on, false);
		return;
	}
	t->watch_generation = generation;
	maple_count(s, watches);
}

static void disarm(struct maple_thread *t)
{
	if (t->watch && t->watch_on)
		perf_event_disable(t->watch);
	WRITE_ONCE(t->watch_on, false);
}

/*
 * maple_watch_follow - watches what the automaton wants watched now
 *
 * Context: a work, or netlink; sleeps.
 */
void maple_watch_follow(struct maple_session *s)
{
	u64 addr, size;
	u32 i, generation;

	mutex_lock(&s->watch_lock);
	raw_spin_lock(&s->lock);
	addr = s->watch_addr;
	size = READ_ONCE(s->native) ? 0 : s->watch_size;
	generation = s->watch_generation;
	raw_spin_unlock(&s->lock);
	if (s->watch_refused ||
	    atomic64_read(
		    &s->counter[offsetof(struct maple_counters, watch_hits) /
				sizeof(u64)]) > HITS_MAX)
		size = 0;
	for (i = 0; i < smp_load_acquire(&s->nthreads) && i < THREADS; i++) {
		struct maple_thread *t = s->thread[i];

		if (size && READ_ONCE(t->alive))
			arm(t, addr, size, generation);
		else
			disarm(t);
	}
	mutex_unlock(&s->watch_lock);
}

/* maple_watch_concerns - whether @acc of @t touches what its watch is on */
bool maple_watch_concerns(const struct maple_thread *t,
			  const struct maple_access *acc)
{
	u64 addr = READ_ONCE(t->watch_at), size = READ_ONCE(t->watch_size);

	return READ_ONCE(t->watch_on) && addr < acc->addr + acc->size &&
	       acc->addr < addr + size;
}

/* maple_watch_step - @t, the caller, is about to do @acc, as announced */
void maple_watch_step(struct maple_thread *t, const struct maple_access *acc)
{
	struct maple_session *s = t->session;

	if (READ_ONCE(t->watch_off) || !maple_watch_concerns(t, acc))
		return;
	mutex_lock(&s->watch_lock);
	WRITE_ONCE(t->watch_off, true);
	if (t->watch && t->watch_on)
		perf_event_disable(t->watch);
	mutex_unlock(&s->watch_lock);
}

/* maple_watch_stepped - ... and has done it */
void maple_watch_stepped(struct maple_thread *t)
{
	mutex_lock(&t->session->watch_lock);
	WRITE_ONCE(t->watch_off, false);
	if (t->watch && t->watch_on)
		perf_event_enable(t->watch);
	mutex_unlock(&t->session->watch_lock);
}

/* maple_watch_drop - @t, the caller, ends */
void maple_watch_drop(struct maple_thread *t)
{
	mutex_lock(&t->session->watch_lock);
	if (t->watch)
		unregister_hw_breakpoint(t->watch);
	t->watch = NULL;
	WRITE_ONCE(t->watch_on, false);
	mutex_unlock(&t->session->watch_lock);
}

/* maple_watches_remove - Context: nobody arms any more */
void maple_watches_remove(struct maple_session *s)
{
	u32 i, n = smp_load_acquire(&s->nthreads);

	for (i = 0; i < n && i < THREADS; i++)
		maple_watch_drop(s->thread[i]);
}
