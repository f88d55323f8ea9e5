// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which dependencies a cell's history makes possible: idiom 1 (Maple, 3.3 to
 * 3.5).
 *
 * Concurrent: two summaries of different threads that have spans which
 * happens-before leaves unordered can follow each other both ways, as far as
 * kinds conflict and locks allow.
 *
 * Ordered: what happens-before forces is a dependency only between immediate
 * neighbours: the last access of an epoch, and the first access of the
 * earliest epochs after it.
 *
 *   P   [g1]--->[g2]           g1's last => h's first: not, g2 is between
 *                  \           g2's last => h's first: yes
 *   Q               '-->[h]
 *
 * A read-modify-write is one access. Its read is not the source of anything,
 * its own write follows at once; its write does not follow another's write,
 * its own read lies between. But for one thing: a write that no lock keeps away
 * may, on another CPU, come between the two.
 */
#include <assert.h>
#include "base/array.h"
#include "history.h"

#define FETCHED 4 /* summaries of each entry, before a search */

static bool conflict(const struct maple_summary *from,
		     const struct maple_summary *to)
{
	switch (from->kind) {
	case MAPLE_EV_READ:
		return to->kind == MAPLE_EV_WRITE && !from->update;
	case MAPLE_EV_WRITE:
		return to->kind == MAPLE_EV_READ ||
		       (to->kind == MAPLE_EV_WRITE && !to->update);
	case MAPLE_EV_UNLOCK:
		return to->kind == MAPLE_EV_LOCK &&
		       !(from->shared && to->shared);
	default:
		return false;
	}
}

static int propose(struct maple_history *history, const struct maple_cell *cell,
		   struct maple_summary *from,
		   const struct maple_span *from_span, struct maple_summary *to,
		   const struct maple_span *to_span, bool ordered)
{
	struct maple_dependency dependency = {
		.cell = cell,
		.from = from,
		.to = to,
		.from_span = from_span,
		.to_span = to_span,
		.ordered = ordered,
	};

	assert(from->thread != to->thread && from->location == to->location);
	if (!conflict(from, to) ||
	    !maple_annotated_feasible(from->annotated, to->annotated,
				      from->kind == MAPLE_EV_READ,
				      &dependency.disjoint))
		return 0;
	return history->found(history->ctx, &dependency);
}

/* Whether @write can come between the halves of @read's instruction. */
static void propose_between(struct maple_history *history,
			    const struct maple_cell *cell,
			    struct maple_summary *read,
			    const struct maple_span *read_span,
			    struct maple_summary *write,
			    const struct maple_span *write_span)
{
	const struct maple_dependency dependency = {
		.cell = cell,
		.from = read,
		.to = write,
		.from_span = read_span,
		.to_span = write_span,
		.disjoint = true,
	};

	if (history->between && read->update && read->kind == MAPLE_EV_READ &&
	    write->kind == MAPLE_EV_WRITE &&
	    !maple_annotated_exclude(read->annotated, write->annotated))
		history->between(history->ctx, &dependency);
}

/* The newest span of @summary that is unordered with @epoch. */
static const struct maple_span *concurrent(const struct maple_summary *summary,
					   const struct maple_epoch *epoch)
{
	for (uint32_t i = summary->nspans; i-- > 0;) {
		const struct maple_span *span = maple_summary_span(summary, i);

		if (maple_epoch_before(span->epoch, epoch))
			return NULL;
		if (!maple_epoch_before(epoch, span->epoch))
			return span;
	}
	return NULL;
}

/* Begins to load all that a search will look at. */
static void fetch(const struct maple_cell *cell)
{
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_entry *e = cell->visit[i].entry;

		for (uint32_t j = 0; j < e->nsummaries && j < FETCHED; j++)
			__builtin_prefetch(e->summaries[j]);
	}
}

/*
 * maple_history_search - the full scan for a new span of a summary
 *
 * Returns 0 or what found() did.
 */
int maple_history_search(struct maple_history *history,
			 const struct maple_cell *cell,
			 struct maple_summary *summary,
			 const struct maple_span *span)
{
	const struct maple_span *other;
	int ret;

	assert(span->epoch->thread == summary->thread);
	history->stats->searches += cell->nvisits > 1;
	if (summary->kind == MAPLE_EV_READ &&
	    !(cell->kinds & 1u << MAPLE_EV_WRITE))
		return 0;
	fetch(cell);
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_visit *visit = &cell->visit[i];
		const struct maple_entry *e = visit->entry;

		if (visit->thread == summary->thread ||
		    (summary->kind == MAPLE_EV_READ &&
		     !(visit->kinds & 1u << MAPLE_EV_WRITE)))
			continue;
		for (uint32_t j = 0; j < e->nsummaries; j++) {
			struct maple_summary *s = e->summaries[j];

			if (!conflict(s, summary) && !conflict(summary, s))
				continue;
			other = concurrent(s, span->epoch);
			if (!other)
				continue;
			ret = propose(history, cell, s, other, summary, span,
				      false);
			if (!ret)
				ret = propose(history, cell, summary, span, s,
					      other, false);
			if (ret)
				return ret;
			propose_between(history, cell, s, other, summary, span);
			propose_between(history, cell, summary, span, s, other);
		}
	}
	return 0;
}

/* The latest group of @entry that is over before @epoch, or NULL. */
static const struct maple_group *latest(const struct maple_entry *entry,
					const struct maple_epoch *epoch)
{
	uint32_t n = maple_array_lead(
		entry->ngroups, i,
		maple_epoch_before(maple_entry_group(entry, i)->epoch, epoch));

	return n ? maple_entry_group(entry, n - 1) : NULL;
}

/* Whether another thread's group lies between @group and @epoch. */
static bool hidden(const struct maple_cell *cell,
		   const struct maple_group *group,
		   const struct maple_epoch *epoch)
{
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_visit *visit = &cell->visit[i];
		const struct maple_group *other;

		if (visit->thread == group->epoch->thread ||
		    visit->thread == epoch->thread)
			continue;
		other = latest(visit->entry, epoch);
		if (other && maple_epoch_before(group->epoch, other->epoch))
			return true;
	}
	return false;
}

static const struct maple_span *span_in(const struct maple_summary *summary,
					const struct maple_epoch *epoch)
{
	uint32_t i = summary->nspans;

	while (i-- > 0)
		if (maple_summary_span(summary, i)->epoch == epoch)
			return maple_summary_span(summary, i);
	return NULL;
}

/* A read may be followed by the write of a read-modify-write. */
static struct maple_summary *entrance(const struct maple_entry *entry,
				      const struct maple_summary *from,
				      struct maple_summary *to)
{
	if (!to->update || to->kind != MAPLE_EV_READ || conflict(from, to))
		return to;
	for (uint32_t i = 0; i < entry->nsummaries; i++) {
		struct maple_summary *s = entry->summaries[i];

		if (s->update && s->kind == MAPLE_EV_WRITE &&
		    s->site == to->site && s->annotated == to->annotated)
			return s;
	}
	return to;
}

static int neighbours_of(struct maple_history *history,
			 const struct maple_cell *cell,
			 const struct maple_entry *entry, uint32_t at)
{
	const struct maple_group *to = maple_entry_group(entry, at);
	const struct maple_group *before = at ? maple_entry_group(entry, at - 1)
					      : NULL;

	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_entry *e = cell->visit[i].entry;
		const struct maple_span *from_span, *to_span;
		struct maple_summary *first;
		const struct maple_group *from;
		int ret;

		if (e == entry)
			continue;
		from = latest(e, to->epoch);
		if (!from ||
		    (before && maple_epoch_before(from->epoch, before->epoch)))
			continue;
		first = entrance(entry, from->last, to->first);
		if (!conflict(from->last, first) ||
		    hidden(cell, from, to->epoch))
			continue;
		from_span = span_in(from->last, from->epoch);
		to_span = span_in(first, to->epoch);
		if (!from_span || !to_span)
			continue;
		ret = propose(history, cell, from->last, from_span, first,
			      to_span, true);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * maple_history_neighbours - what happens-before forces, for the groups not
 *                            looked at yet; nothing in @cell may wait
 */
int maple_history_neighbours(struct maple_history *history,
			     struct maple_cell *cell)
{
	int ret;

	if (cell->nvisits < 2)
		return 0;
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		struct maple_entry *e = cell->visit[i].entry;

		for (; e->nsearched < e->ngroups; e->nsearched++) {
			ret = neighbours_of(history, cell, e, e->nsearched);
			if (ret)
				return ret;
		}
	}
	return 0;
}
