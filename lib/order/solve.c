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
#include "base/mix.h"
#include "model.h"

#define EVENTS	 (1u << 16) /* of a cone, at most */
#define DEPTH	 200
#define BRANCHES 10000
#define ROUNDS	 10000
#define STATES	 (256u << 20) /* bytes of what is kept of guesses */
#define ENDS	 32	      /* that a cone is made wider by */
#define CONES	 200
#define SHORTER	 64 /* tries to have fewer switches */
#define SLOTS	 64 /* a power of two */
#define NONE	 MAPLE_ORDER_NONE

/* a before b, or c before d; c NONE: nothing else. Numbers of nodes. */
struct either {
	uint32_t a, b, c, d;
};

struct edge {
	uint32_t to, next;
};

/* An open section, or a reader of a rwlock. */
struct taken {
	uint32_t lock; /* the node of the LOCK; NONE: free */
	uint32_t readers;
};

struct solving {
	const struct maple_order_model *m;
	const struct maple_order_goal *goal;
	const struct maple_order_cone *cone;
	uint32_t n, nthreads;
	uint32_t *thread; /* dense numbers of the threads that are in it */
	uint32_t *first;  /* by dense number: its first node */
	uint32_t *event;  /* by node */
	uint32_t *before; /* node x dense thread: how many of its events */
	uint32_t *head;	  /* by node: what was told to come after it */
	struct edge *edge;
	uint32_t nedges, edge_room;
	struct either *either;
	uint32_t neither, either_room;
	uint32_t *slot, nslots; /* by hash: its number, plus 1 */
	uint32_t broken; /* the first of them that did not hold on paper */
	/* Scratch. */
	uint32_t *stack, *order, *next, *place;
	uint32_t *wrote; /* by word and byte */
	uint32_t branches, rounds;
	uint64_t states;
	bool gave_up;
	/* Ends of sections that the cone has not, and that might help. */
	uint32_t missing[ENDS], nmissing;
};

static const struct maple_order_event *event_of(const struct solving *s,
						uint32_t node)
{
	return &s->m->event[s->event[node]];
}

static uint32_t dense(const struct solving *s, uint32_t node)
{
	return s->thread[event_of(s, node)->thread];
}

static uint32_t node_of(const struct solving *s, uint32_t e)
{
	const struct maple_order_event *event = &s->m->event[e];

	return event->index < s->cone->upto[event->thread]
		       ? s->first[s->thread[event->thread]] + event->index
		       : NONE;
}

static uint32_t *row(const struct solving *s, uint32_t node)
{
	return &s->before[(size_t)node * s->nthreads];
}

static bool is_before(const struct solving *s, uint32_t a, uint32_t b)
{
	return row(s, b)[dense(s, a)] > event_of(s, a)->index;
}

/* What comes before @a, and @a, comes before @b; whether that was news. */
static bool join(struct solving *s, uint32_t a, uint32_t b)
{
	uint32_t *to = row(s, b), t = dense(s, a),
		 index = event_of(s, a)->index;
	const uint32_t *from = row(s, a);
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

static bool put_edge(struct solving *s, uint32_t a, uint32_t b)
{
	if (!maple_array_reserve(s->edge, s->nedges, s->edge_room)) {
		s->gave_up = true;
		return false;
	}
	s->edge[s->nedges] = (struct edge){ b, s->head[a] };
	s->head[a] = s->nedges++;
	return true;
}

/* @a comes before @b; false: it cannot. */
static bool add(struct solving *s, uint32_t a, uint32_t b)
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
		last = s->first[dense(s, at) + 1];
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
static int state_of(const struct solving *s, const struct either *e)
{
	bool first = !is_before(s, e->b, e->a);
	bool other = e->c != NONE && !is_before(s, e->d, e->c);

	if (is_before(s, e->a, e->b) ||
	    (e->c != NONE && is_before(s, e->c, e->d)))
		return 1;
	return first && other ? 0 : first || other ? 2 : -1;
}

static bool saturate(struct solving *s)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 0; i < s->neither; i++) {
			const struct either *e = &s->either[i];
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

/* ---- An order, on paper. ---- */

static bool is_ready(const struct solving *s, uint32_t node)
{
	const uint32_t *before = row(s, node);

	for (uint32_t t = 0; t < s->nthreads; t++)
		if (before[t] > s->next[t] && t != dense(s, node))
			return false;
	return true;
}

/*
 * The events in an order that keeps to all that was told: the run's own as far
 * as it goes, or with as few switches as can be.
 */
static void linearise(struct solving *s, bool stays)
{
	uint32_t now = 0;

	memset(s->next, 0, s->nthreads * sizeof(*s->next));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t best = NONE;

		for (uint32_t k = 0; k < s->nthreads; k++) {
			uint32_t t = stays ? (now + k) % s->nthreads : k;
			uint32_t node = s->first[t] + s->next[t];

			if (node == s->first[t + 1] || !is_ready(s, node))
				continue;
			if (best == NONE || s->event[node] < s->event[best])
				best = node;
			if (stays && t == now)
				break;
		}
		now = dense(s, best);
		s->next[now]++;
		s->place[best] = i;
		s->order[i] = best;
	}
}

/* Where @told stands in the table of those that were told, or could. */
static uint32_t *slot_of(const struct solving *s, const struct either *told)
{
	uint64_t at = maple_mix(maple_mix(told->a, told->b),
				maple_mix(told->c, told->d));

	for (;; at++) {
		uint32_t *slot = &s->slot[at & (s->nslots - 1)];

		if (!*slot ||
		    !memcmp(&s->either[*slot - 1], told, sizeof(*told)))
			return slot;
	}
}

/* A table that is never more than half full. */
static bool widen(struct solving *s)
{
	uint32_t n = s->nslots ? 2 * s->nslots : SLOTS;
	uint32_t *slot;

	if (2 * (s->neither + 1) <= s->nslots)
		return true;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	free(s->slot);
	s->slot = slot;
	s->nslots = n;
	for (uint32_t i = 0; i < s->neither; i++)
		*slot_of(s, &s->either[i]) = i + 1;
	return true;
}

/* Of what was carried out: it must be either way. */
static void tell(struct solving *s, uint32_t a, uint32_t b, uint32_t c,
		 uint32_t d)
{
	struct either told = { a, b, c, d };
	uint32_t *slot;

	if (!widen(s) ||
	    !maple_array_reserve(s->either, s->neither, s->either_room)) {
		s->gave_up = true;
		return;
	}
	slot = slot_of(s, &told);
	if (s->broken == NONE)
		s->broken = *slot ? *slot - 1 : s->neither;
	if (*slot)
		return;
	s->either[s->neither++] = told;
	*slot = s->neither;
}

/* @node reads anew what it had from another: what it had must hold again. */
static void wrong_read(struct solving *s, uint32_t node, uint32_t wrote)
{
	uint32_t from = event_of(s, node)->writer;

	if (from == MAPLE_ORDER_INITIAL)
		tell(s, node, wrote, NONE, NONE);
	else if (wrote == MAPLE_ORDER_INITIAL)
		tell(s, node_of(s, from), node, NONE, NONE);
	else
		tell(s, wrote, node_of(s, from), node, wrote);
}

static uint32_t *wrote_at(const struct solving *s,
			  const struct maple_order_touch *t)
{
	return &s->wrote[(size_t)t->word * 8];
}

/* Carries out an access; whether it reads what it did in the run. */
static bool carry_access(struct solving *s, uint32_t node)
{
	const struct maple_order_event *e = event_of(s, node);
	bool kept = maple_order_reads(e) && s->event[node] != s->cone->changed;
	uint32_t from = e->writer < MAPLE_ORDER_UNSURE ? node_of(s, e->writer)
						       : MAPLE_ORDER_INITIAL;
	bool right = true;

	for (uint32_t i = 0; i < e->ntouch; i++) {
		const struct maple_order_touch *t = &s->m->touch[e->touch + i];
		uint32_t *wrote = wrote_at(s, t);

		for (int k = 0; k < 8; k++) {
			if (!(t->bytes >> k & 1))
				continue;
			if (kept && right && wrote[k] != from) {
				right = false;
				wrong_read(s, node, wrote[k]);
			}
			if (maple_order_writes(e))
				wrote[k] = node;
		}
	}
	return right;
}

static void miss(struct solving *s, uint32_t end)
{
	for (uint32_t i = 0; i < s->nmissing; i++)
		if (s->missing[i] == end)
			return;
	if (s->nmissing == ENDS)
		s->gave_up = true;
	else if (end != NONE)
		s->missing[s->nmissing++] = end;
}

/* Two sections that exclude each other: one ends before the other begins. */
static bool part(struct solving *s, uint32_t open, uint32_t lock)
{
	const struct maple_order_event *a = event_of(s, open);
	const struct maple_order_event *b = event_of(s, lock);
	uint32_t a_end = a->mate == NONE ? NONE : node_of(s, a->mate);
	uint32_t b_end = b->mate == NONE ? NONE : node_of(s, b->mate);

	if (a_end == NONE)
		miss(s, a->mate);
	if (b_end == NONE)
		miss(s, b->mate);
	if (a_end == NONE && b_end == NONE)
		return false;
	if (a_end == NONE)
		tell(s, b_end, open, NONE, NONE);
	else if (b_end == NONE)
		tell(s, a_end, lock, NONE, NONE);
	else
		tell(s, a_end, lock, b_end, open);
	return true;
}

/*
 * Sections, in the order on paper. Each lock has one that is open, and readers.
 * Returns false if there is none that keeps two of them apart.
 */
static bool carry_sections(struct solving *s, bool *right)
{
	uint32_t *open = malloc((s->m->nlocks + 1u) * sizeof(*open));
	uint32_t *last; /* by lock: the reader that came last, by node below */
	uint32_t *under = malloc((s->n + 1u) * sizeof(*under));
	bool possible = true;

	last = malloc((s->m->nlocks + 1u) * sizeof(*last));
	if (!open || !last || !under) {
		s->gave_up = true;
		possible = false;
	} else {
		memset(open, 0xff, (s->m->nlocks + 1u) * sizeof(*open));
		memset(last, 0xff, (s->m->nlocks + 1u) * sizeof(*last));
	}
	for (uint32_t i = 0; i < s->n && possible; i++) {
		uint32_t node = s->order[i], *at, r, reader;
		const struct maple_order_event *e = event_of(s, node);

		if (e->kind == MAPLE_EV_UNLOCK && e->mate != NONE) {
			node = node_of(s, e->mate);
			if (open[e->lock] == node)
				open[e->lock] = NONE;
			for (at = &last[e->lock]; *at != NONE; at = &under[*at])
				if (*at == node) {
					*at = under[*at];
					break;
				}
		}
		if (e->kind != MAPLE_EV_LOCK)
			continue;
		r = open[e->lock];
		if (r != NONE && dense(s, r) != dense(s, node)) {
			*right = false;
			possible = part(s, r, node);
		}
		for (reader = last[e->lock];
		     reader != NONE && !e->shared_lock && possible;
		     reader = under[reader])
			if (dense(s, reader) != dense(s, node)) {
				*right = false;
				possible = part(s, reader, node);
			}
		if (e->shared_lock) {
			under[node] = last[e->lock];
			last[e->lock] = node;
		} else if (r == NONE || dense(s, r) != dense(s, node)) {
			open[e->lock] = node; /* the outermost */
		}
	}
	free(open);
	free(last);
	free(under);
	return possible;
}

/*
 * Whether @w, between @a and @b, takes away that b depends on a: a write does,
 * and a read if it is what b depends on, or what depends on a, instead.
 */
static bool comes_between(const struct solving *s, uint32_t w, uint32_t a,
			  uint8_t a_kind, uint32_t b, uint8_t b_kind)
{
	if (!maple_order_meets(s->m, s->event[w], s->event[a], s->event[b]))
		return false;
	if (maple_order_writes(event_of(s, w)))
		return true;
	if (a_kind == MAPLE_EV_READ)
		return dense(s, w) == dense(s, a);
	return b_kind == MAPLE_EV_WRITE || dense(s, w) == dense(s, b);
}

/* Between two steps of the goal at one place nothing else counts there. */
static bool carry_goal(struct solving *s)
{
	const struct maple_order_goal *goal = s->goal;
	bool right = true;

	for (unsigned int k = 1; k < s->cone->sure; k++) {
		struct maple_pattern_step to =
			maple_pattern_step(goal->pattern.number, k);
		uint32_t b = node_of(s, goal->event[k]), a = NONE;
		struct maple_pattern_step from = to;

		for (unsigned int i = k; i-- > 0 && a == NONE;) {
			from = maple_pattern_step(goal->pattern.number, i);
			if (from.place == to.place)
				a = node_of(s, goal->event[i]);
		}
		if (a == NONE || dense(s, a) == dense(s, b))
			continue;
		for (uint32_t i = s->place[a] + 1; i < s->place[b]; i++) {
			uint32_t w = s->order[i];

			if (!comes_between(s, w, a, from.kind, b, to.kind))
				continue;
			right = false;
			tell(s, w, a, b, w);
		}
	}
	return right;
}

static void forget_writes(struct solving *s, const struct maple_order_event *e)
{
	for (uint32_t i = 0; i < e->ntouch; i++)
		for (int k = 0; k < 8; k++)
			wrote_at(s, &s->m->touch[e->touch + i])[k] =
				MAPLE_ORDER_INITIAL;
}

/*
 * Carries the order out; true: without a fault. Else @possible says whether
 * what was wrong can be otherwise.
 */
static bool carry_out(struct solving *s, bool *possible)
{
	bool right = true;

	s->broken = NONE;
	for (uint32_t i = 0; i < s->n; i++)
		forget_writes(s, event_of(s, i));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t node = s->order[i], wait, signal;
		const struct maple_order_event *e = event_of(s, node);

		if (e->ntouch)
			right &= carry_access(s, node);
		if (e->kind != MAPLE_EV_WAKE || e->mate == NONE || !e->nneed)
			continue;
		/* The signal is lost on who does not wait yet. */
		wait = node_of(s, e->mate);
		signal = node_of(s, s->m->need[e->need]);
		if (s->place[signal] < s->place[wait]) {
			right = false;
			tell(s, wait, signal, NONE, NONE);
		}
	}
	*possible = carry_sections(s, &right);
	right &= carry_goal(s);
	return right && *possible && !s->gave_up;
}

/* ---- The search. ---- */

struct state {
	uint32_t *before, *head, nedges;
};

static bool save(struct solving *s, struct state *state)
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

static void restore(struct solving *s, struct state *state)
{
	size_t rows = (size_t)s->n * s->nthreads * sizeof(*s->before);
	size_t heads = s->n * sizeof(*s->head);

	memcpy(s->before, state->before, rows);
	memcpy(s->head, state->head, heads);
	s->nedges = state->nedges;
	s->states -= rows + heads;
	free(state->before);
}

static bool search(struct solving *s, unsigned int depth)
{
	struct state state;
	struct either e;
	bool possible, other;
	uint32_t had, i;

	for (;;) {
		if (!saturate(s))
			return false;
		linearise(s, false);
		had = s->neither;
		if (carry_out(s, &possible))
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
static bool prepare(struct solving *s)
{
	const struct maple_order_model *m = s->m;

	linearise(s, false); /* as it was: nothing is told yet */
	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t node = s->order[k], e = s->event[node], from;
		const struct maple_order_event *event = &m->event[e];

		if (event->index)
			join(s, node - 1, node);
		for (uint32_t i = 0; i < event->nneed; i++) {
			from = node_of(s, m->need[event->need + i]);
			if (!put_edge(s, from, node))
				return false;
			join(s, from, node);
		}
		if (!maple_order_reads(event) || e == s->cone->changed ||
		    event->writer >= MAPLE_ORDER_UNSURE ||
		    m->event[event->writer].thread == event->thread)
			continue;
		from = node_of(s, event->writer);
		if (!put_edge(s, from, node))
			return false;
		join(s, from, node);
	}
	for (unsigned int i = 1; i < s->cone->sure; i++)
		if (!add(s, node_of(s, s->goal->event[i - 1]),
			 node_of(s, s->goal->event[i])))
			return false;
	return true;
}

static bool allocate(struct solving *s)
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
	s->wrote = malloc((m->nwords * 8 + 1u) * sizeof(*s->wrote));
	if (!s->before || !s->head || !s->stack || !s->order || !s->place ||
	    !s->next || !s->wrote)
		return false;
	memset(s->head, 0xff, s->n * sizeof(*s->head));
	return true;
}

static void release(struct solving *s)
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
static bool tell_as(struct solving *s, uint32_t i, const uint32_t *place)
{
	struct either e = s->either[i];

	return place[e.a] < place[e.b] ? add(s, e.a, e.b) : add(s, e.c, e.d);
}

/*
 * The order that was found, with as few switches as it can be had: what goes
 * wrong without them is told as it is in the one that was found.
 */
static void shorten(struct solving *s, const uint32_t *place)
{
	bool possible, fits = true;

	for (int i = 0; i < SHORTER && fits; i++) {
		uint32_t had = s->neither;

		linearise(s, true);
		if (carry_out(s, &possible))
			return;
		fits = possible && !s->gave_up && tell_as(s, s->broken, place);
		for (uint32_t k = had; k < s->neither && fits; k++)
			fits = tell_as(s, k, place);
	}
	for (uint32_t i = 0; i < s->n; i++)
		s->order[place[i]] = i;
}

static bool take(struct solving *s, struct maple_order_found *order)
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

/* What the cone is made wider by, and how often one was made. */
struct widening {
	uint32_t end[ENDS], n, cones;
};

static enum maple_order_answer solve_in(struct solving *s,
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
	struct solving s = { .m = m, .goal = goal, .cone = &cone };
	enum maple_order_answer answer;

	if (++wide->cones > CONES)
		return MAPLE_ORDER_UNKNOWN;
	answer = maple_order_cone(m, goal, wide->end, wide->n, &cone);
	if (answer != MAPLE_ORDER_FOUND)
		return answer;
	answer = solve_in(&s, order);
	free(cone.upto);
	if (s.nmissing && wide->n == ENDS && answer == MAPLE_ORDER_REFUTED)
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
