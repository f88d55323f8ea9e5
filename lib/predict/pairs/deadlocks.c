// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Idiom 5 as a deadlock (Maple, 2; algorithms.md 2): P takes a, then b while
 * it holds a; Q takes b, then a while it holds b.
 *
 *   P   L(a) e0 ... L(b) e3
 *   Q   L(b) e2 ... L(a) e1
 *
 * A local pair of two LOCKs is one of these halves: the first lock is still
 * held, or else its UNLOCK would be the latest access to it. Two halves on
 * crossed locks make a deadlock unless happens-before keeps them apart, or a
 * third lock, held around both, does.
 *
 * Halves are compared by location; one of more than 4096 on the same two
 * locks is not (cut_correlations).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "pairs.h"

#define HALVES_MAX 4096

struct half {
	struct half *next; /* on the same locks in the same order */
	const struct maple_point *first, *last;
	const struct maple_digest *a, *b;
};

struct halves {
	struct maple_pairs *pairs;
	struct half *half;
	uint32_t n, room;
	struct maple_tally lists; /* by two locations: index + 1, and length */
};

static bool feasible(const struct maple_digest *from,
		     const struct maple_digest *to)
{
	bool disjoint;

	return !(from->shared && to->shared) &&
	       maple_annotated_feasible(from->annotated, to->annotated, false,
					&disjoint);
}

static void compare(struct maple_pairs *pairs, const struct half *p,
		    const struct half *q)
{
	const struct maple_digest *const d[] = { p->a, q->b, q->a, p->b };
	const struct maple_brief how = { .disjoint = true };

	if (p->a->thread == q->a->thread ||
	    maple_epoch_before(q->last->epoch, p->first->epoch) ||
	    maple_epoch_before(p->last->epoch, q->first->epoch) ||
	    !feasible(p->a, q->b) || !feasible(q->a, p->b))
		return;
	maple_pairs_predict(pairs, MAPLE_IDIOM_DEADLOCK, d, &how);
}

static int add(struct halves *h, const struct maple_tally_item *pair,
	       const struct maple_digest *a, const struct maple_digest *b)
{
	if (!maple_array_reserve(h->half, h->n, h->room))
		return -ENOMEM;
	h->half[h->n++] = (struct half){
		.first = maple_pair_first(pair),
		.last = maple_pair_last(pair),
		.a = a,
		.b = b,
	};
	return 0;
}

static int collect(struct halves *h)
{
	const struct maple_tally *all = &h->pairs->pairs;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct maple_tally_item *pair = &all->item[i];
		const struct maple_point *first = maple_pair_first(pair);
		const struct maple_point *last = maple_pair_last(pair);

		if (first->kind != MAPLE_EV_LOCK || last->kind != MAPLE_EV_LOCK)
			continue;
		for (unsigned int j = 0; j < first->ndigests; j++)
			for (unsigned int k = 0; k < last->ndigests; k++) {
				if (!last->digest[k]->before.n)
					continue;
				if (add(h, pair, first->digest[j],
					last->digest[k]))
					return -ENOMEM;
			}
	}
	return 0;
}

/* Chains the halves by their locks. */
static int chain(struct halves *h)
{
	struct maple_tally lengths = { 0 };
	int ret = 0;

	for (uint32_t i = 0; i < h->n && !ret; i++) {
		struct half *half = &h->half[i];
		struct maple_tally_item *list, *length;

		list = maple_tally_at(&h->lists, half->a->location,
				      half->b->location, 0);
		length = maple_tally_at(&lengths, half->a->location,
					half->b->location, 0);
		if (!list || !length) {
			ret = -ENOMEM;
		} else if (length->count == HALVES_MAX) {
			h->pairs->stats->cut_correlations++;
		} else {
			length->count++;
			half->next = list->count ? &h->half[list->count - 1]
						 : NULL;
			list->count = i + 1;
		}
	}
	maple_tally_deinit(&lengths);
	return ret;
}

static void cross(const struct halves *h)
{
	for (uint32_t i = 0; i < h->lists.n; i++) {
		const struct maple_tally_item *list = &h->lists.item[i];
		const struct maple_tally_item *other = maple_tally_find(
			&h->lists, list->key[1], list->key[0], 0);

		if (!other)
			continue;
		assert(list->count && list->count <= h->n);
		assert(other->count && other->count <= h->n);
		for (const struct half *p = &h->half[list->count - 1]; p;
		     p = p->next)
			for (const struct half *q = &h->half[other->count - 1];
			     q; q = q->next)
				compare(h->pairs, p, q);
	}
}

/* maple_pairs_deadlocks - predicts them; 0 or -ENOMEM */
int maple_pairs_deadlocks(struct maple_pairs *pairs)
{
	struct halves h = { .pairs = pairs };
	int ret = collect(&h);

	if (!ret)
		ret = chain(&h);
	if (!ret)
		cross(&h);
	free(h.half);
	maple_tally_deinit(&h.lists);
	return ret;
}
