// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Happens-before through conditions, barriers, semaphores and once-controls.
 *
 * An edge is drawn only where the program forces it. A wait that returned
 * without any signal recorded for it (timeout, spurious, cancelled, signalled
 * by somebody we do not see) draws none. Where several signals could have
 * woken a waiter, the oldest is taken, for that waiter alone.
 *
 * A semaphore's posts are taken in the order in which they came; what was
 * there from the start (a TAKE without a POST) draws no edge.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "predict/store/table.h"

/* Beyond this many objects at a time the rest draws no edges. */
#define SYNCS_MAX 65536
/* Kept per object until somebody took them; the oldest are looked at first. */
#define SIGNALS_MAX 1024

enum sync_type {
	SYNC_COND,
	SYNC_BARRIER,
	SYNC_SEMAPHORE,
	SYNC_ONCE,
	SYNC_LOCK,
};

struct signal {
	struct signal *next;
	uint64_t id;
	struct maple_epoch *epoch; /* what the signaller had done */
};

struct waiter {
	struct waiter *next;
	uint32_t thread;
	uint64_t since;		       /* signals up to here are too old */
	uint64_t until;		       /* ... and from the broadcast on, void */
	struct maple_epoch *broadcast; /* NULL: none yet */
};

struct sync_key {
	uint64_t addr;
	uint64_t type;
};

struct maple_sync {
	struct sync_key key;
	UT_hash_handle hh;
	struct signal *first, **last; /* COND, SEMAPHORE: not used up yet */
	unsigned int nsignals;
	uint64_t ids;
	struct waiter *waiters; /* COND */
	/* BARRIER: alternate; ONCE: the first; LOCK: those who wrote, and read */
	struct maple_vector phase[2];
	uint32_t generation; /* BARRIER: which phase now */
	bool leaving;	     /* BARRIER: somebody is out already */
	uint8_t entered[MAPLE_THREADS / 8]; /* BARRIER: parity of the phase */
};

static struct maple_sync *sync_of(struct maple_clocks *clocks, uint64_t addr,
				  enum sync_type type)
{
	struct sync_key key = { addr, type };
	struct maple_sync *sync;

	HASH_FIND(hh, clocks->syncs, &key, sizeof(key), sync);
	if (sync)
		return sync;
	if (HASH_COUNT(clocks->syncs) >= SYNCS_MAX) {
		clocks->stats->cut_syncs++;
		return NULL;
	}
	sync = calloc(1, sizeof(*sync));
	if (!sync)
		goto no_memory;
	sync->key = key;
	sync->last = &sync->first;
	HASH_ADD(hh, clocks->syncs, key, sizeof(key), sync);
	if (sync->hh.tbl)
		return sync;
	free(sync);
no_memory:
	clocks->stats->no_memory++;
	return NULL;
}

static void drop_signal(struct maple_sync *sync, struct signal **at)
{
	struct signal *signal = *at;

	assert(sync->nsignals &&
	       (!signal->next) == (sync->last == &signal->next));
	*at = signal->next;
	if (!*at)
		sync->last = at;
	sync->nsignals--;
	assert(!sync->nsignals == !sync->first);
	maple_epoch_put(signal->epoch);
	free(signal);
}

static void drop_waiter(struct waiter **at)
{
	struct waiter *waiter = *at;

	*at = waiter->next;
	maple_epoch_put(waiter->broadcast);
	free(waiter);
}

static int add_signal(struct maple_clocks *clocks, struct maple_sync *sync,
		      uint32_t thread)
{
	struct signal *signal;

	if (sync->nsignals >= SIGNALS_MAX) {
		clocks->stats->cut_syncs++;
		return 0;
	}
	signal = malloc(sizeof(*signal));
	if (!signal)
		return -ENOMEM;
	signal->epoch = maple_clocks_epoch(clocks, thread);
	if (!signal->epoch) {
		free(signal);
		return -ENOMEM;
	}
	signal->next = NULL;
	signal->id = ++sync->ids;
	assert(!*sync->last);
	*sync->last = signal;
	sync->last = &signal->next;
	sync->nsignals++;
	return 0;
}

static struct waiter **waiter_of(struct maple_sync *sync, uint32_t thread)
{
	struct waiter **at = &sync->waiters;

	while (*at && (*at)->thread != thread)
		at = &(*at)->next;
	return at;
}

static int cond_wait(struct maple_sync *sync, uint32_t thread)
{
	struct waiter **at = waiter_of(sync, thread), *waiter;

	if (*at) /* cancelled in an earlier wait */
		drop_waiter(at);
	waiter = calloc(1, sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	waiter->thread = thread;
	waiter->since = sync->ids;
	waiter->until = UINT64_MAX;
	waiter->next = sync->waiters;
	sync->waiters = waiter;
	return 0;
}

/* A signal that nobody waits for wakes nobody and makes no epoch. */
static int cond_signal(struct maple_clocks *clocks, struct maple_sync *sync,
		       struct maple_clock *clock, uint32_t thread)
{
	int ret;

	if (!sync->waiters)
		return 0;
	ret = add_signal(clocks, sync, thread);
	maple_clock_step(clock, thread);
	return ret;
}

static int cond_broadcast(struct maple_clocks *clocks, struct maple_sync *sync,
			  struct maple_clock *clock, uint32_t thread)
{
	bool heard = false;

	for (struct waiter *w = sync->waiters; w; w = w->next) {
		if (w->broadcast)
			continue;
		w->broadcast = maple_clocks_epoch(clocks, thread);
		if (!w->broadcast)
			return -ENOMEM;
		w->until = sync->ids;
		heard = true;
	}
	if (heard)
		maple_clock_step(clock, thread);
	return 0;
}

/* Drops the signals that came before all who wait now. */
static void drop_stale(struct maple_sync *sync)
{
	uint64_t since = UINT64_MAX;

	for (const struct waiter *w = sync->waiters; w; w = w->next)
		if (w->since < since)
			since = w->since;
	while (sync->first && sync->first->id <= since)
		drop_signal(sync, &sync->first);
}

static int cond_wake(struct maple_sync *sync, struct maple_clock *clock,
		     const struct maple_event *event)
{
	struct waiter **at = waiter_of(sync, event->thread);
	struct waiter *w = *at;
	struct signal **s = &sync->first;
	int ret = 0;

	if (!w)
		return 0;
	while (*s && (*s)->id <= w->since)
		s = &(*s)->next;
	if (event->flags & MAPLE_EVF_TIMEOUT) {
		/* woken by nobody: the signals stay for the others */
	} else if (*s && (*s)->id <= w->until) {
		ret = maple_clock_join(clock, (*s)->epoch->c, (*s)->epoch->n);
		drop_signal(sync, s);
	} else if (w->broadcast) {
		ret = maple_clock_join(clock, w->broadcast->c, w->broadcast->n);
	}
	drop_waiter(at);
	drop_stale(sync);
	return ret;
}

/*
 * Phases overlap: a thread may enter the next one before others have left
 * this one. The first to leave closes the phase to those who enter.
 */
static int barrier_in(struct maple_sync *sync, struct maple_clock *clock,
		      uint32_t thread)
{
	struct maple_vector *phase;
	bool more;

	if (sync->leaving) {
		sync->leaving = false;
		sync->generation++;
		phase = &sync->phase[sync->generation & 1];
		if (phase->n)
			memset(phase->c, 0, phase->n * sizeof(phase->c[0]));
	}
	phase = &sync->phase[sync->generation & 1];
	sync->entered[thread / 8] &= (uint8_t) ~(1u << thread % 8);
	sync->entered[thread / 8] |=
		(uint8_t)((sync->generation & 1) << thread % 8);
	return maple_vector_join(phase, clock->now.c, clock->now.n, &more);
}

static int barrier_out(struct maple_sync *sync, struct maple_clock *clock,
		       uint32_t thread)
{
	unsigned int which = sync->entered[thread / 8] >> thread % 8 & 1;
	int ret = maple_clock_join(clock, sync->phase[which].c,
				   sync->phase[which].n);

	if (which == (sync->generation & 1))
		sync->leaving = true;
	maple_clock_step(clock, thread);
	return ret;
}

static int semaphore_take(struct maple_sync *sync, struct maple_clock *clock)
{
	int ret;

	if (!sync->first)
		return 0;
	ret = maple_clock_join(clock, sync->first->epoch->c,
			       sync->first->epoch->n);
	drop_signal(sync, &sync->first);
	return ret;
}

/* Readers are not ordered among each other. */
static int lock(struct maple_sync *sync, struct maple_clock *clock,
		const struct maple_event *event)
{
	unsigned int reads = event->flags & MAPLE_EVF_SHARED;
	int ret = maple_clock_join(clock, sync->phase[0].c, sync->phase[0].n);

	return ret || reads ? ret
			    : maple_clock_join(clock, sync->phase[1].c,
					       sync->phase[1].n);
}

static int sync_event(struct maple_clocks *clocks, struct maple_clock *clock,
		      const struct maple_event *event, enum sync_type type)
{
	struct maple_sync *sync = sync_of(clocks, event->addr, type);
	uint32_t thread = event->thread;
	bool more;
	int ret = 0;

	if (!sync)
		return 0;
	switch (event->kind) {
	case MAPLE_EV_WAIT:
		return cond_wait(sync, thread);
	case MAPLE_EV_WAKE:
		return cond_wake(sync, clock, event);
	case MAPLE_EV_BARRIER_IN:
		return barrier_in(sync, clock, thread);
	case MAPLE_EV_BARRIER_OUT:
		return barrier_out(sync, clock, thread);
	case MAPLE_EV_TAKE:
		return semaphore_take(sync, clock);
	case MAPLE_EV_ONCED:
		return maple_clock_join(clock, sync->phase[0].c,
					sync->phase[0].n);
	case MAPLE_EV_LOCK:
		return lock(sync, clock, event);
	case MAPLE_EV_SIGNAL:
		return cond_signal(clocks, sync, clock, thread);
	case MAPLE_EV_BROADCAST:
		return cond_broadcast(clocks, sync, clock, thread);
	case MAPLE_EV_POST:
		ret = add_signal(clocks, sync, thread);
		break;
	case MAPLE_EV_ONCE:
	case MAPLE_EV_UNLOCK:
		ret = maple_vector_join(
			&sync->phase[event->flags & MAPLE_EVF_SHARED],
			clock->now.c, clock->now.n, &more);
		break;
	}
	maple_clock_step(clock, thread);
	return ret;
}

/*
 * maple_syncs_event - draws the edges of one event through an object; ignores
 *                     what makes none
 * @clock: of the event's thread
 *
 * Returns 0 or -ENOMEM.
 */
int maple_syncs_event(struct maple_clocks *clocks, struct maple_clock *clock,
		      const struct maple_event *event)
{
	switch (event->kind) {
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
	case MAPLE_EV_WAKE:
		return sync_event(clocks, clock, event, SYNC_COND);
	case MAPLE_EV_BARRIER_IN:
	case MAPLE_EV_BARRIER_OUT:
		return sync_event(clocks, clock, event, SYNC_BARRIER);
	case MAPLE_EV_POST:
	case MAPLE_EV_TAKE:
		return sync_event(clocks, clock, event, SYNC_SEMAPHORE);
	case MAPLE_EV_ONCE:
	case MAPLE_EV_ONCED:
		return sync_event(clocks, clock, event, SYNC_ONCE);
	case MAPLE_EV_LOCK:
	case MAPLE_EV_UNLOCK:
		return clocks->locks
			       ? sync_event(clocks, clock, event, SYNC_LOCK)
			       : 0;
	default:
		return 0;
	}
}

void maple_syncs_deinit(struct maple_clocks *clocks)
{
	struct maple_sync *sync, *next;

	HASH_ITER (hh, clocks->syncs, sync, next) {
		HASH_DELETE(hh, clocks->syncs, sync);
		while (sync->first)
			drop_signal(sync, &sync->first);
		while (sync->waiters)
			drop_waiter(&sync->waiters);
		free(sync->phase[0].c);
		free(sync->phase[1].c);
		free(sync);
	}
}
