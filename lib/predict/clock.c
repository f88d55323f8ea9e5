// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Happens-before over everything but locks (algorithms.md 3): vector clocks
 * by thread. Locks are left out on purpose: their order changes from run to
 * run, which is what prediction is about.
 *
 * An edge is drawn only where the program forces it. A wait that returned
 * without any signal recorded for it (timeout, spurious, cancelled, signalled
 * by somebody we do not see) draws none. Where several signals could have
 * woken a waiter, the oldest is taken, for that waiter alone.
 *
 * A semaphore's posts are taken in the order in which they came; what was
 * there from the start (a TAKE without a POST) draws no edge.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "table.h"

/* Beyond this many objects at a time the rest draws no edges. */
#define SYNCS_MAX   65536
/* Kept per object until somebody took them; the oldest are looked at first. */
#define SIGNALS_MAX 1024

enum sync_type { SYNC_COND, SYNC_BARRIER, SYNC_SEMAPHORE, SYNC_ONCE };

struct signal {
	struct signal *next;
	uint64_t id;
	struct maple_epoch *epoch; /* what the signaller had done */
};

struct waiter {
	struct waiter *next;
	uint32_t thread;
	uint64_t since;                /* signals up to here are too old */
	uint64_t until;                /* ... and from the broadcast on, void */
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
	struct maple_vector phase[2]; /* BARRIER: alternate; ONCE: the first */
	uint32_t generation;          /* BARRIER: which phase now */
	bool leaving;                 /* BARRIER: somebody is out already */
	uint8_t entered[MAPLE_THREADS / 8]; /* BARRIER: parity of the phase */
};

void maple_clocks_init(struct maple_clocks *clocks,
		       struct maple_predict_stats *stats)
{
	memset(clocks, 0, sizeof(*clocks));
	clocks->stats = stats;
}

void maple_epoch_put(struct maple_epoch *epoch)
{
	if (epoch && !--epoch->refs)
		free(epoch);
}

static int vector_size(struct maple_vector *v, uint32_t n)
{
	uint32_t *more;

	if (n <= v->n)
		return 0;
	n = (n + 7) & ~7u;
	more = realloc(v->c, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + v->n, 0, (n - v->n) * sizeof(*more));
	v->c = more;
	v->n = n;
	return 0;
}

/* Joins @c into @v; whether that changed anything goes to *@changed. */
static int vector_join(struct maple_vector *v, const uint32_t *c, uint32_t n,
		       bool *changed)
{
	while (n && !c[n - 1])
		n--;
	if (vector_size(v, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (c[i] > v->c[i]) {
			v->c[i] = c[i];
			*changed = true;
		}
	return 0;
}

static void changed(struct maple_clock *clock)
{
	maple_epoch_put(clock->epoch);
	clock->epoch = NULL;
}

static struct maple_clock *clock_of(struct maple_clocks *clocks,
				    uint32_t thread)
{
	struct maple_clock *clock = clocks->thread[thread];

	if (clock)
		return clock;
	clock = calloc(1, sizeof(*clock));
	if (!clock || vector_size(&clock->now, thread + 1)) {
		free(clock);
		return NULL;
	}
	clock->now.c[thread] = 1;
	clocks->thread[thread] = clock;
	if (thread >= clocks->nthreads)
		clocks->nthreads = thread + 1;
	return clock;
}

/*
 * maple_clocks_epoch - the epoch @thread is in; a reference of the caller's
 *                      own, NULL without memory
 */
struct maple_epoch *maple_clocks_epoch(struct maple_clocks *clocks,
				       uint32_t thread)
{
	struct maple_clock *clock = clock_of(clocks, thread);
	struct maple_epoch *epoch;
	uint32_t n;

	if (!clock)
		return NULL;
	clock->started = true;
	if (!clock->epoch) {
		n = clock->now.n;
		while (n > thread + 1 && !clock->now.c[n - 1])
			n--;
		epoch = malloc(sizeof(*epoch) + n * sizeof(epoch->c[0]));
		if (!epoch)
			return NULL;
		epoch->refs = 1;
		epoch->thread = thread;
		epoch->own = clock->now.c[thread];
		epoch->serial = ++clock->serial;
		epoch->n = n;
		memcpy(epoch->c, clock->now.c, n * sizeof(epoch->c[0]));
		clock->epoch = epoch;
	}
	return maple_epoch_get(clock->epoch);
}

/*
 * maple_clocks_passed - whether all that any other live thread will ever do
 *                       comes after @epoch
 */
bool maple_clocks_passed(const struct maple_clocks *clocks,
			 const struct maple_epoch *epoch)
{
	for (uint32_t i = 0; i < clocks->nthreads; i++) {
		const struct maple_clock *clock = clocks->thread[i];

		if (!clock || i == epoch->thread || clock->exited)
			continue;
		if (epoch->thread >= clock->now.n ||
		    clock->now.c[epoch->thread] < epoch->own)
			return false;
	}
	return true;
}

static int join_vector(struct maple_clock *clock, const uint32_t *c,
		       uint32_t n)
{
	bool more = false;
	int ret = vector_join(&clock->now, c, n, &more);

	if (more)
		changed(clock);
	return ret;
}

/* What the thread did so far has become visible to others. */
static void step(struct maple_clock *clock, uint32_t thread)
{
	clock->now.c[thread]++;
	changed(clock);
}

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

	*at = signal->next;
	if (!*at)
		sync->last = at;
	sync->nsignals--;
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
	step(clock, thread);
	return ret;
}

static int cond_broadcast(struct maple_clocks *clocks,
			  struct maple_sync *sync, struct maple_clock *clock,
			  uint32_t thread)
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
		step(clock, thread);
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
		ret = join_vector(clock, (*s)->epoch->c, (*s)->epoch->n);
		drop_signal(sync, s);
	} else if (w->broadcast) {
		ret = join_vector(clock, w->broadcast->c, w->broadcast->n);
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
	sync->entered[thread / 8] &= (uint8_t)~(1u << thread % 8);
	sync->entered[thread / 8] |=
		(uint8_t)((sync->generation & 1) << thread % 8);
	return vector_join(phase, clock->now.c, clock->now.n, &more);
}

static int barrier_out(struct maple_sync *sync, struct maple_clock *clock,
		       uint32_t thread)
{
	unsigned int which = sync->entered[thread / 8] >> thread % 8 & 1;
	int ret = join_vector(clock, sync->phase[which].c,
			      sync->phase[which].n);

	if (which == (sync->generation & 1))
		sync->leaving = true;
	step(clock, thread);
	return ret;
}

static int semaphore_take(struct maple_sync *sync, struct maple_clock *clock)
{
	int ret;

	if (!sync->first)
		return 0;
	ret = join_vector(clock, sync->first->epoch->c,
			  sync->first->epoch->n);
	drop_signal(sync, &sync->first);
	return ret;
}

static int create(struct maple_clocks *clocks, struct maple_clock *parent,
		  const struct maple_event *event)
{
	struct maple_clock *child;
	int ret;

	if (event->aux >= MAPLE_THREADS || event->aux == event->thread) {
		clocks->stats->bad_events++;
		return 0;
	}
	child = clock_of(clocks, event->aux);
	if (!child)
		return -ENOMEM;
	ret = join_vector(child, parent->now.c, parent->now.n);
	step(parent, event->thread);
	return ret;
}

static int join(struct maple_clocks *clocks, struct maple_clock *clock,
		const struct maple_event *event)
{
	const struct maple_clock *child;

	if (event->aux >= MAPLE_THREADS || !clocks->thread[event->aux]) {
		clocks->stats->bad_events++;
		return 0;
	}
	child = clocks->thread[event->aux];
	return join_vector(clock, child->now.c, child->now.n);
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
		return join_vector(clock, sync->phase[0].c, sync->phase[0].n);
	case MAPLE_EV_SIGNAL:
		return cond_signal(clocks, sync, clock, thread);
	case MAPLE_EV_BROADCAST:
		return cond_broadcast(clocks, sync, clock, thread);
	case MAPLE_EV_POST:
		ret = add_signal(clocks, sync, thread);
		break;
	case MAPLE_EV_ONCE:
		ret = vector_join(&sync->phase[0], clock->now.c,
				  clock->now.n, &more);
		break;
	}
	step(clock, thread);
	return ret;
}

/*
 * maple_clocks_event - draws the edges of one event; ignores what makes none
 *
 * Returns 0 or -ENOMEM.
 */
int maple_clocks_event(struct maple_clocks *clocks,
		       const struct maple_event *event)
{
	struct maple_clock *clock = clock_of(clocks, event->thread);

	if (!clock)
		return -ENOMEM;
	clock->started = true;
	switch (event->kind) {
	case MAPLE_EV_CREATE:
		return create(clocks, clock, event);
	case MAPLE_EV_JOIN:
		return join(clocks, clock, event);
	case MAPLE_EV_EXIT:
		clock->exited = true;
		return 0;
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
	default:
		return 0;
	}
}

void maple_clocks_deinit(struct maple_clocks *clocks)
{
	struct maple_sync *sync, *next;

	HASH_ITER(hh, clocks->syncs, sync, next) {
		HASH_DELETE(hh, clocks->syncs, sync);
		while (sync->first)
			drop_signal(sync, &sync->first);
		while (sync->waiters)
			drop_waiter(&sync->waiters);
		free(sync->phase[0].c);
		free(sync->phase[1].c);
		free(sync);
	}
	for (uint32_t i = 0; i < clocks->nthreads; i++) {
		if (!clocks->thread[i])
			continue;
		maple_epoch_put(clocks->thread[i]->epoch);
		free(clocks->thread[i]->now.c);
		free(clocks->thread[i]);
	}
}
