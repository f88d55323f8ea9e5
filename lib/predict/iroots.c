// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The iRoots of one run, each reported once. Of all the places where one was
 * predicted, the facts of the first are kept, but a place that no lock
 * guards, or that happens-before leaves open, is a better one to force it at.
 * A run has 1,048,576 iRoots at most, and predicts at most 65,536 of each
 * idiom but the first; what comes too late is counted (cut_iroots).
 *
 * An array of a million elements has a million places for one iRoot. After
 * 256 more are worth a look only if they can be better than those so far.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "iroots.h"

#define IROOTS_MAX   (1u << 20)
#define COMPOUND_MAX (1u << 16) /* predicted, of each idiom but 1 */
#define PLACES	     256	/* of an iRoot, all worth a look */

/* What is known of an iRoot, as the count of its item. */
#define OBSERVED  1u
#define PREDICTED 2u

/* Besides, once it was claimed or predicted. */
struct maple_iroot_found {
	uint64_t claimed; /* seen, when sites were quiet, at this event */
	uint32_t places;  /* where it was predicted */
	struct maple_brief brief;
};

#define KIND_BITS 4
#define KIND_MASK 15u

/* The iRoot as a key; maple_iroot_event.kind is small. */
static void pack(const struct maple_iroot *iroot, uint64_t key[3])
{
	const struct maple_iroot_event *e = iroot->e;

	key[0] = (uint64_t)e[0].site << 32 | e[1].site;
	key[1] = (uint64_t)e[2].site << 32 | e[3].site;
	key[2] = iroot->idiom;
	/* Or else two iRoots would be one. */
	assert(!((e[0].kind | e[1].kind | e[2].kind | e[3].kind) & ~KIND_MASK));
	for (unsigned int i = 0; i < MAPLE_IROOT_EVENTS; i++)
		key[2] = key[2] << KIND_BITS | e[i].kind;
}

static struct maple_iroot unpack(const uint64_t key[3])
{
	struct maple_iroot iroot;
	uint64_t rest = key[2];

	for (unsigned int i = MAPLE_IROOT_EVENTS; i-- > 0;) {
		iroot.e[i].kind = rest & KIND_MASK;
		iroot.e[i].site =
			(uint32_t)(i % 2 ? key[i / 2] : key[i / 2] >> 32);
		rest >>= KIND_BITS;
	}
	iroot.idiom = (uint32_t)rest;
	return iroot;
}

/* What is known besides of @item, which is about to be known. */
static struct maple_iroot_found *found_of(struct maple_iroots *iroots,
					  const struct maple_tally_item *item)
{
	uint32_t i = (uint32_t)(item - iroots->tally.item);
	uint32_t room = iroots->tally.room;

	assert(i < iroots->tally.n && iroots->room <= room);
	if (i >= iroots->room) {
		if (!maple_array_extend(iroots->found, iroots->room, room)) {
			iroots->stats->no_memory++;
			return NULL;
		}
		iroots->room = room;
	}
	return &iroots->found[i];
}

static struct maple_tally_item *get(struct maple_iroots *iroots,
				    const struct maple_iroot *iroot, bool make)
{
	struct maple_tally_item *item;
	uint64_t key[3];

	pack(iroot, key);
	if (make && iroots->tally.n < IROOTS_MAX) {
		item = maple_tally_at(&iroots->tally, key[0], key[1], key[2]);
		iroots->stats->no_memory += !item;
	} else {
		item = maple_tally_find(&iroots->tally, key[0], key[1], key[2]);
		iroots->stats->cut_iroots += !item;
	}
	return item;
}

static void observed(struct maple_iroots *iroots, struct maple_tally_item *item)
{
	struct maple_iroot iroot = unpack(item->key);

	assert(!(item->count & OBSERVED)); /* each once */
	item->count |= OBSERVED;
	iroots->stats->observed++;
	if (iroots->sink->observed)
		iroots->sink->observed(iroots->sink->ctx, &iroot);
}

/* maple_iroots_observed - this run has exposed @iroot */
void maple_iroots_observed(struct maple_iroots *iroots,
			   const struct maple_iroot *iroot)
{
	struct maple_tally_item *item;
	struct maple_iroot_found *found;

	if (!(iroots->idioms & 1u << iroot->idiom))
		return;
	item = get(iroots, iroot, true);
	if (!item || item->count & OBSERVED)
		return;
	if (!iroots->quiet) {
		observed(iroots, item);
		return;
	}
	found = found_of(iroots, item);
	if (found && !found->claimed)
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
	for (uint32_t i = 0; i < iroots->tally.n && i < iroots->room; i++) {
		struct maple_tally_item *item = &iroots->tally.item[i];
		struct maple_iroot iroot = unpack(item->key);

		if (item->count & OBSERVED || !iroots->found[i].claimed)
			continue;
		if (certain(ctx, &iroot, iroots->found[i].claimed))
			observed(iroots, item);
		else
			iroots->stats->unsure++;
	}
}

static int worth(const struct maple_brief *brief)
{
	return 2 * brief->disjoint + !brief->ordered;
}

/*
 * maple_iroots_enough - whether one more place of @iroot is not worth a look
 * @brief: the place, but for what speaks against it
 */
bool maple_iroots_enough(const struct maple_iroots *iroots,
			 const struct maple_iroot *iroot,
			 const struct maple_brief *brief)
{
	const struct maple_tally_item *item;
	const struct maple_iroot_found *found;
	uint64_t key[3];

	pack(iroot, key);
	item = maple_tally_find(&iroots->tally, key[0], key[1], key[2]);
	if (!item || !(item->count & PREDICTED))
		return false;
	assert(item - iroots->tally.item < iroots->room);
	found = &iroots->found[item - iroots->tally.item];
	return found->places >= PLACES && found->brief.against == MAPLE_OPEN &&
	       worth(brief) <= worth(&found->brief);
}

/*
 * maple_iroots_predicted - @iroot can happen, as @brief says
 *
 * Returns whether the place is worth remembering: not if much was known of
 * the iRoot, and this place is no better.
 */
bool maple_iroots_predicted(struct maple_iroots *iroots,
			    const struct maple_iroot *iroot,
			    const struct maple_brief *brief)
{
	uint32_t *n = &iroots->npredicted[iroot->idiom];
	unsigned int nevents = maple_iroot_events(iroot->idiom);
	uint8_t against = brief->against;
	struct maple_tally_item *item;
	struct maple_iroot_found *found;
	bool known, better = false;

	assert(nevents);
	for (unsigned int i = 0; i < nevents; i++)
		assert(brief->e[i].thread < MAPLE_THREADS);
	if (!(iroots->idioms & 1u << iroot->idiom))
		return true;
	item = get(iroots, iroot,
		   iroot->idiom == MAPLE_IDIOM_1 || *n < COMPOUND_MAX);
	found = item ? found_of(iroots, item) : NULL;
	if (!found)
		return true;
	known = item->count & PREDICTED;
	if (known) {
		if (found->brief.against <= against)
			against = found->brief.against;
		else
			better = true;
		found->brief.against = against;
		if (worth(brief) <= worth(&found->brief)) {
			found->places += found->places < PLACES;
			return better || found->places < PLACES;
		}
	}
	iroots->stats->predicted += !known;
	*n += !known;
	item->count |= PREDICTED;
	found->brief = *brief;
	found->brief.against = against;
	return true;
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

	if (!iroots->sink->predicted)
		return;
	for (uint32_t i = 0; i < iroots->tally.n; i++) {
		const struct maple_tally_item *item = &iroots->tally.item[i];
		struct maple_iroot iroot = unpack(item->key);

		if (!(item->count & PREDICTED))
			continue;
		assert(i < iroots->room);
		complete(ctx, &iroot, &iroots->found[i].brief, &facts);
		iroots->sink->predicted(iroots->sink->ctx, &iroot, &facts);
	}
}

void maple_iroots_deinit(struct maple_iroots *iroots)
{
	maple_tally_deinit(&iroots->tally);
	free(iroots->found);
}
