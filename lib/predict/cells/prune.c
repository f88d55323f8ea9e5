// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Removes from a cell's history what can no longer be part of any prediction
 * (Maple, 3.5.2 (3)). A thread's groups older than g are useless once
 *
 *  - every other live thread's clock has passed g: whatever they do from now
 *    on comes after g, so nothing older is concurrent with it, and g hides
 *    what is older from being its neighbour;
 *  - every other thread's accesses to the cell so far have been searched;
 *  - what happens-before forces between the groups there are is worked out.
 */
#include <assert.h>
#include "history.h"

/*
 * Lets an access of @entry stop waiting before its thread comes back to the
 * cell: that is sound once the thread has left all its critical sections.
 */
static int settle_early(struct maple_history *history, struct maple_cell *cell,
			struct maple_entry *entry)
{
	const struct maple_lockset *set = entry->access.set;
	uint64_t all;

	if (!entry->waiting)
		return 0;
	all = maple_lockset_outside(set, NULL);
	if (maple_lockset_outside(
		    set, history->holds(history->ctx, entry->thread)) != all)
		return 0;
	return maple_history_settle(history, cell, entry, NULL);
}

/*
 * maple_history_collect - prunes @entry, whose thread is just at @cell
 *
 * Gives up, for this time, when an access of another thread that still holds
 * its locks waits in the cell: neighbours cannot be told then.
 */
int maple_history_collect(struct maple_history *history,
			  struct maple_cell *cell, struct maple_entry *entry)
{
	uint32_t keep = entry->ngroups;
	int ret;

	assert(cell->visit[0].entry == entry);
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		struct maple_entry *e = cell->visit[i].entry;

		if (e == entry)
			continue;
		ret = settle_early(history, cell, e);
		if (ret)
			return ret;
		if (e->waiting)
			return 0;
	}
	ret = maple_history_neighbours(history, cell);
	if (ret)
		return ret;
	assert(cell->nvisits < 2 || entry->nsearched == entry->ngroups);
	while (keep-- > 1)
		if (maple_clocks_passed(history->clocks,
					maple_entry_group(entry, keep)->epoch)) {
			history->stats->removed += keep;
			maple_entry_drop(history->slab, cell, entry, keep, 0);
			break;
		}
	return 0;
}
