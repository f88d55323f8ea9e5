// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which iRoots the order of this run exposed (algorithms.md 4). It confirms
 * or refuses what the automaton claims, so what it says must be certain.
 *
 * Per cell: the last writer and, per thread, its last read since. A read
 * depends on the last writer, if it is its thread's first read since; a write
 * depends on every other thread's read since the last write, or, if there is
 * none by anybody, on the last writer. Of a mutex, LOCK and UNLOCK are its
 * writes, those of a rwlock's read side its reads.
 *
 * Doubt: a pending access is one that its thread was about to make when it
 * lost the CPU. It takes place somewhere between its record and its thread's
 * next event. So it is held back until then. If no other thread made a
 * conflicting access meanwhile, all places in between are the same. If one
 * did, nothing is said of either, and the cells begin anew: no last writer,
 * no reads.
 *
 * Waits: a signal is lost on who does not wait yet, so that an access comes
 * after another thread's wait has begun says nothing of what happens if it
 * comes before:
 *
 *   P   r ... [wait                  P   r ............ [wait, for ever
 *                    \                     \
 *   Q                 w signal       Q      w signal
 *
 * A dependency on what a thread did before the wait that it is in is none,
 * unless the wait's own mutex excludes the other order: both accesses are
 * under it, the first in the critical section that the wait ended. Semaphores,
 * barriers and joins remember, so there both orders come to the same.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "observer.h"

static bool overlap(const struct maple_event *event, uint64_t addr,
		    uint64_t size)
{
	return event->addr < addr + size && addr < event->addr + event->size;
}

/*
 * maple_observer_judge - what to do with a data access, before its cells are
 *                        looked at
 * @cut: bytes behind @event that are not
 */
enum maple_fate maple_observer_judge(struct maple_observer *observer,
				     const struct maple_event *event,
				     uint32_t cut)
{
	bool pending = event->flags & MAPLE_EVF_PENDING, unsure = false;

	for (uint32_t i = 0; i < observer->ndoubts; i++) {
		struct maple_doubt *doubt = &observer->doubts[i];

		/* Its thread goes on: maple_observer_settle() came first. */
		assert(doubt->event.thread != event->thread);
		if (((doubt->event.kind | event->kind) & MAPLE_EV_WRITE) &&
		    overlap(&doubt->event, event->addr, event->size)) {
			doubt->unsure = true;
			unsure = true;
		}
	}
	if (pending && !maple_array_reserve(observer->doubts, observer->ndoubts,
					    observer->room)) {
		observer->stats->no_memory++;
		pending = false;
		unsure = true;
	}
	if (pending)
		observer->doubts[observer->ndoubts++] = (struct maple_doubt){
			.event = *event,
			.cut = cut,
			.unsure = unsure,
		};
	else
		observer->stats->unsure += unsure;
	return pending ? MAPLE_HOLD : unsure ? MAPLE_SPOIL : MAPLE_APPLY;
}

/*
 * maple_observer_settle - @thread goes on: its pending access has happened
 *
 * Returns whether it had one; it is to be applied, or spoiled if unsure.
 */
bool maple_observer_settle(struct maple_observer *observer, uint32_t thread,
			   struct maple_doubt *settled)
{
	for (uint32_t i = 0; i < observer->ndoubts; i++) {
		if (observer->doubts[i].event.thread != thread)
			continue;
		*settled = observer->doubts[i];
		observer->doubts[i] = observer->doubts[--observer->ndoubts];
		observer->stats->unsure += settled->unsure;
		return true;
	}
	return false;
}

/*
 * maple_observer_forget - memory goes away; what is pending on it may come
 *                         before or, if the program is wrong, after that
 */
void maple_observer_forget(struct maple_observer *observer, uint64_t addr,
			   uint64_t size)
{
	for (uint32_t i = 0; i < observer->ndoubts; i++)
		if (overlap(&observer->doubts[i].event, addr, size))
			observer->doubts[i].unsure = true;
}

/*
 * maple_observer_release - a thread is about to release a mutex, and maybe to
 *                          wait
 * @locks: what it holds until then
 */
void maple_observer_release(struct maple_observer *observer,
			    const struct maple_event *event,
			    const struct maple_locks *locks)
{
	struct maple_sleeper *sleeper = &observer->sleeper[event->thread];

	sleeper->mutex = event->addr;
	sleeper->locked = maple_locks_holds(locks, event->addr, &sleeper->since);
}

/* maple_observer_sleep - a wait on a condition begins or has ended */
void maple_observer_sleep(struct maple_observer *observer,
			  const struct maple_event *event)
{
	struct maple_sleeper *sleeper = &observer->sleeper[event->thread];

	sleeper->asleep = event->kind == MAPLE_EV_WAIT;
	sleeper->until = event->clock;
}

/* Whether a wait that need not be there lies behind @from. */
static bool across_wait(const struct maple_observer *observer,
			const struct maple_seen *from)
{
	const struct maple_sleeper *sleeper = &observer->sleeper[from->thread];
	uint32_t since;

	if (!sleeper->asleep || !maple_event_is_memory(from->kind))
		return false;
	if ((int32_t)(from->clock - sleeper->until) > 0)
		return false; /* by a signal's handler */
	return !sleeper->locked ||
	       (int32_t)(from->clock - sleeper->since) < 0 ||
	       !maple_locks_holds(observer->locks, sleeper->mutex, &since);
}

static void depends(struct maple_observer *observer,
		    const struct maple_seen *from, const struct maple_seen *to)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_1,
		.e = { { from->site, from->kind }, { to->site, to->kind } },
	};

	if (from->kind == MAPLE_EV_LOCK || to->kind == MAPLE_EV_UNLOCK ||
	    (from->shared && to->shared))
		return;
	if (from->site == MAPLE_SITE_NONE || to->site == MAPLE_SITE_NONE ||
	    across_wait(observer, from))
		return;
	maple_iroots_observed(observer->iroots, &iroot);
	if (!observer->window)
		return;
	if (observer->nprecedents == MAPLE_PRECEDENTS) {
		observer->stats->cut_sequences++;
		return;
	}
	assert(from->kind != MAPLE_EV_UPDATE && to->kind != MAPLE_EV_UPDATE);
	observer->precedent[observer->nprecedents++] =
		(struct maple_precedent){ .from = *from, .kind = to->kind };
}

static bool valid_read(const struct maple_cell *cell,
		       const struct maple_visit *visit)
{
	return visit->read.kind && visit->read_at == cell->writes;
}

static void apply_read(struct maple_observer *observer, struct maple_cell *cell,
		       const struct maple_seen *seen)
{
	struct maple_visit *visit = &cell->visit[0];

	if (!valid_read(cell, visit) && cell->writer.kind &&
	    cell->writer.thread != seen->thread)
		depends(observer, &cell->writer, seen);
	visit->read = *seen;
	visit->read_at = cell->writes;
}

static void apply_write(struct maple_observer *observer,
			struct maple_cell *cell, const struct maple_seen *seen)
{
	bool read = false;

	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_visit *visit = &cell->visit[i];

		if (!valid_read(cell, visit))
			continue;
		read = true;
		if (visit->thread != seen->thread)
			depends(observer, &visit->read, seen);
	}
	if (!read && cell->writer.kind && cell->writer.thread != seen->thread)
		depends(observer, &cell->writer, seen);
	cell->writes++;
	cell->writer = *seen;
}

/*
 * The record of @event in its thread's window; 0: none. One that was pending
 * may come to cells that there was no room for when it was remembered, or
 * that had others' bounds: what @entry has is an older access's then.
 */
static uint64_t record_of(const struct maple_observer *observer,
			  const struct maple_entry *entry,
			  const struct maple_event *event)
{
	const struct maple_record *record;

	if (!(event->flags & MAPLE_EVF_PENDING) || !observer->window)
		return entry->record;
	record = maple_window_find(observer->window, event->thread,
				   entry->record);
	return record && record->clock == event->clock &&
			       record->site == event->site
		       ? entry->record
		       : 0;
}

/*
 * maple_observer_apply - @event, an access by the latest visit of @cell
 * @locks: what its thread holds
 */
void maple_observer_apply(struct maple_observer *observer,
			  struct maple_cell *cell,
			  const struct maple_event *event,
			  const struct maple_locks *locks)
{
	struct maple_seen seen = {
		.site = event->site,
		.thread = event->thread,
		.kind = event->kind,
		.clock = event->clock,
		.record = record_of(observer, cell->visit[0].entry, event),
	};

	assert(cell->visit[0].thread == event->thread);
	assert(cell->mutex != maple_event_is_memory(event->kind));
	observer->locks = locks;
	observer->nprecedents = 0;
	switch (event->kind) {
	case MAPLE_EV_READ:
		apply_read(observer, cell, &seen);
		break;
	case MAPLE_EV_UPDATE:
		seen.kind = MAPLE_EV_READ;
		apply_read(observer, cell, &seen);
		seen.kind = MAPLE_EV_WRITE;
		apply_write(observer, cell, &seen);
		break;
	case MAPLE_EV_WRITE:
		apply_write(observer, cell, &seen);
		break;
	default:
		seen.shared = event->flags & MAPLE_EVF_SHARED;
		if (seen.shared)
			apply_read(observer, cell, &seen);
		else
			apply_write(observer, cell, &seen);
	}
	if (observer->nprecedents)
		maple_observer_sequences(observer, &seen);
}

/* maple_observer_spoil - the order of accesses to @cell is not known */
void maple_observer_spoil(struct maple_cell *cell)
{
	cell->writer.kind = 0;
	cell->writes++;
}

void maple_observer_deinit(struct maple_observer *observer)
{
	free(observer->doubts);
}
