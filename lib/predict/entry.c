// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a thread did to a cell: making, copying, cutting and freeing it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "history.h"

#define LINE 64 /* of the CPU's cache */

static void entry_init(struct maple_entry *entry)
{
	entry->summaries = entry->few;
	entry->summaries_room = sizeof(entry->few) / sizeof(entry->few[0]);
}

static void load(const void *at, size_t size)
{
	for (size_t i = 0; i < size; i += LINE)
		__builtin_prefetch((const char *)at + i, 1);
}

/* maple_entry_load - begins to load what @thread's next access will look at */
void maple_entry_load(const struct maple_cell *cell, uint32_t thread,
		      enum maple_stage stage)
{
	const struct maple_entry *entry = cell->entries;
	uint32_t next;

	if (stage == MAPLE_LOAD_ENTRY) {
		if (entry) load(entry, sizeof(*entry));
		return;
	}
	while (entry && entry->thread != thread)
		entry = entry->next;
	if (!entry || !entry->nsummaries)
		return;
	next = entry->last_used + 1;
	load(entry->summaries[next < entry->nsummaries ? next : 0],
	     sizeof(struct maple_summary));
	if (entry->nsummaries > 1)
	load(entry->summaries[entry->last_used],
	     sizeof(struct maple_summary));
}

/*
 * maple_entry_of - @thread's entry in @cell, moved to the front, made if
 *                  there is none
 *
 * Returns NULL, and counts it, if there can be no more entries.
 */
struct maple_entry *maple_entry_of(struct maple_space *space,
				   struct maple_cell *cell, uint32_t thread)
{
	struct maple_entry **at = &cell->entries, *entry;

	while (*at && (*at)->thread != thread)
		at = &(*at)->next;
	entry = *at;
	if (entry) {
		if (at == &cell->entries)
			return entry;
		*at = entry->next;
	} else {
		if (space->nentries >= space->max_entries) {
			space->stats->cut_locations++;
			return NULL;
		}
		entry = calloc(1, sizeof(*entry));
		if (!entry) {
			space->stats->no_memory++;
			return NULL;
		}
		entry_init(entry);
		entry->thread = (uint16_t)thread;
		space->nentries++;
	}
	entry->next = cell->entries;
	cell->entries = entry;
	return entry;
}

static void summary_free(struct maple_summary *summary)
{
	for (uint32_t i = 0; i < summary->nspans; i++)
		maple_epoch_put(maple_summary_span(summary, i)->epoch);
	free(summary->older);
	free(summary);
}

static void entry_free(struct maple_entry *entry)
{
	if (entry->recent)
		*entry->recent = NULL;
	maple_epoch_put(entry->access.epoch);
	maple_lockset_put(entry->access.set);
	for (uint32_t i = 0; i < entry->ngroups; i++)
		maple_epoch_put(maple_entry_group(entry, i)->epoch);
	for (uint32_t i = 0; i < entry->nsummaries; i++)
		summary_free(entry->summaries[i]);
	free(entry->older);
	if (entry->summaries != entry->few)
		free(entry->summaries);
	free(entry);
}

void maple_entries_destroy(struct maple_space *space,
			   struct maple_entry *entries)
{
	struct maple_entry *next;

	for (; entries; entries = next) {
		next = entries->next;
		entry_free(entries);
		space->nentries--;
	}
}

static struct maple_summary *summary_clone(const struct maple_summary *from,
					   uint64_t location)
{
	struct maple_summary *to = malloc(sizeof(*to));

	if (!to)
		return NULL;
	*to = *from;
	to->location = location;
	to->digest = NULL;
	if (from->older) {
		to->older = reallocarray(NULL, from->older_room,
					 sizeof(*to->older));
		if (!to->older) {
			free(to);
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

	while (from->summaries[i] != summary)
		i++;
	return to->summaries[i];
}

static int groups_clone(const struct maple_entry *from, struct maple_entry *to)
{
	if (from->older) {
		to->older = reallocarray(NULL, from->older_room,
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

static struct maple_entry *entry_clone(const struct maple_entry *from,
				       uint64_t location)
{
	struct maple_entry *to = calloc(1, sizeof(*to));

	if (!to)
		return NULL;
	entry_init(to);
	to->kinds = from->kinds;
	to->thread = from->thread;
	to->waiting = from->waiting;
	to->read = from->read;
	to->read_at = from->read_at;
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
		struct maple_summary **summaries = reallocarray(
			NULL, from->summaries_room, sizeof(*summaries));

		if (!summaries)
			goto no_memory;
		to->summaries = summaries;
		to->summaries_room = from->summaries_room;
	}
	while (to->nsummaries < from->nsummaries) {
		to->summaries[to->nsummaries] = summary_clone(
			from->summaries[to->nsummaries], location);
		if (!to->summaries[to->nsummaries])
			goto no_memory;
		to->nsummaries++;
	}
	if (from->ngroups && groups_clone(from, to))
		goto no_memory;
	return to;
no_memory:
	entry_free(to);
	return NULL;
}

/*
 * maple_entries_clone - copies @entries for the other half of a split cell
 * @location: its serial
 *
 * Local pairs of the time before stay with the first half.
 * Returns 0, or -ENOMEM with *@clones NULL.
 */
int maple_entries_clone(struct maple_space *space,
			const struct maple_entry *entries, uint64_t location,
			struct maple_entry **clones)
{
	struct maple_entry **at = clones;

	*at = NULL;
	for (; entries; entries = entries->next) {
		*at = entry_clone(entries, location);
		if (!*at) {
			maple_entries_destroy(space, *clones);
			*clones = NULL;
			return -ENOMEM;
		}
		space->nentries++;
		at = &(*at)->next;
	}
	return 0;
}

static void summary_cut(struct maple_summary *summary, uint32_t serial,
			uint32_t keep)
{
	uint32_t old = 0;

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
void maple_entry_drop(struct maple_cell *cell, struct maple_entry *entry,
		      uint32_t ngroups, uint32_t keep)
{
	uint32_t serial = maple_entry_group(entry, ngroups)->epoch->serial;
	uint32_t kept = 0;

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
			summary_free(summary);
			cell->nsummaries--;
		}
	}
	entry->nsummaries = kept;
	entry->last_used = 0;
}
