// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether what one thread did because of another speaks against a dependency:
 * from, by P, and to, by Q, cannot follow each other as they were seen, unless
 * the program takes another way.
 *
 *   turned     P did from knowing that to was done
 *   overtaken  P itself came back to the location before Q could know of it
 *   met        Q had been at the location, knowing of from, before to
 *
 * The last two hold when what is in between conflicts as well: a write, or
 * anything after a write; of a lock, everything.
 */
#include "causes.h"
#include "predict/cells/history.h"

static const struct maple_entry *entry_of(const struct maple_dependency *d,
					  uint32_t thread)
{
	const struct maple_visit *visit =
		d->cell ? maple_cell_visit(d->cell, thread) : NULL;

	return visit ? visit->entry : NULL;
}

/* Whether P's own access of @kind comes between. */
static bool overtakes(const struct maple_dependency *d, uint8_t kind)
{
	return kind != MAPLE_EV_READ || d->from->kind != MAPLE_EV_WRITE ||
	       d->to->kind != MAPLE_EV_READ;
}

/* The first access in @summary behind @clock that is known of; 0: none. */
static uint32_t first_after(const struct maple_summary *summary, uint32_t clock)
{
	uint32_t found = 0;

	for (uint32_t i = summary->nspans; i-- > 0;) {
		const struct maple_span *span = maple_summary_span(summary, i);

		if (span->last_clock <= clock)
			break;
		found = span->first_clock > clock ? span->first_clock
						  : span->last_clock;
	}
	return found;
}

/* The last one before @clock. */
static uint32_t last_before(const struct maple_summary *summary, uint32_t clock)
{
	for (uint32_t i = summary->nspans; i-- > 0;) {
		const struct maple_span *span = maple_summary_span(summary, i);

		if (span->last_clock < clock)
			return span->last_clock;
		if (span->first_clock < clock)
			return span->first_clock;
	}
	return 0;
}

/* When P first came back to the location with what comes between; 0: never. */
static uint32_t came_back(const struct maple_dependency *d)
{
	const struct maple_entry *e = entry_of(d, d->from->thread);
	uint32_t from = d->from_span->last_clock, first = 0, at;

	if (!e)
		return 0;
	if (e->waiting && e->access.clock > from && overtakes(d, e->access.kind))
		first = e->access.clock;
	for (uint32_t i = 0; i < e->nsummaries; i++) {
		if (!overtakes(d, e->summaries[i]->kind))
			continue;
		at = first_after(e->summaries[i], from);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

/* When Q last was at the location with what conflicts; 0: never. */
static uint32_t was_there(const struct maple_dependency *d)
{
	const struct maple_entry *e = entry_of(d, d->to->thread);
	uint32_t to = d->to_span->first_clock, last = 0, at;

	for (uint32_t i = 0; e && i < e->nsummaries; i++) {
		if (e->summaries[i]->kind == MAPLE_EV_READ &&
		    d->from->kind == MAPLE_EV_READ)
			continue;
		at = last_before(e->summaries[i], to);
		if (at > last)
			last = at;
	}
	return last;
}

/* Whether @thread, at its event @clock, knew of @other's event @what. */
static bool knew(const struct maple_causes *causes, uint32_t thread,
		 uint32_t clock, uint32_t other, uint32_t what, bool exclusive)
{
	return what && maple_causes_upto(causes, thread, clock, other,
					 exclusive) >= what;
}

/* maple_causes_against - what speaks against @d, in a cell's history */
enum maple_against maple_causes_against(const struct maple_causes *causes,
					const struct maple_dependency *d)
{
	bool exclusive = !d->disjoint || !maple_event_is_memory(d->from->kind);
	uint32_t p = d->from->thread, q = d->to->thread, back, there;
	uint32_t from = d->from_span->last_clock;
	uint32_t to = d->to_span->first_clock;

	if (knew(causes, p, d->from_span->first_clock, q,
		 d->to_span->last_clock, exclusive))
		return MAPLE_AGAINST;
	back = came_back(d);
	if (knew(causes, q, to, p, back, exclusive))
		return MAPLE_AGAINST;
	there = was_there(d);
	if (there && knew(causes, q, there, p, from, exclusive))
		return MAPLE_AGAINST;
	if (!exclusive)
		return MAPLE_OPEN;
	if (knew(causes, p, d->from_span->first_clock, q,
		 d->to_span->last_clock, false) ||
	    knew(causes, q, to, p, back, false) ||
	    (there && knew(causes, q, there, p, from, false)))
		return MAPLE_INFORMED;
	return MAPLE_OPEN;
}
