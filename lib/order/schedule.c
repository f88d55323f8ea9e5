// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An order becomes a schedule. A thread can be stopped at its points alone:
 * what it does behind one of them, up to the next, it does with it. That are
 * ends of sections, creations and ends of threads, and what no other thread
 * sees, so nothing depends on when they are done.
 */
#include <stdlib.h>
#include "model.h"

struct scheduling {
	const struct maple_order_model *m;
	struct maple_policy_switch *list;
	uint32_t n, most;
	/* By thread: the point that it has gone on from. */
	uint32_t *place, *hit;
	uint32_t now; /* the thread that goes on, main at first */
};

static bool is_done(const struct scheduling *s,
		    const struct maple_order_event *e)
{
	return s->place[e->thread] == e->place && s->hit[e->thread] == e->hit;
}

/* @e is what happens next. */
static bool then(struct scheduling *s, uint32_t e)
{
	const struct maple_order_event *to = &s->m->event[e];

	if (is_done(s, to))
		return true;
	if (s->now != to->thread) {
		if (s->n == s->most)
			return false;
		s->list[s->n++] = (struct maple_policy_switch){
			.thread = (uint16_t)s->now,
			.next = (uint16_t)to->thread,
			.what = MAPLE_POLICY_AFTER,
			.site = s->place[s->now],
			.hit = s->hit[s->now],
			.next_site = MAPLE_SITE_NONE,
		};
	}
	s->now = to->thread;
	s->place[to->thread] = to->place;
	s->hit[to->thread] = to->hit;
	return true;
}

uint32_t maple_order_schedule(const struct maple_order_model *model,
			      const struct maple_order_goal *goal,
			      const struct maple_order_found *order,
			      struct maple_policy_switch *list, uint32_t most)
{
	struct scheduling s = { .m = model, .list = list, .most = most };
	unsigned int steps = maple_pattern_steps(goal->pattern.number);
	size_t threads = model->nthreads + 1u;
	bool fits;

	s.place = malloc(threads * sizeof(*s.place));
	s.hit = calloc(threads, sizeof(*s.hit));
	fits = s.place && s.hit;
	for (size_t t = 0; t < threads && fits; t++)
		s.place[t] = MAPLE_SITE_NONE;
	for (uint32_t i = 0; i < order->n && fits; i++)
		fits = then(&s, order->event[i]);
	for (unsigned int i = order->sure; i < steps && fits; i++)
		fits = then(&s, goal->event[i]);
	free(s.place);
	free(s.hit);
	return fits ? s.n : 0;
}
