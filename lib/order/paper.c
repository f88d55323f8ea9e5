// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An order, on paper: the events of a cone in a row, and what goes wrong where
 * they are carried out in it. A read has another writer, two sections of a lock
 * overlap, a signal comes before its wait, something comes between two steps of
 * the goal: each of these must be one of two ways, which is told.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/mix.h"
#include "solve.h"

#define SLOTS 64 /* a power of two */
#define NONE  MAPLE_ORDER_NONE

static bool is_ready(const struct maple_solving *s, uint32_t node)
{
	const uint32_t *before = maple_solving_row(s, node);

	for (uint32_t t = 0; t < s->nthreads; t++)
		if (before[t] > s->next[t] && t != maple_solving_thread(s, node))
			return false;
	return true;
}

/*
 * maple_paper_lay - the events in an order that keeps to all that was told: the
 * run's own as far as it goes, or with as few switches as can be.
 */
void maple_paper_lay(struct maple_solving *s, bool stays)
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
		now = maple_solving_thread(s, best);
		s->next[now]++;
		s->place[best] = i;
		s->order[i] = best;
	}
}

/* Where @told stands in the table of those that were told, or could. */
static uint32_t *slot_of(const struct maple_solving *s,
			 const struct maple_order_either *told)
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
static bool widen(struct maple_solving *s)
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
static void tell(struct maple_solving *s, uint32_t a, uint32_t b, uint32_t c,
		 uint32_t d)
{
	struct maple_order_either told = { a, b, c, d };
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
static void wrong_read(struct maple_solving *s, uint32_t node, uint32_t wrote)
{
	uint32_t from = maple_solving_event(s, node)->writer;

	if (from == MAPLE_ORDER_INITIAL)
		tell(s, node, wrote, NONE, NONE);
	else if (wrote == MAPLE_ORDER_INITIAL)
		tell(s, maple_solving_node(s, from), node, NONE, NONE);
	else
		tell(s, wrote, maple_solving_node(s, from), node, wrote);
}

static uint32_t *wrote_at(const struct maple_solving *s,
			  const struct maple_order_touch *t)
{
	return &s->wrote[(size_t)t->word * MAPLE_ORDER_BYTES];
}

/* Carries out an access; whether it reads what it did in the run. */
static bool carry_access(struct maple_solving *s, uint32_t node)
{
	const struct maple_order_event *e = maple_solving_event(s, node);
	bool kept = maple_order_reads(e) && s->event[node] != s->cone->changed;
	uint32_t from = e->writer < MAPLE_ORDER_UNSURE
				? maple_solving_node(s, e->writer)
				: MAPLE_ORDER_INITIAL;
	bool right = true;

	for (uint32_t i = 0; i < e->ntouch; i++) {
		const struct maple_order_touch *t = &s->m->touch[e->touch + i];
		uint32_t *wrote = wrote_at(s, t);

		for (int k = 0; k < MAPLE_ORDER_BYTES; k++) {
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

static void miss(struct maple_solving *s, uint32_t end)
{
	for (uint32_t i = 0; i < s->nmissing; i++)
		if (s->missing[i] == end)
			return;
	if (s->nmissing == MAPLE_ORDER_ENDS)
		s->gave_up = true;
	else if (end != NONE)
		s->missing[s->nmissing++] = end;
}

/* Two sections that exclude each other: one ends before the other begins. */
static bool part(struct maple_solving *s, uint32_t open, uint32_t lock)
{
	const struct maple_order_event *a = maple_solving_event(s, open);
	const struct maple_order_event *b = maple_solving_event(s, lock);
	uint32_t a_end = a->mate == NONE ? NONE
					 : maple_solving_node(s, a->mate);
	uint32_t b_end = b->mate == NONE ? NONE
					 : maple_solving_node(s, b->mate);

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
static bool carry_sections(struct maple_solving *s, bool *right)
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
		const struct maple_order_event *e = maple_solving_event(s, node);

		if (e->kind == MAPLE_EV_UNLOCK && e->mate != NONE) {
			node = maple_solving_node(s, e->mate);
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
		if (r != NONE && maple_solving_thread(s, r) !=
					 maple_solving_thread(s, node)) {
			*right = false;
			possible = part(s, r, node);
		}
		for (reader = last[e->lock];
		     reader != NONE && !e->shared_lock && possible;
		     reader = under[reader])
			if (maple_solving_thread(s, reader) !=
			    maple_solving_thread(s, node)) {
				*right = false;
				possible = part(s, reader, node);
			}
		if (e->shared_lock) {
			under[node] = last[e->lock];
			last[e->lock] = node;
		} else if (r == NONE || maple_solving_thread(s, r) !=
						maple_solving_thread(s, node)) {
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
static bool comes_between(const struct maple_solving *s, uint32_t w, uint32_t a,
			  uint8_t a_kind, uint32_t b, uint8_t b_kind)
{
	if (!maple_order_meets(s->m, s->event[w], s->event[a], s->event[b]))
		return false;
	if (maple_order_writes(maple_solving_event(s, w)))
		return true;
	if (a_kind == MAPLE_EV_READ)
		return maple_solving_thread(s, w) == maple_solving_thread(s, a);
	return b_kind == MAPLE_EV_WRITE ||
	       maple_solving_thread(s, w) == maple_solving_thread(s, b);
}

/* Between two steps of the goal at one place nothing else counts there. */
static bool carry_goal(struct maple_solving *s)
{
	const struct maple_order_goal *goal = s->goal;
	bool right = true;

	for (unsigned int k = 1; k < s->cone->sure; k++) {
		struct maple_pattern_step to =
			maple_pattern_step(goal->pattern.number, k);
		uint32_t b = maple_solving_node(s, goal->event[k]), a = NONE;
		struct maple_pattern_step from = to;

		for (unsigned int i = k; i-- > 0 && a == NONE;) {
			from = maple_pattern_step(goal->pattern.number, i);
			if (from.place == to.place)
				a = maple_solving_node(s, goal->event[i]);
		}
		if (a == NONE ||
		    maple_solving_thread(s, a) == maple_solving_thread(s, b))
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

static void forget_writes(struct maple_solving *s,
			  const struct maple_order_event *e)
{
	for (uint32_t i = 0; i < e->ntouch; i++)
		for (int k = 0; k < MAPLE_ORDER_BYTES; k++)
			wrote_at(s, &s->m->touch[e->touch + i])[k] =
				MAPLE_ORDER_INITIAL;
}

/*
 * maple_paper_carry_out - carries the order out; true: without a fault. Else
 * @possible says whether what was wrong can be otherwise.
 */
bool maple_paper_carry_out(struct maple_solving *s, bool *possible)
{
	bool right = true;

	s->broken = NONE;
	for (uint32_t i = 0; i < s->n; i++)
		forget_writes(s, maple_solving_event(s, i));
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t node = s->order[i], wait, signal;
		const struct maple_order_event *e = maple_solving_event(s, node);

		if (e->ntouch)
			right &= carry_access(s, node);
		if (e->kind != MAPLE_EV_WAKE || e->mate == NONE || !e->nneed)
			continue;
		/* The signal is lost on who does not wait yet. */
		wait = maple_solving_node(s, e->mate);
		signal = maple_solving_node(s, s->m->need[e->need]);
		if (s->place[signal] < s->place[wait]) {
			right = false;
			tell(s, wait, signal, NONE, NONE);
		}
	}
	*possible = carry_sections(s, &right);
	right &= carry_goal(s);
	return right && *possible && !s->gave_up;
}
