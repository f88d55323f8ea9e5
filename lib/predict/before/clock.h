/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_CLOCK_H
#define MAPLE_PREDICT_CLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <maple/event.h>
#include "predict/predict.h"

/* A growing vector clock; components beyond n are 0. */
struct maple_vector {
	uint32_t n;
	uint32_t *c;
};

/*
 * An epoch: a stretch of one thread over which its vector clock did not
 * change. Everything it did in there shares one of these.
 */
struct maple_epoch {
	uint32_t refs;
	uint32_t thread;
	uint32_t own;	 /* c[thread] */
	uint32_t serial; /* of the thread's epochs, ascending */
	uint32_t n;
	uint32_t c[];
};

struct maple_clock {
	struct maple_vector now;
	struct maple_epoch *epoch; /* of now; NULL: not made yet */
	uint32_t serial;
	bool started, exited;
};

struct maple_sync;

struct maple_clocks {
	struct maple_clock *thread[MAPLE_THREADS];
	uint32_t nthreads; /* one past the highest */
	bool locks;	   /* draw edges as well, in the order of the run */
	struct maple_sync *syncs;
	struct maple_predict_stats *stats;
};

void maple_clocks_init(struct maple_clocks *clocks,
		       struct maple_predict_stats *stats);
void maple_clocks_deinit(struct maple_clocks *clocks);
int maple_clocks_event(struct maple_clocks *clocks,
		       const struct maple_event *event);
struct maple_epoch *maple_clocks_epoch(struct maple_clocks *clocks,
				       uint32_t thread);
bool maple_clocks_passed(const struct maple_clocks *clocks,
			 const struct maple_epoch *epoch);
int maple_vector_join(struct maple_vector *v, const uint32_t *c, uint32_t n,
		      bool *changed);
int maple_clock_join(struct maple_clock *clock, const uint32_t *c, uint32_t n);
void maple_clock_step(struct maple_clock *clock, uint32_t thread);
int maple_syncs_event(struct maple_clocks *clocks, struct maple_clock *clock,
		      const struct maple_event *event);
void maple_syncs_deinit(struct maple_clocks *clocks);

static inline struct maple_epoch *maple_epoch_get(struct maple_epoch *epoch)
{
	assert(epoch->refs);
	epoch->refs++;
	return epoch;
}

static inline void maple_epoch_put(struct maple_epoch *epoch)
{
	assert(!epoch || epoch->refs);
	if (epoch && !--epoch->refs)
		free(epoch);
}

/*
 * maple_epoch_before - whether everything in @a happens before all of @b
 *
 * A thread's own component grows right after each point from which others
 * can learn of it, so the one component decides.
 */
static inline bool maple_epoch_before(const struct maple_epoch *a,
				      const struct maple_epoch *b)
{
	if (a->thread == b->thread)
		return a->serial < b->serial;
	return a->thread < b->n && b->c[a->thread] >= a->own;
}

#endif
