// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who holds which lock at the end of a run, and since where: what a deadlock
 * is told from. Not a log but the state, so that a lock that was taken at the
 * very beginning is known however long the run was.
 *
 * UNLOCK is matched by thread: who releases a lock may be overtaken by the
 * next one's LOCK before that is recorded.
 */
#include <assert.h>
#include <stdlib.h>
#include "base/array.h"
#include "holding.h"

#define HELD_MAX  65536 /* at once; beyond them a lock's holder is not known */
#define LOCK_SIZE 56	/* of a pthread_rwlock_t, the largest */

static uint32_t find(const struct maple_holding *h, uint64_t lock,
		     uint16_t thread)
{
	uint32_t i;

	for (i = 0; i < h->n; i++)
		if (h->held[i].lock == lock && h->held[i].thread == thread)
			break;
	return i;
}

static void acquire(struct maple_holding *h, const struct maple_event *e)
{
	uint32_t i = find(h, e->addr, e->thread);

	if (i < h->n) {
		h->held[i].depth++;
		return;
	}
	if ((h->n == h->size && h->size >= HELD_MAX) ||
	    !maple_array_reserve(h->held, h->n, h->size))
		return;
	assert(h->n < h->size);
	h->held[h->n++] = (struct maple_held){ e->addr, e->site, e->thread, 1 };
}

static void release(struct maple_holding *h, const struct maple_event *e)
{
	uint32_t i = find(h, e->addr, e->thread);

	if (i == h->n)
		return;
	assert(h->held[i].depth); /* or it would not be there */
	if (--h->held[i].depth == 0)
		h->held[i] = h->held[--h->n];
}

static void forget(struct maple_holding *h, const struct maple_event *e)
{
	uint32_t i = 0;

	while (i < h->n)
		if (h->held[i].lock - e->addr < e->value)
			h->held[i] = h->held[--h->n];
		else
			i++;
}

/* maple_holding_event - takes the run's next event */
void maple_holding_event(struct maple_holding *h, const struct maple_event *e)
{
	if (e->thread >= MAPLE_THREADS)
		return;
	switch (e->kind) {
	case MAPLE_EV_LOCK:
		acquire(h, e);
		break;
	case MAPLE_EV_UNLOCK:
		release(h, e);
		break;
	case MAPLE_EV_FREE:
		forget(h, e);
		break;
	case MAPLE_EV_WAIT:
	case MAPLE_EV_BARRIER_IN:
		h->resting[e->thread] =
			(struct maple_resting){ e->addr, e->kind };
		break;
	case MAPLE_EV_WAKE:
	case MAPLE_EV_BARRIER_OUT:
		h->resting[e->thread].kind = 0;
		break;
	}
}

/*
 * maple_holding_find - who holds the lock that the word at @futex is part of
 * @but: somebody other than this thread, if there is one
 *
 * Returns NULL if nobody is known to.
 */
const struct maple_held *maple_holding_find(const struct maple_holding *h,
					    uint64_t futex, uint16_t but)
{
	const struct maple_held *best = NULL, *k;

	for (uint32_t i = 0; i < h->n; i++) {
		k = &h->held[i];
		if (futex - k->lock >= LOCK_SIZE)
			continue;
		/* The nearest one: smaller locks lie side by side. */
		if (!best || k->lock > best->lock ||
		    (k->lock == best->lock && best->thread == but))
			best = k;
	}
	return best;
}

void maple_holding_deinit(struct maple_holding *h)
{
	free(h->held);
	h->held = NULL;
	h->n = h->size = 0;
}
