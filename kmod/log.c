// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of a session: a ring that never waits. What finds no room is
 * counted, since to wait for the reader would distort the schedule.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include "kmod.h"

int maple_log_init(struct maple_log *log, u32 entries)
{
	raw_spin_lock_init(&log->lock);
	log->head = log->tail = 0;
	log->size = roundup_pow_of_two(clamp(entries, 16u, 1u << 20));
	log->entry = kvcalloc(log->size, sizeof(*log->entry), MAPLE_GFP);
	return log->entry ? 0 : -ENOMEM;
}

void maple_log_deinit(struct maple_log *log)
{
	kvfree(log->entry);
	log->entry = NULL;
}

/*
 * maple_log_put - false if there was no room
 * @clock: of the entry's thread, which goes on by one; NULL: @entry says it
 */
bool maple_log_put(struct maple_log *log, struct maple_log_entry *entry,
		   u32 *clock)
{
	bool room;

	raw_spin_lock(&log->lock);
	if (clock)
		entry->event.clock = ++*clock;
	room = log->head - log->tail < log->size;
	if (room)
		log->entry[log->head++ & (log->size - 1)] = *entry;
	raw_spin_unlock(&log->lock);
	return room;
}

/* maple_log_take - the oldest entries, @max at most, taken out */
u32 maple_log_take(struct maple_log *log, struct maple_log_entry *to, u32 max)
{
	u32 n = 0;

	while (n < max) {
		raw_spin_lock(&log->lock);
		if (log->head == log->tail) {
			raw_spin_unlock(&log->lock);
			break;
		}
		to[n++] = log->entry[log->tail++ & (log->size - 1)];
		raw_spin_unlock(&log->lock);
	}
	return n;
}

/*
 * maple_log_event - records one event of thread @t
 *
 * Context: any; who is not @t itself speaks for it, and that is no sign that
 * it gets on.
 */
void maple_log_event(struct maple_thread *t, unsigned int kind,
		     const struct maple_access *acc, u64 value,
		     unsigned int flags, u32 aux, u64 caller)
{
	struct maple_session *s = t->session;
	struct maple_log_entry e = {
		.event = {
			.site = MAPLE_SITE_NONE,
			.value = value,
			.thread = t->number,
			.kind = kind,
			.flags = flags,
			.aux = aux,
		},
		.caller = caller,
	};

	if (READ_ONCE(s->ended))
		return;
	if (acc) {
		e.event.addr = acc->addr;
		e.event.site = acc->site;
		e.event.size = min_t(u64, acc->size, U32_MAX);
	}
	if (READ_ONCE(t->task) == current) {
		e.event.sp = (u32)task_pt_regs(current)->sp;
		if (!t->stale)
			WRITE_ONCE(t->events, t->events + 1);
	}
	if (!maple_log_put(&s->log, &e, &t->clock))
		maple_count(s, lost);
}

/*
 * maple_log_exit - EXIT of @t, once, by whoever is first to see it
 *
 * Who joins a thread may run before that has come to its own last work.
 */
void maple_log_exit(struct maple_thread *t)
{
	if (!xchg(&t->exit_logged, true))
		maple_log_event(t, MAPLE_EV_EXIT, NULL, 0, 0, 0, 0);
}
