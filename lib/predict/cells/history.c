// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The access history of a cell (Maple, 3.5): delayed, condensed, pruned.
 *
 * Delayed: whether an access is the last to its location in a critical
 * section shows only later. So the latest access of each thread waits, and
 * enters the history at the thread's next access to the cell, or when the
 * cell is closed.
 *
 * Condensed: accesses of one thread with the same site, kind and annotated
 * locks are one summary. It has a span for each epoch of the thread in which
 * they occurred; only a new summary or a new span causes a search.
 *
 * Pruned: see prune.c. What is kept of private locations is what is kept of
 * shared ones, so nothing is lost that was done before a second thread came.
 *
 * A summary beyond max_summaries in its cell is left out, but each thread has
 * a quarter of that to itself, so that the first does not take all. Beyond
 * max_spans epochs a thread's oldest is forgotten, but for the latest span of
 * each summary. Both are counted. Predictions get fewer by the first; by the
 * second, some neighbours may turn up that others lie between.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "history.h"

static bool same(const struct maple_summary *summary,
		 const struct maple_latest *access, uint8_t kind,
		 const struct maple_annotated *annotated)
{
	return summary->site == access->site && summary->kind == kind &&
	       summary->annotated == annotated &&
	       summary->shared == access->shared &&
	       summary->update == (access->kind == MAPLE_EV_UPDATE);
}

/* Loops come back to a summary in the same order, so look at the next one. */
static struct maple_summary *find(struct maple_entry *entry, uint8_t kind,
				  const struct maple_annotated *annotated)
{
	for (uint32_t i = 0; i < entry->nsummaries; i++) {
		/* The next one, the same again, then all others. */
		uint32_t step = i < 2 ? 1 - i : i;
		uint32_t at = (entry->last_used + step) % entry->nsummaries;

		if (same(entry->summaries[at], &entry->access, kind,
			 annotated)) {
			entry->last_used = at;
			return entry->summaries[at];
		}
	}
	return NULL;
}

static int make(struct maple_history *history, struct maple_cell *cell,
		struct maple_entry *entry, uint8_t kind,
		const struct maple_annotated *annotated,
		struct maple_summary **made)
{
	struct maple_summary *summary;

	*made = NULL;
	if (cell->nsummaries >= history->max_summaries &&
	    entry->nsummaries > history->max_summaries / 4) {
		history->stats->cut_summaries++;
		return 0;
	}
	if (!maple_slab_room(history->slab, (void **)&entry->summaries,
			     &entry->summaries_room, entry->nsummaries,
			     sizeof(summary), entry->few))
		return -ENOMEM;
	summary = maple_slab_zero(history->slab, sizeof(*summary));
	if (!summary)
		return -ENOMEM;
	summary->location = cell->serial;
	summary->annotated = annotated;
	summary->site = entry->access.site;
	summary->thread = entry->thread;
	summary->kind = kind;
	summary->shared = entry->access.shared;
	summary->update = entry->access.kind == MAPLE_EV_UPDATE;
	maple_cell_visit(cell, entry->thread)->kinds |= (uint8_t)(1u << kind);
	cell->kinds |= (uint8_t)(1u << kind);
	entry->last_used = entry->nsummaries;
	entry->summaries[entry->nsummaries++] = summary;
	cell->nsummaries++;
	*made = summary;
	return 0;
}

static int add_span(struct maple_history *history, struct maple_entry *entry,
		    struct maple_summary *summary)
{
	const struct maple_latest *access = &entry->access;

	if (summary->nspans) {
		assert(summary->latest.epoch->serial < access->epoch->serial);
		if (!maple_slab_room(history->slab, (void **)&summary->older,
				     &summary->older_room, summary->nspans - 1,
				     sizeof(summary->latest), NULL))
			return -ENOMEM;
		summary->older[summary->nspans - 1] = summary->latest;
	}
	summary->nspans++;
	summary->latest = (struct maple_span){
		.epoch = maple_epoch_get(access->epoch),
		.first_clock = access->clock,
		.last_clock = access->clock,
		.occurrence = access->occurrence,
		.class = access->class,
	};
	return 0;
}

static int add_group(struct maple_history *history, struct maple_cell *cell,
		     struct maple_entry *entry, struct maple_summary *summary)
{
	struct maple_epoch *epoch = entry->access.epoch;

	if (entry->ngroups && entry->latest.epoch == epoch) {
		entry->latest.last = summary;
		return 0;
	}
	if (entry->ngroups) {
		assert(entry->latest.epoch->serial < epoch->serial);
		if (!maple_slab_room(history->slab, (void **)&entry->older,
				     &entry->older_room, entry->ngroups - 1,
				     sizeof(entry->latest), NULL))
			return -ENOMEM;
		entry->older[entry->ngroups - 1] = entry->latest;
	}
	entry->ngroups++;
	entry->latest.epoch = maple_epoch_get(epoch);
	entry->latest.first = summary;
	entry->latest.last = summary;
	if (entry->ngroups > history->max_spans) {
		maple_entry_drop(history->slab, cell, entry, 1, 1);
		history->stats->cut_spans++;
	}
	return 0;
}

/*
 * maple_cell_is_sound - whether the counts of @cell and of its visits agree
 *
 * For when it goes, is split or cut: not for each access.
 */
bool maple_cell_is_sound(const struct maple_cell *cell)
{
	uint32_t nsummaries = 0;

	if (cell->start >= cell->end || cell->end > MAPLE_BLOCK_BYTES ||
	    cell->nvisits > cell->room)
		return false;
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_entry *e = cell->visit[i].entry;

		if (e->thread != cell->visit[i].thread ||
		    e->nsearched > e->ngroups ||
		    e->nsummaries > e->summaries_room)
			return false;
		nsummaries += e->nsummaries;
	}
	return nsummaries == cell->nsummaries;
}

/* Puts the waiting access, as @kind, into its summary. */
static int fold(struct maple_history *history, struct maple_cell *cell,
		struct maple_entry *entry, uint8_t kind,
		const struct maple_annotated *annotated)
{
	struct maple_summary *summary = find(entry, kind, annotated);
	bool fresh = false;
	int ret;

	if (!summary) {
		ret = make(history, cell, entry, kind, annotated, &summary);
		if (ret || !summary)
			return ret;
	}
	if (summary->latest.epoch != entry->access.epoch) {
		ret = add_span(history, entry, summary);
		if (ret)
			return ret;
		fresh = true;
	}
	summary->latest.last_clock = entry->access.clock;
	ret = add_group(history, cell, entry, summary);
	assert(entry->nfolded < sizeof(entry->folded) / sizeof(summary));
	entry->folded[entry->nfolded++] = summary;
	if (!ret && history->folded)
		ret = history->folded(history->ctx, entry, summary);
	if (ret || !fresh)
		return ret;
	return maple_history_search(history, cell, summary, &summary->latest);
}

/*
 * maple_history_settle - ends the wait of @entry's latest access
 * @now: what its thread holds at its next access to the cell; NULL if nothing
 */
int maple_history_settle(struct maple_history *history, struct maple_cell *cell,
			 struct maple_entry *entry,
			 const struct maple_lockset *now)
{
	struct maple_latest *access = &entry->access;
	const struct maple_annotated *annotated;
	struct maple_lock_place place = { .first = access->first };
	int ret;

	if (!entry->waiting)
		return 0;
	assert(access->set && access->epoch->thread == entry->thread);
	entry->waiting = false;
	entry->nfolded = 0;
	place.last = maple_lockset_outside(access->set, now);
	if (history->reads_first && access->kind != MAPLE_EV_READ)
		place.read = access->read;
	annotated = maple_annotations_get(&history->annotations, access->set,
					  &place);
	if (!annotated)
		return -ENOMEM;
	if (access->kind != MAPLE_EV_UPDATE)
		return fold(history, cell, entry, access->kind, annotated);
	ret = fold(history, cell, entry, MAPLE_EV_READ, annotated);
	if (ret)
		return ret;
	return fold(history, cell, entry, MAPLE_EV_WRITE, annotated);
}

/* In which sections of @set, where @old was not the first, all so far read. */
static uint64_t read_so_far(const struct maple_latest *old,
			    const struct maple_lockset *set)
{
	if (!old->set || old->kind != MAPLE_EV_READ)
		return 0;
	return maple_lockset_inside(set, old->set, old->first | old->read);
}

/*
 * maple_history_access - notes an access of @entry's thread to @cell
 * @access: copied, with references of its own; first is worked out here
 *
 * Returns 0 or -ENOMEM; the entry stays consistent.
 */
int maple_history_access(struct maple_history *history, struct maple_cell *cell,
			 struct maple_entry *entry,
			 const struct maple_latest *access)
{
	struct maple_latest old = entry->access;
	uint32_t ngroups = entry->ngroups;
	int ret = maple_history_settle(history, cell, entry, access->set);

	assert(!entry->waiting);
	entry->access = *access;
	entry->access.first = maple_lockset_outside(access->set, old.set);
	entry->access.read = read_so_far(&old, access->set);
	entry->access.set->refs++;
	maple_epoch_get(entry->access.epoch);
	maple_lockset_put(old.set);
	maple_epoch_put(old.epoch);
	entry->waiting = true;
	entry->nfolded = 0;
	if (!ret && entry->ngroups > ngroups &&
	    entry->ngroups % history->collect == 0)
		ret = maple_history_collect(history, cell, entry);
	return ret;
}

/*
 * maple_history_close - @cell goes away, or the run ends: all that waits is
 *                       the last in its sections, and what happens-before
 *                       forces is worked out
 */
int maple_history_close(struct maple_history *history, struct maple_cell *cell)
{
	int ret = 0, err;

	assert(maple_cell_is_sound(cell));
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		err = maple_history_settle(history, cell, cell->visit[i].entry,
					   NULL);
		if (err)
			ret = err;
	}
	err = maple_history_neighbours(history, cell);
	return err ? err : ret;
}
