/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a run did, step by step, beside the schedule that it had: so that the
 * schedule can be cut behind any step.
 */
#ifndef MAPLE_STRATEGY_TRAIL_H
#define MAPLE_STRATEGY_TRAIL_H

#include "../../order/order.h"
#include "../strategy.h"

/* A thread stands at a point, and goes on from there. */
struct maple_trail_step {
	uint32_t thread;
	uint32_t site, hit; /* of the point */
	uint32_t entries;   /* of the schedule, that have come true by then */
};

struct maple_trail {
	unsigned int refs;
	struct maple_switches list;
	uint32_t n, room;
	struct maple_trail_step *step;
};

/*
 * maple_trail_create - the trail of @run, whose events are @event and @model
 * @of: the step of each event of @model; to be freed
 *
 * -ENOMEM, or 0; whoever keeps it counts in refs.
 */
int maple_trail_create(const struct maple_run *run,
		       const struct maple_event *event,
		       const struct maple_order_model *model,
		       struct maple_trail **trail, uint32_t **of);

/* maple_trail_put - one keeps it no more: frees it if nobody does */
void maple_trail_put(struct maple_trail *trail);

/*
 * maple_trail_cut - the schedule up to @step, and with it; for a list with a
 * policy behind it. -ENOMEM, or 0
 */
int maple_trail_cut(const struct maple_trail *trail, uint32_t step,
		    struct maple_switches *list);

#endif
