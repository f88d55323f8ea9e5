// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Local pairs (Maple, 3.6.1): two accesses of one thread, closer than the
 * vulnerability window, neither's location touched in between. An access
 * pairs with the latest access to each location before it, back to its own
 * location. Idiom 1's predictions are the other half (digest.c); at the end,
 * or when a cap is reached, both are correlated (correlate.c) and dropped.
 *
 * Condensed: accesses of a thread to a cell that agree in site, kind, epoch
 * and locks are one point, and pairs are between points. Which critical
 * sections an access was the last in shows only when it enters the history:
 * then its point learns its digests.
 *
 * What is bounded, and counted when it cuts:
 *  - after eight walks in a row that brought nothing new, a point is walked
 *    from less and less often, down to every 64th access (cut_walks);
 *  - a run has 4,194,304 steps to walk, and 2 more with each event, so that
 *    long walks do not take more than their share (cut_walks);
 *  - 16 pairs of the same two sites and kinds (cut_pairs), for distinct sites
 *    are worth more than more places of the same;
 *  - max_pairs pairs and points, four times as many stretches and edges; at
 *    the cap all is correlated and begins anew (pairs forgotten: cut_pairs).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pairs.h"

#define STEPS_FIRST  (1u << 22)
#define STEPS_EACH   2
#define PATIENCE     8
#define SKIP_BITS    6
#define ENTRY_POINTS 32
#define QUOTA	     16

void maple_pairs_init(struct maple_pairs *pairs, uint32_t max_pairs)
{
	pairs->max_pairs = max_pairs;
	pairs->generation = 1;
	pairs->steps = STEPS_FIRST;
}

/* The point of @entry's latest access, made if there is none; may be NULL. */
static int point_of(struct maple_pairs *pairs, struct maple_entry *entry,
		    struct maple_point **point)
{
	const struct maple_access *access = &entry->access;
	const struct maple_annotated *annotated = maple_annotations_get(
		pairs->annotations, access->set, access->first, 0);
	struct maple_point **at = &entry->points, *p;
	unsigned int n = 0;

	*point = NULL;
	if (!annotated)
		return -ENOMEM;
	for (; (p = *at); at = &p->other, n++)
		if (p->site == access->site && p->epoch == access->epoch &&
		    p->annotated == annotated && p->kind == access->kind &&
		    p->shared == access->shared)
			break;
	if (p) {
		*at = p->other;
	} else if (n >= ENTRY_POINTS) {
		pairs->stats->cut_pairs++;
		return 0;
	} else {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->epoch = maple_epoch_get(access->epoch);
		p->annotated = annotated;
		p->site = access->site;
		p->kind = access->kind;
		p->shared = access->shared;
		p->next = pairs->points;
		pairs->points = p;
		pairs->npoints++;
	}
	p->other = entry->points;
	entry->points = p;
	*point = p;
	return 0;
}

/* Whether any idiom that is wanted has such a pair. */
static bool wanted(const struct maple_pairs *pairs,
		   const struct maple_record *first,
		   const struct maple_record *last)
{
	if (maple_record_is_memory(first) != maple_record_is_memory(last) ||
	    first->site == MAPLE_SITE_NONE)
		return false;
	if (first->kind == MAPLE_EV_LOCK)
		return last->kind == MAPLE_EV_LOCK &&
		       (pairs->idioms & 1u << MAPLE_IDIOM_DEADLOCK);
	if (last->kind == MAPLE_EV_UNLOCK)
		return pairs->idioms & 1u << MAPLE_IDIOM_6;
	return true;
}

static int add(struct maple_pairs *pairs, const struct maple_record *first,
	       const struct maple_record *last, bool *fresh)
{
	const struct maple_annotated *held = NULL;
	struct maple_tally_item *pair, *quota;

	if (first->set && last->set) {
		int ret = maple_annotations_common(
			pairs->annotations, first->set, last->set, &held);
		if (ret)
			return ret;
	}
	pair = maple_tally_find(&pairs->pairs, (uintptr_t)first->point,
				(uintptr_t)last->point, (uintptr_t)held);
	if (pair)
		return 0;
	quota = maple_tally_at(&pairs->quotas, first->site, last->site,
			       first->kind << 8 | last->kind);
	if (!quota)
		return -ENOMEM;
	if (quota->count == QUOTA) {
		pairs->stats->cut_pairs++;
		return 0;
	}
	pair = maple_tally_at(&pairs->pairs, (uintptr_t)first->point,
			      (uintptr_t)last->point, (uintptr_t)held);
	if (!pair)
		return -ENOMEM;
	pair->count = ++quota->count;
	*fresh = true;
	return 0;
}

/* @first comes before @last, with nothing in between; false ends the walk. */
static bool visit(struct maple_pairs *pairs, const struct maple_record *first,
		  const struct maple_record *last, bool *fresh, int *ret)
{
	if (last->clock - first->clock >= pairs->window->events)
		return false;
	if (first->access == last->access)
		return true;
	if (!pairs->steps) {
		pairs->stats->cut_walks++;
		return false;
	}
	pairs->steps--;
	if (first->point && first->generation == pairs->generation &&
	    wanted(pairs, first, last))
		*ret = add(pairs, first, last, fresh);
	return !*ret;
}

/* All local pairs that end in @last, back to its own location. */
static int walk(struct maple_pairs *pairs, const struct maple_recent *recent,
		const struct maple_record *last, bool *fresh)
{
	const struct maple_record *first;
	uint64_t i = recent->newest;
	int ret = 0;

	while (i > last->before) {
		first = maple_recent_find(recent, i);
		if (!visit(pairs, first, last, fresh, &ret))
			return ret;
		i = first->older;
	}
	first = maple_recent_find(recent, last->before);
	if (first)
		visit(pairs, first, last, fresh, &ret);
	return ret;
}

static bool full(const struct maple_pairs *pairs)
{
	uint64_t max = pairs->max_pairs;

	return pairs->pairs.n >= max || pairs->npoints >= max ||
	       pairs->ndigests >= max || pairs->quotas.n >= max ||
	       pairs->nstretches >= 4 * max || pairs->nedges >= 4 * max;
}

/*
 * maple_pairs_access - @entry's latest access, just noted in history and
 *                      window, ends local pairs
 *
 * Returns 0 or -ENOMEM.
 */
int maple_pairs_access(struct maple_pairs *pairs, struct maple_entry *entry)
{
	struct maple_record *record;
	struct maple_point *point;
	bool fresh = false;
	int ret = full(pairs) ? maple_pairs_flush(pairs, false) : 0;

	pairs->steps += STEPS_EACH;
	entry->point = NULL;
	record = maple_window_find(pairs->window, entry->thread, entry->record);
	if (ret || !record)
		return ret;
	if (entry->generation != pairs->generation)
		entry->points = NULL;
	entry->generation = pairs->generation;
	ret = point_of(pairs, entry, &point);
	entry->point = point;
	if (ret || !point)
		return ret;
	record->point = point;
	record->generation = pairs->generation;
	if (entry->access.set->n) {
		entry->access.set->refs++;
		record->set = entry->access.set;
	}
	if (record->site == MAPLE_SITE_NONE)
		return 0;
	if (point->skip) {
		point->skip--;
		pairs->stats->cut_walks++;
		return 0;
	}
	ret = walk(pairs, pairs->window->thread[entry->thread], record, &fresh);
	if (fresh)
		point->fruitless = 0;
	else if (point->fruitless < PATIENCE + SKIP_BITS)
		point->fruitless++;
	if (point->fruitless > PATIENCE)
		point->skip = (uint16_t)((1u << (point->fruitless - PATIENCE)) -
					 1);
	return ret;
}

/* maple_pairs_fold - @entry's waiting access has entered @summary */
int maple_pairs_fold(struct maple_pairs *pairs, struct maple_entry *entry,
		     struct maple_summary *summary)
{
	const struct maple_access *access = &entry->access;
	struct maple_point *point = entry->point;
	struct maple_digest *digest;
	int ret = maple_digest_of(pairs, summary, &digest);

	if (!ret)
		ret = maple_digest_extend(pairs, digest, access->epoch,
					  access->clock, access->clock);
	if (ret || !point || entry->generation != pairs->generation)
		return ret;
	for (unsigned int i = 0; i < point->ndigests; i++)
		if (point->digest[i] == digest)
			return 0;
	if (point->ndigests < MAPLE_POINT_DIGESTS)
		point->digest[point->ndigests++] = digest;
	else
		pairs->stats->cut_pairs++;
	return 0;
}

/* maple_pairs_dependency - idiom 1 was predicted between two summaries */
int maple_pairs_dependency(struct maple_pairs *pairs,
			   const struct maple_dependency *d)
{
	struct maple_digest *from, *to;
	int ret = maple_digest_of(pairs, d->from, &from);

	if (!ret)
		ret = maple_digest_of(pairs, d->to, &to);
	/* After a flush, this is all that is known of the time before. */
	if (!ret && !from->nstretches)
		ret = maple_digest_extend(pairs, from, d->from_span->epoch,
					  d->from_span->first_clock,
					  d->from_span->last_clock);
	if (!ret && !to->nstretches)
		ret = maple_digest_extend(pairs, to, d->to_span->epoch,
					  d->to_span->first_clock,
					  d->to_span->last_clock);
	if (ret)
		return ret;
	return maple_digest_connect(pairs, from, to, d->disjoint, d->ordered);
}

/* maple_pairs_predict - what @d, in the iRoot's order, can do */
void maple_pairs_predict(struct maple_pairs *pairs, enum maple_idiom idiom,
			 const struct maple_digest *const d[MAPLE_IROOT_EVENTS],
			 bool disjoint, bool ordered)
{
	struct maple_iroot iroot = { .idiom = idiom };
	struct maple_brief brief = { .disjoint = disjoint, .ordered = ordered };

	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++) {
		iroot.e[i].site = d[i]->site;
		iroot.e[i].kind = d[i]->kind;
		brief.e[i].thread = d[i]->thread;
		brief.e[i].occurrence = d[i]->occurrence;
		brief.e[i].class = d[i]->class;
	}
	maple_iroots_predicted(pairs->iroots, &iroot, &brief);
}

static void clear(struct maple_pairs *pairs)
{
	struct maple_point *point;

	while ((point = pairs->points)) {
		pairs->points = point->next;
		maple_epoch_put(point->epoch);
		free(point);
	}
	pairs->npoints = 0;
	maple_digests_free(pairs);
	maple_tally_clear(&pairs->pairs);
	maple_tally_clear(&pairs->quotas);
}

/*
 * maple_pairs_flush - predicts what the pairs so far make possible, and
 *                     forgets them
 * @last: the run is over
 */
int maple_pairs_flush(struct maple_pairs *pairs, bool last)
{
	int ret = maple_pairs_correlate(pairs);

	if (!ret && (pairs->idioms & 1u << MAPLE_IDIOM_DEADLOCK))
		ret = maple_pairs_deadlocks(pairs);
	if (!last)
		pairs->stats->cut_pairs += pairs->pairs.n;
	clear(pairs);
	pairs->generation++;
	pairs->since = pairs->stats->events;
	return ret;
}

void maple_pairs_deinit(struct maple_pairs *pairs)
{
	clear(pairs);
}
