// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The iRoots of one run, each reported once. Of all the places where one was
 * predicted, the facts of the first are kept, but a place that no lock
 * guards, or that happens-before leaves open, is a better one to force it at.
 * A run has 1,048,576 iRoots at most, and predicts at most 65,536 of each
 * idiom but the first; what comes too late is counted (cut_iroots).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "iroots.h"
#include "table.h"

#define IROOTS_MAX   (1u << 20)
#define COMPOUND_MAX (1u << 16) /* predicted, of each idiom but 1 */

struct maple_found {
	struct maple_iroot iroot;
	UT_hash_handle hh;
	bool observed, predicted;
	uint64_t claimed; /* seen, when sites were quiet, at this event */
	struct maple_brief brief;
};

static struct maple_found *get(struct maple_iroots *iroots,
			       const struct maple_iroot *iroot, bool make)
{
	unsigned int hash = (unsigned int)XXH3_64bits(iroot, sizeof(*iroot));
	struct maple_found **cached, *found;

	cached = &iroots->cache[hash % MAPLE_IROOTS_CACHE];
	if (*cached && !memcmp(&(*cached)->iroot, iroot, sizeof(*iroot)))
		return *cached;
	HASH_FIND_BYHASHVALUE(hh, iroots->table, iroot, sizeof(*iroot), hash,
			      found);
	if (found)
		goto out;
	if (!make || HASH_COUNT(iroots->table) >= IROOTS_MAX) {
		iroots->stats->cut_iroots++;
		return NULL;
	}
	found = calloc(1, sizeof(*found));
	if (!found)
		goto no_memory;
	found->iroot = *iroot;
	HASH_ADD_BYHASHVALUE(hh, iroots->table, iroot, sizeof(*iroot), hash,
			     found);
	if (!found->hh.tbl) {
		free(found);
		goto no_memory;
	}
out:
	*cached = found;
	return found;
no_memory:
	iroots->stats->no_memory++;
	return NULL;
}

static void observed(struct maple_iroots *iroots, struct maple_found *found)
{
	found->observed = true;
	iroots->stats->observed++;
	if (iroots->sink->observed)
		iroots->sink->observed(iroots->sink->ctx, &found->iroot);
}

/* maple_iroots_observed - this run has exposed @iroot */
void maple_iroots_observed(struct maple_iroots *iroots,
			   const struct maple_iroot *iroot)
{
	struct maple_found *found;

	if (!(iroots->idioms & 1u << iroot->idiom))
		return;
	found = get(iroots, iroot, true);
	if (!found || found->observed)
		return;
	if (!iroots->quiet)
		observed(iroots, found);
	else if (!found->claimed)
		found->claimed = iroots->stats->events;
}

/*
 * maple_iroots_claims - decides on what was seen when sites were quiet
 * @certain: whether it can have been as it seemed at event @when
 */
void maple_iroots_claims(struct maple_iroots *iroots,
			 bool (*certain)(void *ctx,
					 const struct maple_iroot *iroot,
					 uint64_t when),
			 void *ctx)
{
	for (struct maple_found *f = iroots->table; f; f = f->hh.next) {
		if (f->observed || !f->claimed)
			continue;
		if (certain(ctx, &f->iroot, f->claimed))
			observed(iroots, f);
		else
			iroots->stats->unsure++;
	}
}

static int worth(const struct maple_brief *brief)
{
	return 2 * brief->disjoint + !brief->ordered;
}

/* maple_iroots_predicted - @iroot can happen, as @brief says */
void maple_iroots_predicted(struct maple_iroots *iroots,
			    const struct maple_iroot *iroot,
			    const struct maple_brief *brief)
{
	uint32_t *n = &iroots->npredicted[iroot->idiom];
	bool against = brief->against;
	struct maple_found *found;

	if (!(iroots->idioms & 1u << iroot->idiom))
		return;
	found = get(iroots, iroot,
		    iroot->idiom == MAPLE_IDIOM_1 || *n < COMPOUND_MAX);
	if (!found)
		return;
	if (found->predicted) {
		against = found->brief.against && brief->against;
		found->brief.against = against;
		if (worth(brief) <= worth(&found->brief))
			return;
	}
	iroots->stats->predicted += !found->predicted;
	*n += !found->predicted;
	found->predicted = true;
	found->brief = *brief;
	found->brief.against = against;
}

/*
 * maple_iroots_report - tells the sink what was predicted, in order
 * @complete: works out the facts, also what only the whole run knows
 */
void maple_iroots_report(struct maple_iroots *iroots,
			 void (*complete)(void *ctx,
					  const struct maple_iroot *iroot,
					  const struct maple_brief *brief,
					  struct maple_predict_facts *facts),
			 void *ctx)
{
	struct maple_predict_facts facts;

	for (struct maple_found *f = iroots->table; f; f = f->hh.next) {
		if (!f->predicted || !iroots->sink->predicted)
			continue;
		complete(ctx, &f->iroot, &f->brief, &facts);
		iroots->sink->predicted(iroots->sink->ctx, &f->iroot, &facts);
	}
}

void maple_iroots_deinit(struct maple_iroots *iroots)
{
	struct maple_found *found, *next;

	HASH_ITER (hh, iroots->table, found, next) {
		HASH_DELETE(hh, iroots->table, found);
		free(found);
	}
}
