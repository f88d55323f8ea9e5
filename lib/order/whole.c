// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What was solved for is a beginning. Here it gets all other events of its run
 * behind it, as the run had them, or by turns: each thread goes on to its next
 * point, then another one does, the youngest first. What depends on each other
 * is left aside, so the run that is made of it may do something else.
 */
#include <errno.h>
#include <stdlib.h>
#include "model.h"

struct laying {
	const struct maple_order_model *m;
	uint32_t *event, n;
	bool *is_in;
	uint32_t *next; /* by thread: how many of its events were looked at */
};

static void lay(struct laying *l, uint32_t e)
{
	if (l->is_in[e])
		return;
	l->is_in[e] = true;
	l->event[l->n++] = e;
}

/* What @thread does from its next point up to the one behind it; false: nothing. */
static bool lay_turn(struct laying *l, uint32_t thread)
{
	const struct maple_order_event *first = NULL;

	while (l->next[thread] < maple_order_length(l->m, thread)) {
		uint32_t at = maple_order_of(l->m, thread, l->next[thread]);
		const struct maple_order_event *e = &l->m->event[at];

		if (!l->is_in[at] && !first)
			first = e;
		if (first && (e->place != first->place || e->hit != first->hit))
			break;
		lay(l, at);
		l->next[thread]++;
	}
	return first;
}

static void lay_turns(struct laying *l)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t t = l->m->nthreads; t-- > 0;)
			more |= lay_turn(l, t);
	}
}

int maple_order_whole(const struct maple_order_model *model,
		      const struct maple_order_goal *goal,
		      const struct maple_order_found *order, bool turns,
		      struct maple_order_found *whole)
{
	unsigned int steps = maple_pattern_steps(goal->pattern.number);
	struct laying l = {
		.m = model,
		.event = malloc((model->n + 1u) * sizeof(*l.event)),
		.is_in = calloc(model->n + 1u, sizeof(*l.is_in)),
		.next = calloc(model->nthreads + 1u, sizeof(*l.next)),
	};
	bool fits = l.event && l.is_in && l.next;

	if (fits) {
		for (uint32_t i = 0; i < order->n; i++)
			lay(&l, order->event[i]);
		for (unsigned int i = order->sure; i < steps; i++)
			lay(&l, goal->event[i]);
		*whole = (struct maple_order_found){
			.event = l.event,
			.sure = steps,
			.beginning = l.n,
		};
		if (turns)
			lay_turns(&l);
		for (uint32_t e = 0; e < model->n; e++)
			lay(&l, e);
		whole->n = l.n;
	} else {
		free(l.event);
	}
	free(l.is_in);
	free(l.next);
	return fits ? 0 : -ENOMEM;
}
