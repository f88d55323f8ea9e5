// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Events wait in a short line before they are dealt with. What an access will
 * look at is spread over far more memory than the CPU's caches hold, and each
 * piece leads to the next: the block, the cell, what the thread did to it,
 * the summaries of that. While an event moves up the line, each is loaded in
 * turn, so that the wait for memory is shared by all that are in line.
 *
 *   in --> block  .  cell  .  entry  .  summaries  .  --> feed.c
 *
 * Nothing is decided here: an event that finds less, or something that is
 * gone when its turn comes, is only slower.
 */
#include <errno.h>
#include "state.h"

#define STEP 2 /* events between two of the above */

static_assert(MAPLE_AHEAD == 5 * STEP, "all has come when an event leaves");

static struct maple_event *in_line(struct maple_predict *p, uint64_t number)
{
	return &p->ahead.event[number % MAPLE_AHEAD];
}

static void load(struct maple_predict *p, enum maple_stage stage,
		 uint64_t number)
{
	const struct maple_event *event = in_line(p, number);

	if (maple_event_is_access(event->kind))
		maple_space_load(&p->space, event, stage);
}

/*
 * maple_predict_event - takes the run's next event
 *
 * It is dealt with when some more have come, or in maple_predict_finish().
 * Errors: -ENOMEM, for this or one of the events before it, -EINVAL after
 * maple_predict_finish().
 */
int maple_predict_event(struct maple_predict *p, const struct maple_event *event)
{
	struct maple_ahead *ahead = &p->ahead;
	uint64_t n = ahead->in;
	int ret = 0;

	if (p->finished)
		return -EINVAL;
	if (n - ahead->out == MAPLE_AHEAD)
		ret = maple_predict_take(p, in_line(p, ahead->out++));
	*in_line(p, n) = *event;
	ahead->in++;
	for (unsigned int stage = 0; stage < 4 && n >= stage * STEP; stage++)
		load(p, stage, n - stage * STEP);
	return ret;
}

/* maple_predict_drain - deals with all events in line; 0 or -ENOMEM */
int maple_predict_drain(struct maple_predict *p)
{
	struct maple_ahead *ahead = &p->ahead;
	int ret = 0, err;

	while (ahead->out < ahead->in) {
		err = maple_predict_take(p, in_line(p, ahead->out++));
		ret = err ? err : ret;
	}
	return ret;
}
