// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What one thread did because of another, as far as it can be told: orders
 * that the program makes itself, with a flag or a queue under a lock.
 * Happens-before leaves mutexes out (Maple, 3.3), so such an order looks open;
 * to reverse it, the program would have to read something else.
 *
 * A cause is a read, under a lock, of what another thread wrote under the same
 * lock: from then on the reader knows all that the writer had done and known.
 * Conditions, semaphores, barriers, thread creation and joining are causes as
 * well, if coarser ones than clock.c has: the latest signal is taken for the
 * one that woke. A read-modify-write is none, counting binds nobody.
 *
 *   Q  t   [ w ]                 t before f: f was done knowing of t
 *             \
 *   P         [ r ]   f          without a common lock
 *   P         [ r     f ]        f under r's lock: not before, the sections
 *                                themselves may come the other way round
 *
 * Memory of a pool is handed on: who takes it knows all that was done with it
 * before, since the list that it hangs on was written and read under a lock.
 * It goes round, so no two accesses are once and for all one before the other,
 * and what is above says nothing. So it is asked at each change of hands
 * whether the new one knew of the latest access of the old one. Where this was
 * so each time, and GOES_ROUND times at least, a pair of accesses without a
 * common lock is one use after another, and as the program makes the order.
 *
 * This is a hint, not a proof: what is read may not matter. Hence it decides
 * what is tried first, never what is predicted. So what is kept of it may be
 * coarse: writes in a cache of fixed size, by four bytes, of the first 64 of
 * each; locks as bits; knowledge of 65,536 times for each two threads, after
 * which nothing is learned (cut_causes).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "causes.h"
#include "predict/cells/location.h"

#define WRITES	   (1u << 15)
#define UNITS	   16		/* of four bytes, looked at per access */
#define LEARNED	   (1u << 16)	/* for each two threads */
#define GOES_ROUND 2		/* changes of hands: there, and on or back */
#define OPEN	   UINT32_MAX	/* the section has not ended */
#define EVERYTHING UINT32_MAX	/* of a thread: it is over */
#define SYNC_KEY   (1ull << 63) /* no data has such an address */

/* What a thread knows, and the end of the section in which it wrote it down. */
struct snapshot {
	uint32_t refs, n;
	uint32_t end; /* 0: not yet, or none */
	uint32_t c[];
};

/* Knew from its event @at on what the other did up to @upto. */
struct learned {
	uint32_t at;
	uint32_t until; /* end of the outermost section that it is from */
	uint32_t upto;
};

struct knowledge {
	uint32_t n, room;
	uint32_t nopen; /* of learned, whose section has not ended */
	struct learned *learned;
};

struct maple_cause_thread {
	uint32_t n; /* of both arrays */
	uint32_t *knows;
	struct knowledge *of;
	struct snapshot *snapshot; /* of knows; NULL: to be made */
	uint32_t nopen;		   /* of all */
};

struct maple_cause_write {
	uint64_t key, locks;
	struct snapshot *snapshot;
	uint32_t thread, clock;
};

static void put(struct snapshot *snapshot)
{
	assert(!snapshot || snapshot->refs);
	if (snapshot && !--snapshot->refs)
		free(snapshot);
}

static struct maple_cause_thread *thread_of(struct maple_causes *causes,
					    uint32_t number)
{
	struct maple_cause_thread **thread = &causes->thread[number];

	if (!*thread)
		*thread = calloc(1, sizeof(**thread));
	return *thread;
}

static bool grow(struct maple_cause_thread *t, uint32_t n)
{
	if (n <= t->n)
		return true;
	if (!maple_array_extend(t->knows, t->n, n) ||
	    !maple_array_extend(t->of, t->n, n))
		return false;
	t->n = n;
	return true;
}

/* A reference of the caller's own to what @t knows now. */
static struct snapshot *snapshot_of(struct maple_cause_thread *t)
{
	struct snapshot *s = t->snapshot;

	if (!s) {
		s = malloc(sizeof(*s) + t->n * sizeof(s->c[0]));
		if (!s)
			return NULL;
		s->refs = 1;
		s->n = t->n;
		s->end = 0;
		if (t->n)
			memcpy(s->c, t->knows, t->n * sizeof(s->c[0]));
		t->snapshot = s;
	}
	s->refs++;
	return s;
}

static void changed(struct maple_cause_thread *t)
{
	put(t->snapshot);
	t->snapshot = NULL;
}

static int note(struct maple_causes *causes, struct maple_cause_thread *t,
		struct knowledge *of, const struct learned *learned)
{
	if (of->n == LEARNED) {
		causes->stats->cut_causes++;
		return 0;
	}
	if (!maple_array_reserve(of->learned, of->n, of->room))
		return -ENOMEM;
	of->learned[of->n++] = *learned;
	t->nopen += learned->until == OPEN;
	of->nopen += learned->until == OPEN;
	return 0;
}

/* The thread of @event learns what @other did up to @upto. */
static int learn(struct maple_causes *causes, const struct maple_event *event,
		 uint32_t other, uint32_t upto, bool locked)
{
	struct maple_cause_thread *t = causes->thread[event->thread];
	struct learned learned = {
		.at = event->clock,
		.until = locked ? OPEN : event->clock,
		.upto = upto,
	};

	if (other == event->thread || !upto)
		return 0;
	if (!grow(t, other + 1))
		return -ENOMEM;
	if (t->knows[other] >= upto)
		return 0;
	assert(upto > t->knows[other]);
	t->knows[other] = upto;
	changed(t);
	return note(causes, t, &t->of[other], &learned);
}

static int learn_all(struct maple_causes *causes,
		     const struct maple_event *event,
		     const struct snapshot *snapshot, bool locked)
{
	int ret = 0;

	for (uint32_t i = 0; snapshot && i < snapshot->n && !ret; i++)
		ret = learn(causes, event, i, snapshot->c[i], locked);
	return ret;
}

static struct maple_cause_write *write_at(struct maple_causes *causes,
					  uint64_t key)
{
	return &causes->writes[(key * 0x9e3779b97f4a7c15u) >> 49];
}

static int leave(struct maple_causes *causes, const struct maple_event *event,
		 uint64_t key, uint64_t locks, bool locked)
{
	struct maple_cause_thread *t = thread_of(causes, event->thread);
	struct maple_cause_write *write;

	_Static_assert(WRITES == 1u << (64 - 49), "write_at() knows how many");
	if (!causes->writes)
		causes->writes = calloc(WRITES, sizeof(*causes->writes));
	if (!causes->writes || !t)
		return -ENOMEM;
	write = write_at(causes, key);
	put(write->snapshot);
	write->snapshot = snapshot_of(t);
	write->key = write->snapshot ? key : 0;
	write->locks = locks;
	write->thread = event->thread;
	write->clock = event->clock;
	if (!locked)
		changed(t); /* its end is not that of a section to come */
	return write->snapshot ? 0 : -ENOMEM;
}

static int follow(struct maple_causes *causes, const struct maple_event *event,
		  uint64_t key, uint64_t locks, bool locked)
{
	const struct maple_cause_write *write;
	uint32_t upto;
	int ret;

	if (!causes->writes)
		return 0;
	write = write_at(causes, key);
	if (write->key != key || !(write->locks & locks) ||
	    write->thread == event->thread)
		return 0;
	if (!thread_of(causes, event->thread))
		return -ENOMEM;
	/* The whole section came before, not only the write. */
	upto = write->snapshot->end > write->clock ? write->snapshot->end
						   : write->clock;
	ret = learn(causes, event, write->thread, upto, locked);
	return ret ? ret : learn_all(causes, event, write->snapshot, locked);
}

static uint64_t lock_bits(const struct maple_locks *locks)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < locks->nheld; i++)
		bits |= 1ull
			<< (locks->held[i].lock * 0x9e3779b97f4a7c15u >> 58);
	return bits;
}

/*
 * maple_causes_access - a read or write of memory
 * @locks: what the thread holds
 *
 * Returns 0 or -ENOMEM, as all of these.
 */
int maple_causes_access(struct maple_causes *causes,
			const struct maple_event *event,
			const struct maple_locks *locks)
{
	uint64_t bits, first = event->addr / 4, unit;
	int ret = 0;

	if (!locks->nheld || !event->size)
		return 0;
	bits = lock_bits(locks);
	for (unit = first; unit < first + UNITS && !ret; unit++) {
		if (unit > (event->addr + event->size - 1) / 4)
			break;
		if (event->kind == MAPLE_EV_READ)
			ret = follow(causes, event, unit + 1, bits, true);
		else
			ret = leave(causes, event, unit + 1, bits, true);
	}
	return ret;
}

/* maple_causes_release - the thread is about to release its last lock */
void maple_causes_release(struct maple_causes *causes,
			  const struct maple_event *event)
{
	struct maple_cause_thread *t = causes->thread[event->thread];
	struct knowledge *of;

	if (t && t->snapshot) {
		t->snapshot->end = event->clock;
		changed(t);
	}
	for (uint32_t i = 0; t && t->nopen && i < t->n; i++) {
		of = &t->of[i];
		/* What was learned by a wait in between is not open. */
		for (uint32_t j = of->n; of->nopen;) {
			assert(j && t->nopen);
			if (of->learned[--j].until != OPEN)
				continue;
			of->learned[j].until = event->clock;
			of->nopen--;
			t->nopen--;
		}
	}
	assert(!t || !t->nopen);
}

/* A child knows what its parent does; it has no clock of its own yet. */
static int create(struct maple_causes *causes, const struct maple_event *event)
{
	struct maple_cause_thread *parent = thread_of(causes, event->thread);
	struct maple_event born = { .thread = (uint16_t)event->aux };
	struct snapshot *snapshot;
	int ret;

	if (event->aux >= MAPLE_THREADS)
		return 0;
	snapshot = parent ? snapshot_of(parent) : NULL;
	if (!snapshot || !thread_of(causes, event->aux)) {
		put(snapshot);
		return -ENOMEM;
	}
	ret = learn(causes, &born, event->thread, event->clock, false);
	if (!ret)
		ret = learn_all(causes, &born, snapshot, false);
	put(snapshot);
	return ret;
}

static int join(struct maple_causes *causes, const struct maple_event *event)
{
	struct maple_cause_thread *child;
	struct snapshot *snapshot;
	int ret;

	if (event->aux >= MAPLE_THREADS || !causes->thread[event->aux])
		return 0;
	child = causes->thread[event->aux];
	snapshot = snapshot_of(child);
	if (!snapshot || !thread_of(causes, event->thread)) {
		put(snapshot);
		return -ENOMEM;
	}
	ret = learn(causes, event, event->aux, EVERYTHING, false);
	if (!ret)
		ret = learn_all(causes, event, snapshot, false);
	put(snapshot);
	return ret;
}

/* maple_causes_sync - any event that is neither an access nor a lock's */
int maple_causes_sync(struct maple_causes *causes,
		      const struct maple_event *event)
{
	uint64_t key = event->addr | SYNC_KEY;
	int ret = 0;

	switch (event->kind) {
	case MAPLE_EV_CREATE:
		return create(causes, event);
	case MAPLE_EV_JOIN:
		return join(causes, event);
	case MAPLE_EV_BARRIER_IN:
		/* Who comes last knows all, and tells all. */
		ret = follow(causes, event, key, 1, false);
		return ret ? ret : leave(causes, event, key, 1, false);
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_POST:
	case MAPLE_EV_ONCE:
		return leave(causes, event, key, 1, false);
	case MAPLE_EV_WAKE:
		if (event->flags & MAPLE_EVF_TIMEOUT)
			return 0;
		return follow(causes, event, key, 1, false);
	case MAPLE_EV_TAKE:
	case MAPLE_EV_ONCED:
	case MAPLE_EV_BARRIER_OUT:
		return follow(causes, event, key, 1, false);
	default:
		return 0;
	}
}

static bool known_by(const struct learned *learned, uint32_t clock,
		     bool exclusive)
{
	/* A read knows of what it reads. */
	return exclusive ? learned->until < clock : learned->at <= clock;
}

/*
 * maple_causes_upto - how far @thread, at its event @clock, knew what @other
 *                     does; 0: nothing
 * @exclusive: one lock is around what is asked for, so what the event's
 *             section itself learned does not count
 */
uint32_t maple_causes_upto(const struct maple_causes *causes, uint32_t thread,
			   uint32_t clock, uint32_t other, bool exclusive)
{
	const struct maple_cause_thread *t = causes->thread[thread];
	const struct learned *l;
	uint32_t low, high, mid, step = 1;

	if (!t || other >= t->n)
		return 0;
	l = t->of[other].learned;
	/* Mostly, what is asked for is not long ago. */
	low = high = t->of[other].n;
	while (low && !known_by(&l[low - 1], clock, exclusive)) {
		high = low - 1;
		low -= step < low ? step : low;
		step *= 2;
	}
	while (low < high) {
		mid = (low + high) / 2;
		if (known_by(&l[mid], clock, exclusive))
			low = mid + 1;
		else
			high = mid;
	}
	return low ? l[low - 1].upto : 0;
}

/*
 * maple_causes_before - whether all of @late was done knowing of all of @early
 * @exclusive: as for maple_causes_upto()
 */
bool maple_causes_before(const struct maple_causes *causes,
			 const struct maple_cause_span *early,
			 const struct maple_cause_span *late, bool exclusive)
{
	uint32_t upto = maple_causes_upto(causes, late->thread, late->first,
					  early->thread, exclusive);

	return upto && upto >= early->last;
}

/* maple_causes_owner - the thread of @event comes to what @hands are of */
void maple_causes_owner(const struct maple_causes *causes,
			struct maple_hands *hands,
			const struct maple_event *event)
{
	uint32_t upto;

	if (hands->clock && hands->thread != event->thread) {
		upto = maple_causes_upto(causes, event->thread, event->clock,
					 hands->thread, false);
		if (upto < hands->clock)
			hands->loose = true;
		else if (hands->handed < GOES_ROUND)
			hands->handed++;
	}
	hands->thread = event->thread;
	hands->clock = event->clock;
	hands->site = event->site;
}

/* maple_hands_round - whether it was handed on from one to the other */
bool maple_hands_round(const struct maple_hands *hands)
{
	return hands->handed >= GOES_ROUND && !hands->loose;
}

void maple_causes_deinit(struct maple_causes *causes)
{
	for (unsigned int i = 0; i < MAPLE_THREADS; i++) {
		struct maple_cause_thread *t = causes->thread[i];

		if (!t)
			continue;
		for (uint32_t j = 0; j < t->n; j++)
			free(t->of[j].learned);
		free(t->of);
		free(t->knows);
		put(t->snapshot);
		free(t);
	}
	for (unsigned int i = 0; causes->writes && i < WRITES; i++)
		put(causes->writes[i].snapshot);
	free(causes->writes);
}
