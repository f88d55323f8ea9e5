// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Compound idioms from local pairs and idiom 1's predictions (Maple, 3.6.2):
 * P's pair p, c, and two accesses s, q of another thread Q, such that s can
 * depend on p and c on q.
 *
 *   P   p ......... c
 *        \         /
 *   Q     s ...... q
 *
 * Idioms 2, 3, 4: s is not over before p, q does not begin only after c, and
 * s can come before q in Q's order. On two locations, P holds no lock from p
 * to c that s or q is under: Q could not have come in between.
 * Idiom 5: q can come before s in Q's order, and q, s are a local pair of Q
 * for which the same holds the other way round. Where one lock is held from p
 * to c and from q to s, that speaks against it: one of the pairs is over
 * before the other begins.
 * Idiom 6: c, of another location, is what q depends on as well; s comes
 * before q. Q can do both after P has done both, so no lock that P holds all
 * the way excludes it.
 *
 * A stretch of a digest stands for accesses from its first to its last clock.
 * What is asked of Q's order is asked of the ends that are most likely to
 * have it: as in the original, this is necessary but not sufficient.
 *
 * Work is bounded: 4,194,304 combinations, and 4 more for each event since
 * the last flush. Of each pair of sites one place comes before all others,
 * so that what is cut (cut_correlations, in pairs) is more of the same.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "pairs.h"

#define STEPS_FIRST (1u << 22)
#define STEPS_EACH  4

struct correlation {
	struct maple_pairs *pairs;
	struct maple_tally crossed; /* local pairs that idiom 5 can use */
	uint64_t steps;
	const struct maple_point *first, *last;
	const struct maple_annotated *held;
	bool marking; /* fills crossed, predicts nothing */
	bool nested;  /* one lock is around P's pair, and around Q's */
	int error;
};

/* The first stretch of @s that is not over before @epoch. */
static const struct maple_spell *earliest(const struct maple_digest *s,
					  const struct maple_epoch *epoch)
{
	for (uint32_t i = 0; i < s->nstretches; i++)
		if (!maple_epoch_before(s->stretches[i].epoch, epoch))
			return &s->stretches[i];
	return NULL;
}

/* The last stretch of @q that does not begin only after @epoch. */
static const struct maple_spell *latest(const struct maple_digest *q,
					const struct maple_epoch *epoch)
{
	for (uint32_t i = q->nstretches; i-- > 0;)
		if (!maple_epoch_before(epoch, q->stretches[i].epoch))
			return &q->stretches[i];
	return NULL;
}

static const struct maple_spell *last_of(const struct maple_digest *d)
{
	return d->nstretches ? &d->stretches[d->nstretches - 1] : NULL;
}

/* How many events after @from's first @to's last comes. */
static int32_t after(const struct maple_spell *from,
		     const struct maple_spell *to)
{
	return (int32_t)(to->last_clock - from->first_clock);
}

/* Whether s, after p, can come before q, before c (Check A). */
static bool between(const struct correlation *c, const struct maple_digest *s,
		    const struct maple_digest *q, int32_t distance)
{
	const struct maple_spell *from = earliest(s, c->first->epoch);
	const struct maple_spell *to = latest(q, c->last->epoch);

	return from && to && after(from, to) >= distance;
}

/* Whether q, before c, can come before s, after p (Check B). */
static bool across(const struct correlation *c, const struct maple_digest *s,
		   const struct maple_digest *q)
{
	const struct maple_spell *to = last_of(s), *from;

	if (!to || maple_epoch_before(to->epoch, c->first->epoch) ||
	    !q->nstretches)
		return false;
	from = &q->stretches[0];
	return !maple_epoch_before(c->last->epoch, from->epoch) &&
	       after(from, to) > 0;
}

/* Whether s, after p, can come before q, which does not precede c. */
static bool behind(const struct correlation *c, const struct maple_digest *s,
		   const struct maple_digest *q)
{
	const struct maple_spell *from = earliest(s, c->first->epoch);
	const struct maple_spell *to = last_of(q);

	return from && to && !maple_epoch_before(to->epoch, c->last->epoch) &&
	       after(from, to) > 0;
}

static bool one_access(const struct maple_digest *s,
		       const struct maple_digest *q)
{
	return s == q ||
	       (s->update && q->update && s->location == q->location &&
		s->site == q->site && s->thread == q->thread &&
		s->annotated == q->annotated);
}

/* Whether all that @early stands for was known when all of @late was done. */
static bool knew(const struct correlation *c, uint32_t early_thread,
		 uint32_t early_clock, uint32_t late_thread,
		 uint32_t late_clock, const struct maple_link *edge)
{
	struct maple_cause_span early = { early_thread, early_clock,
					  early_clock };
	struct maple_cause_span late = { late_thread, late_clock, late_clock };
	bool exclusive = !edge->disjoint ||
			 !maple_event_is_memory(edge->end->kind);

	return maple_causes_before(c->pairs->causes, &early, &late, exclusive);
}

/*
 * Whether what one thread did because of another (causes.c) keeps @s from
 * coming after p, or @q from coming before c (@inward) or after it, in Q's
 * order: s before q, or in idiom 5 the other way round.
 */
static bool against(const struct correlation *c, enum maple_idiom idiom,
		    const struct maple_link *s, const struct maple_link *q)
{
	const struct maple_spell *from = NULL, *to = NULL;
	uint32_t p_thread = c->first->epoch->thread, i;

	for (i = 0; i < s->end->nstretches; i++) {
		const struct maple_spell *at = &s->end->stretches[i];

		if (knew(c, s->end->thread, at->last_clock, p_thread,
			 c->first->first_clock, s))
			continue;
		from = at;
		if (idiom != MAPLE_IDIOM_5)
			break;
		from = last_of(s->end);
		break;
	}
	for (i = q->end->nstretches; i-- > 0 && !to;) {
		const struct maple_spell *at = &q->end->stretches[i];
		bool over = idiom == MAPLE_IDIOM_6
				    ? knew(c, q->end->thread, at->last_clock,
					   p_thread, c->last->first_clock, q)
				    : knew(c, p_thread, c->last->last_clock,
					   q->end->thread, at->first_clock, q);

		if (!over)
			to = at;
		else if (idiom == MAPLE_IDIOM_6)
			break;
	}
	if (!from || !to)
		return true;
	if (idiom == MAPLE_IDIOM_5)
		return q->end->stretches[0].first_clock > from->last_clock;
	return after(from, to) < (idiom == MAPLE_IDIOM_2 ? 0 : 1);
}

static void predict(const struct correlation *c, enum maple_idiom idiom,
		    const struct maple_digest *e0, const struct maple_digest *e1,
		    const struct maple_digest *e2, const struct maple_digest *e3,
		    const struct maple_link *one, const struct maple_link *two)
{
	const struct maple_digest *const d[] = { e0, e1, e2, e3 };
	const struct maple_brief how = {
		.disjoint = one->disjoint && two->disjoint,
		.ordered = one->ordered || two->ordered,
		.against = c->nested || against(c, idiom, one, two)
				   ? MAPLE_AGAINST
			   : one->against > two->against ? one->against
							 : two->against,
	};

	maple_pairs_predict(c->pairs, idiom, d, &how);
}

/* Idioms 2 to 4, s and q of one thread. */
static void enclosed(const struct correlation *c, const struct maple_digest *p,
		     const struct maple_digest *last,
		     const struct maple_link *s, const struct maple_link *q)
{
	bool same = p->location == last->location;

	if (same && one_access(s->end, q->end) && between(c, s->end, q->end, 0))
		predict(c, MAPLE_IDIOM_2, p, q->end, last, last, s, q);
	if (!between(c, s->end, q->end, 1))
		return;
	if (same)
		predict(c, MAPLE_IDIOM_3, p, s->end, q->end, last, s, q);
	else if (!c->held ||
		 (!maple_annotated_exclude(c->held, s->end->annotated) &&
		  !maple_annotated_exclude(c->held, q->end->annotated)))
		predict(c, MAPLE_IDIOM_4, p, s->end, q->end, last, s, q);
}

/*
 * What crossed remembers of a local pair: the locks that are held all the way,
 * or that there are none, or not always the same.
 */
#define HELD_NOTHING 1

static uint64_t held_always(uint64_t before, const struct maple_annotated *held)
{
	uint64_t now = held ? (uintptr_t)held : HELD_NOTHING;

	assert(!held || now != HELD_NOTHING);
	return !before || before == now ? now : HELD_NOTHING;
}

/* Whether the two pairs can only come one after the other. */
static bool sections_exclude(const struct maple_annotated *held, uint64_t other)
{
	return held && other != HELD_NOTHING &&
	       maple_annotated_exclude(
		       held, (const struct maple_annotated *)(uintptr_t)other);
}

static void crossing(struct correlation *c, const struct maple_digest *p,
		     const struct maple_digest *last,
		     const struct maple_link *s, const struct maple_link *q)
{
	struct maple_tally_item *item;

	if (!across(c, s->end, q->end))
		return;
	if (c->marking) {
		item = maple_tally_at(&c->crossed, (uintptr_t)p,
				      (uintptr_t)last, 0);
		if (item)
			item->count = held_always(item->count, c->held);
		else
			c->error = -ENOMEM;
		return;
	}
	item = maple_tally_find(&c->crossed, (uintptr_t)q->end,
				(uintptr_t)s->end, 0);
	if (!item)
		return;
	c->nested = sections_exclude(c->held, item->count);
	predict(c, MAPLE_IDIOM_5, p, s->end, q->end, last, s, q);
	c->nested = false;
}

/* Idioms 2 to 5: c depends on another thread. */
static void inward(struct correlation *c, const struct maple_digest *p,
		   const struct maple_digest *last)
{
	bool same = p->location == last->location;

	for (uint32_t i = 0; i < p->after.n; i++)
		for (uint32_t j = 0; j < last->before.n; j++) {
			const struct maple_link *s = &p->after.edge[i];
			const struct maple_link *q = &last->before.edge[j];

			if (s->end->thread != q->end->thread)
				continue;
			if (!c->marking)
				enclosed(c, p, last, s, q);
			if (!same)
				crossing(c, p, last, s, q);
		}
}

/* Idiom 6: another thread depends on c as well. */
static void outward(const struct correlation *c, const struct maple_digest *p,
		    const struct maple_digest *last)
{
	for (uint32_t i = 0; i < p->after.n; i++)
		for (uint32_t j = 0; j < last->after.n; j++) {
			const struct maple_link *s = &p->after.edge[i];
			const struct maple_link *q = &last->after.edge[j];

			if (s->end->thread == q->end->thread &&
			    behind(c, s->end, q->end))
				predict(c, MAPLE_IDIOM_6, p, s->end, last,
					q->end, s, q);
		}
}

static bool spend(struct correlation *c, uint64_t steps)
{
	if (c->steps < steps)
		return false;
	c->steps -= steps;
	return true;
}

/* One combination of digests of the pair; false if it was cut. */
static bool correlate(struct correlation *c, const struct maple_digest *p,
		      const struct maple_digest *last)
{
	bool in = last->before.n && (c->pairs->idioms & ~(1u << MAPLE_IDIOM_6));
	bool out = last->after.n && p->location != last->location &&
		   (c->pairs->idioms & 1u << MAPLE_IDIOM_6);

	if (in) {
		if (!spend(c, (uint64_t)p->after.n * last->before.n))
			return false;
		inward(c, p, last);
	}
	if (out && !c->marking) {
		if (!spend(c, (uint64_t)p->after.n * last->after.n))
			return false;
		outward(c, p, last);
	}
	return true;
}

/* All pairs; @first_only: those that are the first between their sites. */
static void pass(struct correlation *c, bool first_only)
{
	const struct maple_tally *all = &c->pairs->pairs;

	for (uint32_t i = 0; i < all->n && !c->error; i++) {
		const struct maple_tally_item *pair = &all->item[i];

		if ((pair->count == 1) != first_only)
			continue;
		c->first = maple_pair_first(pair);
		c->last = maple_pair_last(pair);
		c->held = maple_pair_held(pair);
		if (maple_late_is(c->pairs->late)) {
			c->pairs->stats->cut_correlations++;
			continue;
		}
		for (unsigned int j = 0; j < c->first->ndigests; j++)
			for (unsigned int k = 0; k < c->last->ndigests; k++)
				if (c->first->digest[j]->after.n &&
				    !correlate(c, c->first->digest[j],
					       c->last->digest[k]))
					c->pairs->stats->cut_correlations++;
	}
}

/* maple_pairs_correlate - predicts idioms 2 to 6; 0 or -ENOMEM */
int maple_pairs_correlate(struct maple_pairs *pairs)
{
	struct correlation c = {
		.pairs = pairs,
		.steps = STEPS_FIRST +
			 STEPS_EACH * (pairs->stats->events - pairs->since),
	};
	uint64_t steps = c.steps / 2;

	c.marking = pairs->idioms & 1u << MAPLE_IDIOM_5;
	if (c.marking) {
		c.steps -= steps;
		pass(&c, true);
		pass(&c, false);
		c.steps += steps;
	}
	c.marking = false;
	pass(&c, true);
	pass(&c, false);
	maple_tally_deinit(&c.crossed);
	return c.error;
}
