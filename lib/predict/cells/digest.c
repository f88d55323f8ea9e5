// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Digests: what is kept of a cell's summaries for the compound idioms, which
 * are worked out at the end, when the history may long be pruned or its
 * memory freed. A digest has the summary's stretches of time and the
 * dependencies that were predicted with it at one end.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "predict/pairs/pairs.h"

#define BUCKETS	      (1u << 16)
#define EDGES_MAX     64 /* per digest and direction */
#define STRETCHES_MAX 64 /* per digest; the oldest goes first */

static bool same(const struct maple_digest *digest,
		 const struct maple_summary *summary)
{
	return digest->location == summary->location &&
	       digest->annotated == summary->annotated &&
	       digest->site == summary->site &&
	       digest->thread == summary->thread &&
	       digest->kind == summary->kind &&
	       digest->shared == summary->shared &&
	       digest->update == summary->update;
}

static struct maple_digest **bucket(struct maple_pairs *pairs,
				    const struct maple_summary *summary)
{
	const uint64_t key[] = {
		summary->location,
		(uintptr_t)summary->annotated,
		(uint64_t)summary->site << 32 | (uint32_t)summary->thread << 8 |
			summary->kind,
	};

	if (!pairs->digests)
		pairs->digests = calloc(BUCKETS, sizeof(*pairs->digests));
	if (!pairs->digests)
		return NULL;
	return &pairs->digests[XXH3_64bits(key, sizeof(key)) % BUCKETS];
}

static struct maple_digest *digest_make(struct maple_pairs *pairs,
					const struct maple_summary *summary)
{
	struct maple_digest *d =
		maple_pool_make(&pairs->digest_pool, sizeof(*d));

	if (!d)
		return NULL;
	d->location = summary->location;
	d->annotated = summary->annotated;
	d->site = summary->site;
	d->thread = summary->thread;
	d->kind = summary->kind;
	d->shared = summary->shared;
	d->update = summary->update;
	d->occurrence = maple_summary_span(summary, 0)->occurrence;
	d->class = maple_summary_span(summary, 0)->class;
	pairs->ndigests++;
	return d;
}

/*
 * maple_digest_of - the digest of @summary, made if there is none yet
 *
 * Returns 0 or -ENOMEM. Summaries that are the same but for the time, of
 * which pruning may have removed one before the other was made, have one.
 */
int maple_digest_of(struct maple_pairs *pairs, struct maple_summary *summary,
		    struct maple_digest **digest)
{
	struct maple_digest **at, *d;

	if (summary->digest && summary->generation == pairs->generation) {
		*digest = summary->digest;
		return 0;
	}
	at = bucket(pairs, summary);
	if (!at)
		return -ENOMEM;
	for (d = *at; d && !same(d, summary); d = d->next)
		;
	if (!d) {
		d = digest_make(pairs, summary);
		if (!d)
			return -ENOMEM;
		d->next = *at;
		*at = d;
	}
	for (uint32_t i = 0; i < summary->nspans; i++) {
		int ret = maple_digest_extend(pairs, d,
					      maple_summary_span(summary, i));

		if (ret)
			return ret;
	}
	summary->digest = d;
	summary->generation = pairs->generation;
	*digest = d;
	return 0;
}

static void attach(struct maple_pairs *pairs, struct maple_digest *digest,
		   struct maple_point *point)
{
	for (unsigned int i = 0; i < point->ndigests; i++)
		if (point->digest[i] == digest)
			return;
	if (point->ndigests < MAPLE_POINT_DIGESTS)
		point->digest[point->ndigests++] = digest;
	else
		pairs->stats->cut_pairs++;
}

/* A place for one more stretch, or NULL. */
static struct maple_spell *stretch_new(struct maple_pairs *pairs,
				       struct maple_digest *digest)
{
	if (digest->nstretches == STRETCHES_MAX) {
		maple_epoch_put(digest->stretches[0].epoch);
		memmove(digest->stretches, digest->stretches + 1,
			--digest->nstretches * sizeof(*digest->stretches));
		pairs->nstretches--;
		pairs->stats->cut_stretches++;
	} else if (!maple_slab_room(pairs->slab, (void **)&digest->stretches,
				    &digest->room, digest->nstretches,
				    sizeof(*digest->stretches), NULL)) {
		return NULL;
	}
	assert(digest->nstretches < digest->room);
	pairs->nstretches++;
	return &digest->stretches[digest->nstretches++];
}

/* maple_digest_extend - @digest's accesses are also these; 0 or -ENOMEM */
int maple_digest_extend(struct maple_pairs *pairs, struct maple_digest *digest,
			const struct maple_span *span)
{
	struct maple_spell *last = digest->stretches;

	if (span->point && span->generation == pairs->generation)
		attach(pairs, digest, span->point);
	if (digest->nstretches) {
		last += digest->nstretches - 1;
		if (last->epoch == span->epoch)
			last->last_clock = span->last_clock;
		if (last->epoch->serial >= span->epoch->serial)
			return 0;
	}
	last = stretch_new(pairs, digest);
	if (!last)
		return -ENOMEM;
	*last = (struct maple_spell){
		.epoch = maple_epoch_get(span->epoch),
		.first_clock = span->first_clock,
		.last_clock = span->last_clock,
	};
	return 0;
}

static struct maple_link *edge_to(const struct maple_edges *edges,
				  const struct maple_digest *end)
{
	for (uint32_t i = 0; i < edges->n; i++)
		if (edges->edge[i].end == end)
			return &edges->edge[i];
	return NULL;
}

static void edge_better(struct maple_link *edge,
			const struct maple_dependency *d)
{
	if (!edge)
		return;
	edge->disjoint |= d->disjoint;
	edge->ordered &= d->ordered;
	if (d->against < edge->against)
		edge->against = d->against;
}

/* One more edge, which there is not yet. */
static int edge_add(struct maple_pairs *pairs, struct maple_edges *edges,
		    struct maple_digest *end, const struct maple_dependency *d)
{
	if (edges->n == EDGES_MAX) {
		pairs->stats->cut_edges++;
		return 0;
	}
	if (!maple_slab_room(pairs->slab, (void **)&edges->edge, &edges->room,
			     edges->n, sizeof(*edges->edge), NULL))
		return -ENOMEM;
	assert(edges->n < edges->room);
	pairs->nedges++;
	edges->edge[edges->n++] = (struct maple_link){
		.end = end,
		.disjoint = d->disjoint,
		.ordered = d->ordered,
		.against = d->against,
	};
	return 0;
}

/*
 * maple_digest_connected - whether it is known that @to can depend on @from,
 *                          and nothing is new in that it can
 * @ordered: whether happens-before forces it this time
 */
bool maple_digest_connected(const struct maple_digest *from,
			    const struct maple_digest *to, bool ordered)
{
	const struct maple_link *edge = edge_to(&from->after, to);

	/* Whether locks exclude the two is the same every time. */
	return edge && !edge->against && (ordered || !edge->ordered);
}

/*
 * maple_digest_connect - @to can depend on @from; 0 or -ENOMEM
 *
 * Each end has the edge, unless it had EDGES_MAX others before: only if
 * @from is full can @to have it alone.
 */
int maple_digest_connect(struct maple_pairs *pairs, struct maple_digest *from,
			 struct maple_digest *to,
			 const struct maple_dependency *d)
{
	struct maple_link *after = edge_to(&from->after, to), *before = NULL;
	int ret;

	assert(from->thread != to->thread);
	if (after || from->after.n == EDGES_MAX)
		before = edge_to(&to->before, from);
	edge_better(after, d);
	edge_better(before, d);
	ret = after ? 0 : edge_add(pairs, &from->after, to, d);
	if (ret || before)
		return ret;
	return edge_add(pairs, &to->before, from, d);
}

static void edges_free(struct maple_slab *slab, struct maple_edges *edges)
{
	maple_slab_put(slab, edges->edge, edges->room * sizeof(*edges->edge));
}

static void digest_deinit(struct maple_slab *slab, struct maple_digest *digest)
{
	for (uint32_t i = 0; i < digest->nstretches; i++)
		maple_epoch_put(digest->stretches[i].epoch);
	maple_slab_put(slab, digest->stretches,
		       digest->room * sizeof(*digest->stretches));
	edges_free(slab, &digest->after);
	edges_free(slab, &digest->before);
}

void maple_digests_free(struct maple_pairs *pairs)
{
	struct maple_digest *digest;

	uint32_t n = 0;
	uint64_t nstretches = 0;

	for (uint32_t i = 0; pairs->digests && i < BUCKETS; i++)
		while ((digest = pairs->digests[i])) {
			pairs->digests[i] = digest->next;
			nstretches += digest->nstretches;
			n++;
			digest_deinit(pairs->slab, digest);
		}
	assert(n == pairs->ndigests && nstretches == pairs->nstretches);
	free(pairs->digests);
	maple_pool_clear(&pairs->digest_pool);
	pairs->digests = NULL;
	pairs->ndigests = 0;
	pairs->nstretches = pairs->nedges = 0;
}
