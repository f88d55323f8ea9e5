// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The patterns that a run showed: one immediate dependency or two, whose ends
 * are close in each thread.
 */
#include <stdlib.h>
#include <string.h>
#include "model.h"

struct showing {
	const struct maple_order_model *m;
	maple_order_sink sink;
	void *ctx;
	const struct maple_order_dependency *on;
	const uint32_t
		*first; /* by event: of what it depends on, on[first ...] */
	bool over;
};

static uint8_t kind_of(uint32_t number, unsigned int i)
{
	return maple_pattern_step(number, i).kind;
}

static void show(struct showing *s, uint32_t number, const uint32_t *event)
{
	struct maple_order_goal goal = { .pattern.number = number };

	for (unsigned int i = 0; i < maple_pattern_steps(number); i++) {
		goal.event[i] = event[i];
		goal.pattern.site[i] = s->m->event[event[i]].site;
	}
	s->over = s->over || !s->sink(s->ctx, &goal);
}

/* Whether @thread's events behind @a and before @b leave @x alone. */
static bool is_left(const struct showing *s, uint32_t a, uint32_t b, uint32_t x)
{
	const struct maple_order_model *m = s->m;
	uint32_t i = m->event[a].index + 1, n = m->event[b].index;

	for (; i < n; i++)
		if (maple_order_overlap(
			    m, maple_order_of(m, m->event[a].thread, i), x))
			return false;
	return true;
}

static bool is_near(const struct showing *s, uint32_t a, uint32_t b)
{
	return s->m->event[b].index > s->m->event[a].index &&
	       s->m->event[b].index - s->m->event[a].index <= MAPLE_ORDER_NEAR;
}

/* Two, of one place: a, b, and a again. */
static void show_three(struct showing *s,
		       const struct maple_order_dependency *second)
{
	const struct maple_order_model *m = s->m;
	uint32_t b = second->from, c = second->to;

	for (uint32_t i = s->first[b]; i < s->first[b + 1]; i++) {
		struct maple_order_dependency d = s->on[i];
		uint32_t event[] = { d.from, b, c };

		if (m->event[d.from].thread != m->event[c].thread ||
		    d.to_kind != second->from_kind || !is_near(s, d.from, c) ||
		    !maple_order_overlap(m, d.from, c) ||
		    !is_left(s, d.from, c, b))
			continue;
		for (uint32_t p = 4; p <= 8; p++)
			if (kind_of(p, 0) == d.from_kind &&
			    kind_of(p, 1) == d.to_kind &&
			    kind_of(p, 2) == second->to_kind)
				show(s, p, event);
	}
}

/* Whether @d leads from a step to a later one of @number at one place. */
static bool leads(uint32_t number, unsigned int from, unsigned int to,
		  const struct maple_order_dependency *d)
{
	return kind_of(number, from) == d->from_kind &&
	       kind_of(number, to) == d->to_kind;
}

/*
 * Two, of two places: first x, then y in the first step's thread. @x leads to
 * b's step at x, @y to a's at y.
 */
static void show_four(struct showing *s, const struct maple_order_dependency *x,
		      const struct maple_order_dependency *y)
{
	const struct maple_order_model *m = s->m;
	uint32_t ax = x->from, bx = x->to, by = y->from, ay = y->to;
	uint32_t low = bx < by ? bx : by, high = bx < by ? by : bx, first, last;

	if (x->from_kind != y->to_kind || x->to_kind != y->from_kind ||
	    m->event[ax].thread != m->event[ay].thread ||
	    m->event[bx].thread != m->event[by].thread || ax > low ||
	    !is_near(s, ax, ay) || !is_near(s, low, high) ||
	    maple_order_overlap(m, ax, ay) || maple_order_overlap(m, bx, by) ||
	    !is_left(s, ax, ay, ax) || !is_left(s, ax, ay, ay) ||
	    !is_left(s, low, high, ax) || !is_left(s, low, high, ay))
		return;
	/* xxyy, xyxy, xyyx */
	first = ay > high && bx < by ? 9 : ay > high ? 10 : 11;
	last = first + 6;
	for (uint32_t p = first; p <= last; p++) {
		uint32_t e[4] = { ax };
		bool fits = true;

		if ((first == 9 && p != 9 && p != 12 && p != 14) ||
		    (first == 10 && p != 10 && p != 13 && p != 15) ||
		    (first == 11 && p != 11 && p != 16 && p != 17))
			continue;
		if (first == 9) {
			e[1] = bx, e[2] = by, e[3] = ay;
			fits = leads(p, 0, 1, x) && leads(p, 2, 3, y);
		} else if (first == 10) {
			e[1] = by, e[2] = bx, e[3] = ay;
			fits = leads(p, 0, 2, x) && leads(p, 1, 3, y);
		} else {
			e[1] = by, e[2] = ay, e[3] = bx;
			fits = leads(p, 0, 3, x) && leads(p, 1, 2, y);
		}
		if (fits)
			show(s, p, e);
	}
}

/* @last is the newest: what other one stands beside it, in both threads? */
static void show_pairs(struct showing *s,
		       const struct maple_order_dependency *last)
{
	const struct maple_order_model *m = s->m;
	uint32_t from = last->from, to = last->to;
	uint32_t thread = m->event[from].thread, at = m->event[from].index;
	uint32_t low = at > MAPLE_ORDER_NEAR ? at - MAPLE_ORDER_NEAR : 0,
		 high = at + MAPLE_ORDER_NEAR;
	uint32_t i;

	/* @last is y's: b's step at x is near its step at y. */
	for (i = low; i <= high && i < maple_order_length(m, thread); i++) {
		uint32_t b = maple_order_of(m, thread, i);

		if (b >= to)
			break;
		for (uint32_t k = s->first[b]; k < s->first[b + 1]; k++) {
			struct maple_order_dependency d = s->on[k];

			if (b != from &&
			    m->event[d.from].thread == m->event[to].thread)
				show_four(s, &d, last);
		}
	}
	/* @last is x's, and comes after all: a's step at y lies before it. */
	for (i = at + 1; i <= high && i < maple_order_length(m, thread); i++) {
		uint32_t a = maple_order_of(m, thread, i);

		if (a >= to)
			break;
		for (uint32_t k = s->first[a]; k < s->first[a + 1]; k++) {
			struct maple_order_dependency d = s->on[k];

			if (m->event[d.from].thread == m->event[to].thread)
				show_four(s, last, &d);
		}
	}
}

static void show_access(struct showing *s, uint32_t e)
{
	for (uint32_t i = s->first[e]; i < s->first[e + 1] && !s->over; i++) {
		struct maple_order_dependency d = s->on[i];
		uint32_t event_of[] = { d.from, d.to };

		for (uint32_t p = 1; p <= 3; p++)
			if (leads(p, 0, 1, &d))
				show(s, p, event_of);
		show_three(s, &d);
		show_pairs(s, &d);
	}
}

/* A wait that begins after a signal of another thread, which it did not see. */
static void show_late_wait(struct showing *s, uint32_t *signal, uint32_t e)
{
	const struct maple_order_event *event = &s->m->event[e];
	uint32_t *last;

	if (event->kind != MAPLE_EV_WAIT && event->kind != MAPLE_EV_SIGNAL &&
	    event->kind != MAPLE_EV_BROADCAST)
		return;
	last = &signal[event->cond];
	if (event->kind != MAPLE_EV_WAIT)
		*last = e;
	else if (*last != MAPLE_ORDER_NONE &&
		 s->m->event[*last].thread != event->thread)
		show(s, 19, (uint32_t[]){ *last, e });
}

void maple_order_shown(const struct maple_order_model *model,
		       maple_order_sink sink, void *ctx)
{
	struct showing s = { .m = model, .sink = sink, .ctx = ctx };
	uint32_t *signal = malloc((model->nconds + 1u) * sizeof(*signal));
	struct maple_order_dependencies d;

	if (!maple_order_depend(model, &d) && signal) {
		memset(signal, 0xff, (model->nconds + 1u) * sizeof(*signal));
		s.on = d.on;
		s.first = d.first;
		for (uint32_t e = 0; e < model->n && !s.over; e++) {
			show_access(&s, e);
			show_late_wait(&s, signal, e);
		}
	}
	free(signal);
	maple_order_depend_deinit(&d);
}
