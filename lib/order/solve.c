// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An order of a cone's events that shows its goal.
 *
 * What must come before what is kept closed: for each event, how many of each
 * thread's events lie before it. What may be either way (a write before the
 * writer of a read, or after the read; one section before another, or after it)
 * is not written down in advance. The order that is closest to the run's own is
 * made and carried out on paper; what goes wrong there must be one of two ways.
 * If one of them is excluded, the other holds; if both are, there is no order
 * with what was assumed so far. So most goals take a few such rounds, and no
 * guess. An order is never answered that was not carried out without a fault.
 *
 * A section that is open in the cone comes after all others of its lock; if
 * that cannot be, the cone is made wider by its end.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "solve.h"

#define EVENTS	 (1u << 16) /* of a cone, at most */
#define DEPTH	 200
#define BRANCHES 10000
#define ROUNDS	 10000
#define WORK	 10000000     /* events of all rounds, for a goal */
#define STATES	 (256u << 20) /* bytes of what is kept of guesses */
#define CONES	 200
#define SHORTER	 64 /* tries to have fewer switches */
#define NONE	 MAPLE_ORDER_NONE

static bool is_before(const struct maple_solving *s, uint32_t a, uint32_t b)
{
	return maple_solving_row(s, b)[maple_solving_thread(s, a)] >
	       maple_solving_event(s, a)->index;
}

/* What comes before @a, and @a, comes before @b; whether that was news. */
static bool join(struct maple_solving *s, uint32_t a, uint32_t b)
{
	uint32_t *to = maple_solving_row(s, b), t = maple_solving_thread(s, a),
		 index = maple_solving_event(s, a)->index;
	const uint32_t *from = maple_solving_row(s, a);
	bool news = false;

	for (uint32_t i = 0; i < s->nthreads; i++) {
		uint32_t most = i == t ? index + 1 : from[i];

		if (most > to[i]) {
			to[i] = most;
			news = true;
		}
	}
	return news;
}

static bool put_edge(struct maple_solving *s, uint32_t a, uint32_t b)
{
	if (!maple_array_reserve(s->edge, s->nedges, s->edge_room)) {
		s->gave_up = true;
		return false;
	}
	s->edge[s->nedges] = (struct maple_order_edge){ b, s->head[a] };
	s->head[a] = s->nedges++;
	return true;
}

/* @a comes before @b; false: it cannot. */
static bool add(struct maple_solving *s, uint32_t a, uint32_t b)
{
	uint32_t n = 0, at, last;

	if (a == b || is_before(s, b, a))
		return false;
	if (is_before(s, a, b))
		return true;
	if (!put_edge(s, a, b))
		return false;
	join(s, a, b);
	s->stack[n++] = b;
	while (n) {
		at = s->stack[--n];
		last = s->first[maple_solving_thread(s, at) + 1];
		/* Each thread's events are in a row. */
		for (; at < last; at++) {
			for (uint32_t e = s->head[at]; e != NONE;
			     e = s->edge[e].next)
				if (join(s, at, s->edge[e].to)) {
					if (n == 2 * s->n) {
						s->gave_up = true;
						return false;
					}
					s->stack[n++] = s->edge[e].to;
				}
			if (at + 1 < last && !join(s, at, at + 1))
				break;
		}
	}
	return true;
}

/* 0: both are possible; 1: holds; -1: cannot */
static int state_of(const struct maple_solving *s,
		    const struct maple_order_either *e)
{
	bool first = !is_before(s, e->b, e->a);
	bool other = e->c != NONE && !is_before(s, e->d, e->c);

	if (is_before(s, e->a, e->b) ||
	    (e->c != NONE && is_before(s, e->c, e->d)))
		return 1;
	return first && other ? 0 : first || other ? 2 : -1;
}

static bool saturate(struct maple_solving *s)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 0; i < s->neither; i++) {
			const struct maple_order_either *e = &s->either[i];
			int state = state_of(s, e);

			if (state < 0)
				return false;
			if (state != 2)
				continue;
			if (is_before(s, e->b, e->a)) {
				if (!add(s, e->c, e->d))
					return false;
			} else if (!add(s, e->a, e->b)) {
				return false;
			}
			again = true;
		}
	}
	return true;
}

/* ---- The search. ---- */

struct state {
	uint32_t *before, *head, nedges;
};

static bool save(struct maple_solving *s, struct state *state)
{
	size_t rows = (size_t)s->n * s->nthreads * sizeof(*s->before);
	size_t heads = s->n * sizeof(*s->head);

	state->before =
		s->states + rows + heads > STATES ? NULL : malloc(rows + heads);
	if (!state->before)
		return false;
	s->states += rows + heads;
	state->head = state->before + (size_t)s->n * s->nthreads;
	state->nedges = s->nedges;
	memcpy(state->before, s->before, rows);
	memcpy(state->head, s->head, heads);
	return true;
}

static void restore(struct maple_solving *s, struct state *state)
{
	size_t rows = (size_t)s->n * s->nthreads * sizeof(*s->before);
	size_t heads = s->n * sizeof(*s->head);

	memcpy(s->before, state->before, rows);
	memcpy(s->head, state->head, heads);
	s->nedges = state->nedges;
	s->states -= rows + heads;
	free(state->before);
}

static bool search(struct maple_solving *s, unsigned int depth)
{
	struct state state;
	struct maple_order_either e;
	bool possible, other;
	uint32_t had, i;

	for (;;) {
		s->work += s->n;
		if (s->work > WORK)
			s->gave_up = true;
		if (s->gave_up || !saturate(s))
			return false;
		maple_paper_lay(s, false);
		had = s->neither;
		if (maple_paper_carry_out(s, &possible))
			return true;
		if (!possible || s->gave_up)
			return false;
		for (i = had; i < s->neither; i++)
			if (state_of(s, &s->either[i]))
				break;
		if (i < s->neither && ++s->rounds < ROUNDS)
			continue;
		i = s->broken;
		if (i == NONE || depth == DEPTH || s->branches == BRANCHES ||
		    s->rounds >= ROUNDS || !save(s, &state)) {
			s->gave_up = true;
			return false;
		}
		s->branches++;
		e = s->either[i];
		other = s->event[e.a] > s->event[e.b]; /* not as in the run */
		if (add(s, other ? e.c : e.a, other ? e.d : e.b) &&
		    search(s, depth + 1)) {
			free(state.before);
			return true;
		}
		restore(s, &state);
		if (s->gave_up || !add(s, other ? e.a : e.c, other ? e.b : e.d))
			return false;
	}
}

/* What is told in advance: threads, needs, who wrote what was read, the goal. */
static bool prepare(struct maple_solving *s)
{
	const struct maple_order_model *m = s->m;

	maple_paper_lay(s, false); /* as it was: nothing is told yet */
	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t node = s->order[k], e = s->event[node], from;
		const struct maple_order_event *event = &m->event[e];

		if (event->index)
			join(s, node - 1, node);
		for (uint32_t i = 0; i < event->nneed; i++) {
			from = maple_solving_node(s, m->need[event->need + i]);
			if (!put_edge(s, from, node))
				return false;
			join(s, from, node);
		}
		if (!maple_order_reads(event) || e == s->cone->changed ||
		    event->writer >= MAPLE_ORDER_UNSURE ||
		    m->event[event->writer].thread == event->thread)
			continue;
		from = maple_solving_node(s, event->writer);
		if (!put_edge(s, from, node))
			return false;
		join(s, from, node);
	}
	for (unsigned int i = 1; i < s->cone->sure; i++)
		if (!add(s, maple_solving_node(s, s->goal->event[i - 1]),
			 maple_solving_node(s, s->goal->event[i])))
			return false;
	return true;
}

static bool allocate(struct maple_solving *s)
{
	const struct maple_order_model *m = s->m;

	s->n = s->cone->n;
	s->thread = calloc(m->nthreads + 1u, sizeof(*s->thread));
	s->first = calloc(m->nthreads + 2u, sizeof(*s->first));
	s->event = calloc(s->n + 1u, sizeof(*s->event));
	if (!s->thread || !s->first || !s->event)
		return false;
	for (uint32_t t = 0; t < m->nthreads; t++) {
		uint32_t upto = s->cone->upto[t], first = s->first[s->nthreads];

		if (!upto)
			continue;
		s->thread[t] = s->nthreads;
		for (uint32_t i = 0; i < upto; i++)
			s->event[first + i] = maple_order_of(m, t, i);
		s->first[++s->nthreads] = first + upto;
	}
	s->before = calloc((size_t)s->n * s->nthreads + 1, sizeof(*s->before));
	s->head = malloc((s->n + 1u) * sizeof(*s->head));
	s->stack = malloc((2 * s->n + 1u) * sizeof(*s->stack));
	s->order = malloc((s->n + 1u) * sizeof(*s->order));
	s->place = malloc((s->n + 1u) * sizeof(*s->place));
	s->next = calloc(s->nthreads + 1u, sizeof(*s->next));
	s->wrote = malloc((m->nwords * MAPLE_ORDER_BYTES + 1u) *
			  sizeof(*s->wrote));
	if (!s->before || !s->head || !s->stack || !s->order || !s->place ||
	    !s->next || !s->wrote)
		return false;
	memset(s->head, 0xff, s->n * sizeof(*s->head));
	return true;
}

static void release(struct maple_solving *s)
{
	free(s->thread);
	free(s->first);
	free(s->event);
	free(s->before);
	free(s->head);
	free(s->edge);
	free(s->either);
	free(s->slot);
	free(s->stack);
	free(s->order);
	free(s->place);
	free(s->next);
	free(s->wrote);
}

/* Of what may be either way the one that the order in @place has. */
static bool tell_as(struct maple_solving *s, uint32_t i, const uint32_t *place)
{
	struct maple_order_either e = s->either[i];

	return place[e.a] < place[e.b] ? add(s, e.a, e.b) : add(s, e.c, e.d);
}

/*
 * The order that was found, with as few switches as it can be had: what goes
 * wrong without them is told as it is in the one that was found.
 */
static void shorten(struct maple_solving *s, const uint32_t *place)
{
	bool possible, fits = true;

	for (int i = 0; i < SHORTER && fits; i++) {
		uint32_t had = s->neither;

		maple_paper_lay(s, true);
		if (maple_paper_carry_out(s, &possible))
			return;
		fits = possible && !s->gave_up && tell_as(s, s->broken, place);
		for (uint32_t k = had; k < s->neither && fits; k++)
			fits = tell_as(s, k, place);
	}
	for (uint32_t i = 0; i < s->n; i++)
		s->order[place[i]] = i;
}

static bool take(struct maple_solving *s, struct maple_order_found *order)
{
	uint32_t *event = malloc((s->n + 1u) * sizeof(*event));
	uint32_t *place = malloc((s->n + 1u) * sizeof(*place));

	if (!event || !place) {
		free(event);
		free(place);
		return false;
	}
	memcpy(place, s->place, s->n * sizeof(*place));
	shorten(s, place);
	free(place);
	for (uint32_t i = 0; i < s->n; i++)
		event[i] = s->event[s->order[i]];
	*order = (struct maple_order_found){ .n = s->n,
					     .event = event,
					     .sure = s->cone->sure,
					     .branches = s->branches };
	return true;
}

/* What the cone is made wider by, and what that has taken so far. */
struct widening {
	uint32_t end[MAPLE_ORDER_ENDS], n, cones;
	uint64_t work;
};

static enum maple_order_answer solve_in(struct maple_solving *s,
					struct maple_order_found *order)
{
	enum maple_order_answer answer = MAPLE_ORDER_UNKNOWN;

	if (s->cone->n <= EVENTS && allocate(s)) {
		if (prepare(s) && search(s, 0))
			answer = take(s, order) ? MAPLE_ORDER_FOUND
						: MAPLE_ORDER_UNKNOWN;
		else if (!s->gave_up)
			answer = MAPLE_ORDER_REFUTED;
	}
	release(s);
	return answer;
}

static enum maple_order_answer solve(const struct maple_order_model *m,
				     const struct maple_order_goal *goal,
				     struct widening *wide,
				     struct maple_order_found *order)
{
	struct maple_order_cone cone;
	struct maple_solving s = { .m = m, .goal = goal, .cone = &cone };
	enum maple_order_answer answer;

	if (++wide->cones > CONES)
		return MAPLE_ORDER_UNKNOWN;
	answer = maple_order_cone(m, goal, wide->end, wide->n, &cone);
	if (answer != MAPLE_ORDER_FOUND)
		return answer;
	s.work = wide->work;
	answer = solve_in(&s, order);
	wide->work = s.work;
	free(cone.upto);
	if (s.nmissing && wide->n == MAPLE_ORDER_ENDS &&
	    answer == MAPLE_ORDER_REFUTED)
		return MAPLE_ORDER_UNKNOWN;
	for (uint32_t i = 0; i < s.nmissing && answer == MAPLE_ORDER_REFUTED;
	     i++) {
		wide->end[wide->n++] = s.missing[i];
		answer = solve(m, goal, wide, order);
		wide->n--;
	}
	return answer;
}

enum maple_order_answer maple_order_solve(const struct maple_order_model *model,
					  const struct maple_order_goal *goal,
					  struct maple_order_found *order)
{
	struct widening wide = { .n = 0 };

	*order = (struct maple_order_found){ 0 };
	return solve(model, goal, &wide, order);
}

void maple_order_deinit(struct maple_order_found *order)
{
	free(order->event);
	*order = (struct maple_order_found){ 0 };
}
