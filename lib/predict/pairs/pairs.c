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
 * then, or when the first dependency is found, its point learns its digests.
 *
 * What is bounded, and counted when it cuts:
 *  - after eight walks in a row that brought nothing new, a site of a thread
 *    is walked from less and less often, down to every 64th access; but when
 *    the thread goes from one site to another as it never did before, the
 *    next 64 accesses are all walked from (cut_walks);
 *  - a run may visit 1,048,576 accesses in walks, and one more with every
 *    eight events, so that long walks do not take more than their share.
 *    Once that is used up, there are no walks until 4,096 visits have come
 *    together again: few whole walks find more than many that are cut at
 *    their first step, and cost less (cut_walks);
 *  - 16 pairs of the same two sites and kinds (cut_pairs), for distinct sites
 *    are worth more than more places of the same;
 *  - 256 dependencies of the same two sites and kinds, unless one has an end
 *    of a local pair or is better than those before (cut_edges; predict.c);
 *  - max_pairs pairs, points and digests, four times as many stretches and
 *    edges; at the cap all is correlated and begins anew (pairs forgotten:
 *    cut_pairs). 32 points of a thread on a cell.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pairs.h"

#define STEPS_FIRST  (1u << 23)
#define STEPS_EACH   1
#define STEPS_VISIT  8
#define STEPS_REST   (1u << 15)
#define FRUITLESS    8
#define SKIP_BITS    6
#define NOVEL	     64
#define ENTRY_POINTS 32
#define QUOTA	     16

void maple_pairs_init(struct maple_pairs *pairs, uint32_t max_pairs)
{
	pairs->max_pairs = max_pairs;
	pairs->generation = 1;
	pairs->steps = STEPS_FIRST;
}

/*
 * maple_pairs_wanted - whether to look for local pairs that end in the
 *                      thread's next access
 * @executed: what the thread knows of its site
 * @novel: the thread has never come to it from the site before
 */
bool maple_pairs_wanted(struct maple_pairs *pairs,
			struct maple_executions *executed, bool novel,
			uint32_t *curious)
{
	pairs->steps += STEPS_EACH;
	if (novel)
		*curious = NOVEL;
	if (pairs->resting && pairs->steps < STEPS_REST) {
		pairs->stats->cut_walks++;
		return false;
	}
	pairs->resting = false;
	if (*curious) {
		--*curious;
		return true;
	}
	if (!executed->skip)
		return true;
	executed->skip--;
	pairs->stats->cut_walks++;
	return false;
}

/* maple_pairs_walked - whether the walks from an access brought anything */
void maple_pairs_walked(struct maple_executions *executed, bool fresh)
{
	if (fresh)
		executed->fruitless = 0;
	else if (executed->fruitless < FRUITLESS + SKIP_BITS)
		executed->fruitless++;
	executed->skip = 0;
	if (executed->fruitless > FRUITLESS)
		executed->skip =
			(uint8_t)((1u << (executed->fruitless - FRUITLESS)) - 1);
}

/* Points of former generations are no more. */
static void renew(const struct maple_pairs *pairs, struct maple_entry *entry)
{
	if (entry->generation == pairs->generation)
		return;
	entry->generation = pairs->generation;
	entry->points = NULL;
	entry->point = NULL;
}

/*
 * The point of @access, which is, or is about to be, @entry's latest; made if
 * there is none. *@point stays NULL if there can be no more.
 */
static int point_of(struct maple_pairs *pairs, struct maple_entry *entry,
		    const struct maple_latest *access, uint64_t first,
		    struct maple_point **point)
{
	const struct maple_annotated *annotated = maple_annotations_get(
		pairs->annotations, access->set,
		&(struct maple_lock_place){ .first = first });
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
		p = maple_pool_make(&pairs->point_pool, sizeof(*p));
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
		p->first_clock = access->clock;
	}
	p->last_clock = access->clock;
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

/* An access that walks. */
struct walker {
	struct maple_pairs *pairs;
	struct maple_entry *entry;
	const struct maple_latest *access; /* not yet the entry's latest */
	const struct maple_record *record;
	struct maple_point *point; /* once there is a pair */
	bool fresh;
};

/* The point of @entry's latest access, which may be in the history already. */
static int point_latest(struct maple_pairs *pairs, struct maple_entry *entry)
{
	const struct maple_latest *access = &entry->access;
	int ret;

	renew(pairs, entry);
	if (entry->point)
		return 0;
	ret = point_of(pairs, entry, access, access->first, &entry->point);
	for (uint32_t i = 0; i < entry->nfolded && !ret; i++)
		ret = maple_pairs_fold(pairs, entry, entry->folded[i]);
	return ret;
}

/* A pair for which there is room. */
static int add(struct walker *w, struct maple_entry *entry, uint64_t *quota)
{
	const struct maple_annotated *held = NULL;
	const struct maple_latest *access = &entry->access;
	struct maple_pairs *pairs = w->pairs;
	struct maple_tally_item *pair;
	int ret = point_latest(pairs, entry);

	if (!ret && !w->point)
		ret = point_of(pairs, w->entry, w->access,
			       maple_lockset_outside(w->access->set,
						     w->entry->access.set),
			       &w->point);
	if (ret || !entry->point || !w->point)
		return ret;
	assert(entry->generation == pairs->generation);
	if (access->set->n && w->access->set->n)
		ret = maple_annotations_common(pairs->annotations, access->set,
					       w->access->set, &held);
	if (ret)
		return ret;
	pair = maple_tally_at(&pairs->pairs, (uintptr_t)entry->point,
			      (uintptr_t)w->point, (uintptr_t)held);
	if (!pair)
		return -ENOMEM;
	if (pair->count)
		return 0;
	pair->count = ++*quota & MAPLE_QUOTA_COUNT;
	w->fresh = true;
	return 0;
}

/* A site's 24 bits, whether it is a call's, and the kind, which is below 8. */
static uint64_t end_key(const struct maple_record *record)
{
	uint64_t site = record->site & ~MAPLE_SITE_CALL;

	return site << 4 | (record->site & MAPLE_SITE_CALL ? 8 : 0) |
	       record->kind;
}

static uint64_t quota_key(const struct maple_record *first,
			  const struct maple_record *last)
{
	return end_key(first) << 28 | end_key(last);
}

/* @first comes before, with nothing in between; false ends the walk. */
static bool visit(struct walker *w, const struct maple_record *first, int *ret)
{
	struct maple_pairs *pairs = w->pairs;
	const struct maple_record *last = w->record;
	struct maple_entry *entry = first->entry;
	uint64_t *quota;

	if (first->index == last->before && first->location == last->location)
		entry = w->entry;
	if (last->clock - first->clock >= pairs->window->events)
		return false;
	if (first->access == last->access)
		return true;
	if (pairs->steps < STEPS_VISIT) {
		pairs->stats->cut_walks++;
		pairs->resting = true;
		return false;
	}
	pairs->steps -= STEPS_VISIT;
	/* Without memory, an access may be in the window alone. */
	if (!entry || !entry->access.set ||
	    entry->access.clock != first->clock || !wanted(pairs, first, last))
		return true;
	quota = maple_quotas_at(&pairs->quotas, quota_key(first, last));
	if (!quota)
		*ret = -ENOMEM;
	else if ((*quota & MAPLE_QUOTA_COUNT) == QUOTA)
		pairs->stats->cut_pairs++;
	else
		*ret = add(w, entry, quota);
	return !*ret;
}

/* The walk will come to @first: what visit() looks at begins to be loaded. */
static void load(const struct walker *w, const struct maple_record *first)
{
	if (!first)
		return;
	if (first->entry)
		__builtin_prefetch(&first->entry->access);
	maple_quotas_load(&w->pairs->quotas, quota_key(first, w->record));
}

/* All local pairs that end in the walker, back to its own location. */
static int walk(struct walker *w, const struct maple_recent *recent)
{
	const struct maple_record *first;
	uint64_t i = recent->newest;
	int ret = 0;

	while (i > w->record->before) {
		first = maple_recent_find(recent, i);
		assert(first);
		load(w, maple_recent_find(recent, first->older));
		if (!visit(w, first, &ret))
			return ret;
		i = first->older;
	}
	first = maple_recent_find(recent, w->record->before);
	if (first)
		visit(w, first, &ret);
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
 * maple_pairs_access - finds the local pairs that end in @access to @entry's
 *                      cell
 * @access: in the window already, but not yet in the history
 * @point: what to make entry->point when it is
 * @fresh: set if there was any new pair
 *
 * Returns 0 or -ENOMEM.
 */
int maple_pairs_access(struct maple_pairs *pairs, struct maple_entry *entry,
		       const struct maple_latest *access,
		       struct maple_point **point, bool *fresh)
{
	struct walker w = { .pairs = pairs, .entry = entry, .access = access };
	int ret = full(pairs) ? maple_pairs_flush(pairs, false) : 0;

	*point = NULL;
	if (ret)
		return ret;
	if (pairs->steps < STEPS_VISIT) {
		pairs->stats->cut_walks++;
		return 0;
	}
	renew(pairs, entry);
	w.record =
		maple_window_find(pairs->window, entry->thread, entry->record);
	if (!w.record || w.record->site == MAPLE_SITE_NONE)
		return 0;
	ret = walk(&w, pairs->window->thread[entry->thread]);
	*point = w.point;
	*fresh |= w.fresh;
	return ret;
}

/* maple_pairs_fold - @entry's waiting access has entered @summary */
int maple_pairs_fold(struct maple_pairs *pairs, struct maple_entry *entry,
		     struct maple_summary *summary)
{
	struct maple_span *span = &summary->latest;

	if (entry->point && entry->generation == pairs->generation) {
		span->point = entry->point;
		span->generation = pairs->generation;
	}
	if (!summary->digest || summary->generation != pairs->generation)
		return 0;
	return maple_digest_extend(pairs, summary->digest, span);
}

/*
 * maple_pairs_known - whether idiom 1 was predicted between two summaries,
 *                     in this generation, with facts as good
 */
bool maple_pairs_known(const struct maple_pairs *pairs,
		       const struct maple_dependency *d)
{
	return d->from->digest && d->from->generation == pairs->generation &&
	       d->to->digest && d->to->generation == pairs->generation &&
	       maple_digest_connected(d->from->digest, d->to->digest,
				      d->ordered);
}

/* maple_pairs_dependency - idiom 1 was predicted between two summaries */
int maple_pairs_dependency(struct maple_pairs *pairs,
			   const struct maple_dependency *d)
{
	struct maple_digest *from, *to;
	int ret = maple_digest_of(pairs, d->from, &from);

	if (!ret)
		ret = maple_digest_of(pairs, d->to, &to);
	if (ret)
		return ret;
	return maple_digest_connect(pairs, from, to, d);
}

/* maple_pairs_predict - what @d, in the iRoot's order, can do */
void maple_pairs_predict(struct maple_pairs *pairs, enum maple_idiom idiom,
			 const struct maple_digest *const d[MAPLE_IROOT_EVENTS],
			 const struct maple_brief *how)
{
	struct maple_iroot iroot = { .idiom = idiom };
	struct maple_brief brief = *how;

	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++) {
		assert(d[i]->kind && d[i]->kind != MAPLE_EV_UPDATE);
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
	uint32_t n = 0;

	while ((point = pairs->points)) {
		pairs->points = point->next;
		maple_epoch_put(point->epoch);
		n++;
	}
	assert(n == pairs->npoints);
	maple_pool_clear(&pairs->point_pool);
	pairs->npoints = 0;
	maple_digests_free(pairs);
	maple_tally_clear(&pairs->pairs);
	maple_quotas_clear(&pairs->quotas);
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
	maple_tally_deinit(&pairs->pairs);
	maple_quotas_deinit(&pairs->quotas);
}
