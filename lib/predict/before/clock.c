// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Happens-before over everything but locks (algorithms.md 3): vector clocks
 * by thread. Locks are left out on purpose: their order changes from run to
 * run, which is what prediction is about. Creating and joining threads is
 * here, objects that threads synchronise through are in sync.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "clock.h"

void maple_clocks_init(struct maple_clocks *clocks,
		       struct maple_predict_stats *stats)
{
	memset(clocks, 0, sizeof(*clocks));
	clocks->stats = stats;
}

static int vector_size(struct maple_vector *v, uint32_t n)
{
	if (n <= v->n)
		return 0;
	n = (n + 7) & ~7u;
	if (!maple_array_extend(v->c, v->n, n))
		return -ENOMEM;
	v->n = n;
	return 0;
}

/*
 * maple_vector_join - joins @c into @v; whether that changed anything goes to
 *                     *@changed, which is left alone if not
 */
int maple_vector_join(struct maple_vector *v, const uint32_t *c, uint32_t n,
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

static struct maple_clock *clock_of(struct maple_clocks *clocks, uint32_t thread)
{
	struct maple_clock *clock;

	assert(thread < MAPLE_THREADS);
	clock = clocks->thread[thread];
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
	/* Or else somebody has changed now without telling. */
	assert(clock->epoch->own == clock->now.c[thread] &&
	       clock->epoch->serial == clock->serial);
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

/* maple_clock_join - what @c stands for has happened before, from now on */
int maple_clock_join(struct maple_clock *clock, const uint32_t *c, uint32_t n)
{
	bool more = false;
	int ret = maple_vector_join(&clock->now, c, n, &more);

	if (more)
		changed(clock);
	return ret;
}

/* maple_clock_step - what the thread did so far is now visible to others */
void maple_clock_step(struct maple_clock *clock, uint32_t thread)
{
	assert(thread < clock->now.n);
	clock->now.c[thread]++;
	changed(clock);
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
	ret = maple_clock_join(child, parent->now.c, parent->now.n);
	maple_clock_step(parent, event->thread);
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
	return maple_clock_join(clock, child->now.c, child->now.n);
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
	default:
		return maple_syncs_event(clocks, clock, event);
	}
}

void maple_clocks_deinit(struct maple_clocks *clocks)
{
	maple_syncs_deinit(clocks);
	for (uint32_t i = 0; i < clocks->nthreads; i++) {
		if (!clocks->thread[i])
			continue;
		maple_epoch_put(clocks->thread[i]->epoch);
		free(clocks->thread[i]->now.c);
		free(clocks->thread[i]);
	}
}
