// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a thread did to a cell: making, copying, cutting and freeing it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "history.h"

static void entry_init(struct maple_entry *entry)
{
	entry->summaries = entry->few;
	entry->summaries_room = sizeof(entry->few) / sizeof(entry->few[0]);
}

static void visits_free(struct maple_slab *slab, struct maple_cell *cell)
{
	if (cell->visit != &cell->first)
		maple_slab_put(slab, cell->visit,
			       cell->room * sizeof(*cell->visit));
}

static bool visits_room(struct maple_slab *slab, struct maple_cell *cell,
			uint32_t n)
{
	uint32_t room = cell->room;
	struct maple_visit *more;

	if (n <= room)
		return true;
	while (room < n)
		room = room ? room * 2 : 1;
	assert(room <= UINT16_MAX); /* MAPLE_THREADS visits at most */
	if (room == 1) {
		more = &cell->first;
	} else {
		more = maple_slab_get(slab, room * sizeof(*more));
		if (!more)
			return false;
		if (cell->nvisits)
			memcpy(more, cell->visit, cell->nvisits * sizeof(*more));
		visits_free(slab, cell);
	}
	cell->visit = more;
	cell->room = (uint16_t)room;
	return true;
}

static struct maple_entry *entry_make(struct maple_space *space,
				      struct maple_cell *cell, uint32_t thread)
{
	struct maple_entry *entry;

	if (space->nentries >= space->max_entries) {
		space->stats->cut_locations++;
		return NULL;
	}
	entry = maple_slab_zero(space->slab, sizeof(*entry));
	if (!entry || !visits_room(space->slab, cell, cell->nvisits + 1u)) {
		space->stats->no_memory++;
		maple_slab_put(space->slab, entry, sizeof(*entry));
		return NULL;
	}
	entry_init(entry);
	entry->thread = (uint16_t)thread;
	cell->visit[cell->nvisits++] = (struct maple_visit){
		.entry = entry,
		.thread = (uint16_t)thread,
	};
	space->nentries++;
	return entry;
}

/* maple_entry_to_front - as maple_entry_of(), if another visit is the latest */
struct maple_entry *maple_entry_to_front(struct maple_space *space,
					 struct maple_cell *cell,
					 uint32_t thread)
{
	struct maple_visit visit;
	uint32_t i = 0;

	while (i < cell->nvisits && cell->visit[i].thread != thread)
		i++;
	if (i == cell->nvisits && !entry_make(space, cell, thread))
		return NULL;
	if (i) {
		visit = cell->visit[i];
		memmove(&cell->visit[1], &cell->visit[0], i * sizeof(visit));
		cell->visit[0] = visit;
	}
	assert(cell->visit[0].thread == thread &&
	       cell->visit[0].entry->thread == thread);
	return cell->visit[0].entry;
}

static void summary_free(struct maple_slab *slab, struct maple_summary *summary)
{
	for (uint32_t i = 0; i < summary->nspans; i++)
		maple_epoch_put(maple_summary_span(summary, i)->epoch);
	maple_slab_put(slab, summary->older,
		       summary->older_room * sizeof(*summary->older));
	maple_slab_put(slab, summary, sizeof(*summary));
}

static void entry_free(struct maple_slab *slab, struct maple_entry *entry)
{
	if (entry->recent)
		*entry->recent = NULL;
	maple_epoch_put(entry->access.epoch);
	maple_lockset_put(entry->access.set);
	for (uint32_t i = 0; i < entry->ngroups; i++)
		maple_epoch_put(maple_entry_group(entry, i)->epoch);
	for (uint32_t i = 0; i < entry->nsummaries; i++)
		summary_free(slab, entry->summaries[i]);
	maple_slab_put(slab, entry->older,
		       entry->older_room * sizeof(*entry->older));
	if (entry->summaries != entry->few)
		maple_slab_put(slab, entry->summaries,
			       entry->summaries_room *
				       sizeof(*entry->summaries));
	maple_slab_put(slab, entry, sizeof(*entry));
}

void maple_entries_destroy(struct maple_space *space, struct maple_cell *cell)
{
	for (uint32_t i = 0; i < cell->nvisits; i++)
		entry_free(space->slab, cell->visit[i].entry);
	assert(space->nentries >= cell->nvisits);
	space->nentries -= cell->nvisits;
	visits_free(space->slab, cell);
	cell->visit = NULL;
	cell->nvisits = cell->room = 0;
}

static struct maple_summary *summary_clone(struct maple_slab *slab,
					   const struct maple_summary *from,
					   uint64_t location)
{
	struct maple_summary *to = maple_slab_get(slab, sizeof(*to));

	if (!to)
		return NULL;
	*to = *from;
	to->location = location;
	to->digest = NULL;
	if (from->older) {
		to->older = maple_slab_get(slab, from->older_room *
							 sizeof(*to->older));
		if (!to->older) {
			maple_slab_put(slab, to, sizeof(*to));
			return NULL;
		}
		memcpy(to->older, from->older,
		       (from->nspans - 1) * sizeof(*to->older));
	}
	for (uint32_t i = 0; i < to->nspans; i++)
		maple_epoch_get(maple_summary_span(to, i)->epoch);
	return to;
}

static struct maple_summary *twin(const struct maple_entry *from,
				  const struct maple_entry *to,
				  const struct maple_summary *summary)
{
	uint32_t i = 0;

	while (i < from->nsummaries && from->summaries[i] != summary)
		i++;
	assert(i < from->nsummaries && i < to->nsummaries);
	return to->summaries[i];
}

static int groups_clone(struct maple_slab *slab, const struct maple_entry *from,
			struct maple_entry *to)
{
	if (from->older) {
		to->older = maple_slab_get(slab, from->older_room *
							 sizeof(*to->older));
		if (!to->older)
			return -ENOMEM;
		to->older_room = from->older_room;
	}
	to->ngroups = from->ngroups;
	for (uint32_t i = 0; i < from->ngroups; i++) {
		const struct maple_group *group = maple_entry_group(from, i);

		*maple_entry_group(to, i) = (struct maple_group){
			.epoch = maple_epoch_get(group->epoch),
			.first = twin(from, to, group->first),
			.last = twin(from, to, group->last),
		};
	}
	return 0;
}

static struct maple_entry *entry_clone(struct maple_slab *slab,
				       const struct maple_entry *from,
				       uint64_t location)
{
	struct maple_entry *to = maple_slab_zero(slab, sizeof(*to));

	if (!to)
		return NULL;
	entry_init(to);
	to->thread = from->thread;
	to->waiting = from->waiting;
	to->record = from->record;
	to->nsearched = from->nsearched;
	to->last_used = from->last_used;
	to->access = from->access;
	if (to->access.epoch)
		maple_epoch_get(to->access.epoch);
	if (to->access.set)
		to->access.set->refs++;
	if (!from->nsummaries)
		return to;
	if (from->summaries != from->few) {
		struct maple_summary **summaries = maple_slab_get(
			slab, from->summaries_room * sizeof(*summaries));

		if (!summaries)
			goto no_memory;
		to->summaries = summaries;
		to->summaries_room = from->summaries_room;
	}
	while (to->nsummaries < from->nsummaries) {
		to->summaries[to->nsummaries] = summary_clone(
			slab, from->summaries[to->nsummaries], location);
		if (!to->summaries[to->nsummaries])
			goto no_memory;
		to->nsummaries++;
	}
	if (from->ngroups && groups_clone(slab, from, to))
		goto no_memory;
	return to;
no_memory:
	entry_free(slab, to);
	return NULL;
}

/*
 * maple_entries_clone - copies the visits of @from, and what they did, to the
 *                       other half of a split cell, which has none
 *
 * Local pairs of the time before stay with the first half.
 * Returns 0, or -ENOMEM with nothing copied.
 */
int maple_entries_clone(struct maple_space *space,
			const struct maple_cell *from, struct maple_cell *to)
{
	assert(!to->nvisits && from->serial != to->serial);
	if (!visits_room(space->slab, to, from->nvisits))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nvisits; i++) {
		struct maple_visit *visit = &to->visit[i];

		*visit = from->visit[i];
		visit->entry = entry_clone(space->slab, from->visit[i].entry,
					   to->serial);
		if (!visit->entry) {
			maple_entries_destroy(space, to);
			return -ENOMEM;
		}
		to->nvisits++;
		space->nentries++;
	}
	return 0;
}

static void summary_cut(struct maple_summary *summary, uint32_t serial,
			uint32_t keep)
{
	uint32_t old = 0;

	assert(summary->nspans); /* else it would have gone before */
	while (old + keep < summary->nspans &&
	       maple_summary_span(summary, old)->epoch->serial < serial)
		maple_epoch_put(maple_summary_span(summary, old++)->epoch);
	summary->nspans -= old;
	if (old && summary->nspans > 1)
		memmove(summary->older, summary->older + old,
			(summary->nspans - 1) * sizeof(summary->older[0]));
}

/*
 * maple_entry_drop - forgets the oldest @ngroups (not all of them) groups of
 *                    @entry, their spans, and the summaries left without
 * @keep: spans that each summary keeps, however old: 0 or 1
 */
void maple_entry_drop(struct maple_slab *slab, struct maple_cell *cell,
		      struct maple_entry *entry, uint32_t ngroups, uint32_t keep)
{
	uint32_t kept = 0, serial;

	assert(ngroups && ngroups < entry->ngroups && keep <= 1);
	serial = maple_entry_group(entry, ngroups)->epoch->serial;
	for (uint32_t i = 0; i < ngroups; i++)
		maple_epoch_put(entry->older[i].epoch);
	entry->ngroups -= ngroups;
	entry->nsearched -= entry->nsearched < ngroups ? entry->nsearched
						       : ngroups;
	if (entry->ngroups > 1)
		memmove(entry->older, entry->older + ngroups,
			(entry->ngroups - 1) * sizeof(entry->older[0]));
	for (uint32_t i = 0; i < entry->nsummaries; i++) {
		struct maple_summary *summary = entry->summaries[i];

		summary_cut(summary, serial, keep);
		if (summary->nspans) {
			entry->summaries[kept++] = summary;
		} else {
			summary_free(slab, summary);
			assert(cell->nsummaries);
			cell->nsummaries--;
		}
	}
	entry->nsummaries = kept;
	entry->last_used = 0;
}
