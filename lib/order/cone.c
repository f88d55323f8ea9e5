// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The cone of a goal: what has to happen for its steps to, up to the first one
 * that reads what it had not read. Each thread in it reads what it read in the
 * run, so it does what it did; behind that step nobody knows, and the steps
 * that are left are tried all the same: the tail.
 *
 * A thread is in it with its events up to the last one that is asked for. What
 * one of them read asks for who wrote it; and if both are sections of a lock,
 * for the end of the writer's.
 */
#include <stdlib.h>
#include "model.h"

struct growing {
	const struct maple_order_model *m;
	struct maple_order_cone *cone;
	uint32_t *done; /* by thread: events that were looked at */
	bool more, unsure, open;
};

static void ask(struct growing *g, uint32_t e)
{
	const struct maple_order_event *event = &g->m->event[e];

	if (event->index < g->cone->upto[event->thread])
		return;
	g->cone->upto[event->thread] = event->index + 1;
	g->more = true;
}

/* Sections that @first is in have to end before @then's begin. */
static void close_sections(struct growing *g, uint32_t first, uint32_t then)
{
	const struct maple_order_model *m = g->m;
	uint32_t a = MAPLE_ORDER_NONE, b;

	if (m->event[first].thread == m->event[then].thread)
		return;
	while ((a = maple_order_section(m, first, a)) != MAPLE_ORDER_NONE) {
		for (b = MAPLE_ORDER_NONE;
		     (b = maple_order_section(m, then, b)) != MAPLE_ORDER_NONE;)
			if (maple_order_excludes(&m->event[a], &m->event[b]))
				break;
		if (b == MAPLE_ORDER_NONE)
			continue;
		if (m->event[a].mate == MAPLE_ORDER_NONE)
			g->open = true;
		else
			ask(g, m->event[a].mate);
	}
}

static void look_at(struct growing *g, uint32_t e)
{
	const struct maple_order_model *m = g->m;
	const struct maple_order_event *event = &m->event[e];

	for (uint32_t i = 0; i < event->nneed; i++)
		ask(g, m->need[event->need + i]);
	if (!maple_order_reads(event) || e == g->cone->changed)
		return;
	if (event->writer == MAPLE_ORDER_UNSURE)
		g->unsure = true;
	if (event->writer >= MAPLE_ORDER_UNSURE)
		return;
	ask(g, event->writer);
	close_sections(g, event->writer, e);
}

static void grow(struct growing *g)
{
	const struct maple_order_model *m = g->m;

	while (g->more && !g->unsure && !g->open) {
		g->more = false;
		for (uint32_t t = 0; t < m->nthreads; t++)
			while (g->done[t] < g->cone->upto[t])
				look_at(g, maple_order_of(m, t, g->done[t]++));
	}
}

/*
 * Who writes what step @i reads, in the goal's order; UNSURE: whoever did in
 * the run, which is not one of the steps behind it; NONE: another one.
 */
static uint32_t writer_in(const struct maple_order_model *m,
			  const struct maple_order_goal *goal, unsigned int i)
{
	unsigned int n = maple_pattern_steps(goal->pattern.number);
	uint32_t writer = MAPLE_ORDER_UNSURE;

	for (unsigned int k = 0; k < n; k++) {
		uint32_t e = goal->event[k];

		if (k == i || !maple_order_writes(&m->event[e]) ||
		    !maple_order_overlap(m, e, goal->event[i]))
			continue;
		if (k < i)
			writer = e;
		else if (e == m->event[goal->event[i]].writer)
			return MAPLE_ORDER_NONE;
	}
	return writer;
}

/* How many steps are sure: up to the first that reads anew. */
static void cut(const struct maple_order_model *m,
		const struct maple_order_goal *goal,
		struct maple_order_cone *cone)
{
	unsigned int n = maple_pattern_steps(goal->pattern.number);
	uint32_t writer;

	cone->changed = MAPLE_ORDER_NONE;
	for (cone->sure = 1; cone->sure <= n; cone->sure++) {
		uint32_t e = goal->event[cone->sure - 1];

		if (!maple_order_reads(&m->event[e]))
			continue;
		writer = writer_in(m, goal, cone->sure - 1);
		if (writer == MAPLE_ORDER_UNSURE || writer == m->event[e].writer)
			continue;
		cone->changed = e;
		return;
	}
	cone->sure = n;
	/* Who takes the second lock of two that cross waits for ever. */
	if (goal->pattern.number == 18)
		cone->sure = 2;
	/* The signal, and not the wait behind it. */
	if (goal->pattern.number == 19)
		cone->sure = 1;
}

static bool is_in(const struct maple_order_cone *cone,
		  const struct maple_order_event *e)
{
	return e->index < cone->upto[e->thread];
}

/* Whether what is not to be in it is. */
static bool is_spoiled(const struct maple_order_model *m,
		       const struct maple_order_goal *goal,
		       const struct maple_order_cone *cone)
{
	unsigned int n = maple_pattern_steps(goal->pattern.number);
	const struct maple_order_event *changed;

	for (unsigned int i = cone->sure; i < n; i++)
		if (is_in(cone, &m->event[goal->event[i]]))
			return true;
	if (cone->changed == MAPLE_ORDER_NONE)
		return false;
	changed = &m->event[cone->changed];
	return cone->upto[changed->thread] > changed->index + 1;
}

enum maple_order_answer maple_order_cone(const struct maple_order_model *m,
					 const struct maple_order_goal *goal,
					 const uint32_t *also, uint32_t nalso,
					 struct maple_order_cone *cone)
{
	struct growing g = { .m = m, .cone = cone };
	enum maple_order_answer answer;

	*cone = (struct maple_order_cone){ 0 };
	cone->upto = calloc(m->nthreads + 1u, sizeof(*cone->upto));
	g.done = calloc(m->nthreads + 1u, sizeof(*g.done));
	if (!cone->upto || !g.done) {
		free(g.done);
		free(cone->upto);
		return MAPLE_ORDER_UNKNOWN;
	}
	cut(m, goal, cone);
	for (uint32_t i = 0; i < nalso; i++)
		ask(&g, also[i]);
	for (unsigned int i = 0; i < cone->sure; i++) {
		ask(&g, goal->event[i]);
		for (unsigned int k = i + 1; k < cone->sure; k++)
			close_sections(&g, goal->event[i], goal->event[k]);
	}
	grow(&g);
	answer = g.unsure			       ? MAPLE_ORDER_UNKNOWN
		 : g.open || is_spoiled(m, goal, cone) ? MAPLE_ORDER_REFUTED
						       : MAPLE_ORDER_FOUND;
	for (uint32_t t = 0; t < m->nthreads; t++)
		cone->n += cone->upto[t];
	free(g.done);
	if (answer != MAPLE_ORDER_FOUND) {
		free(cone->upto);
		cone->upto = NULL;
	}
	return answer;
}
