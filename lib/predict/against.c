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
#include "history.h"

static const struct maple_entry *entry_of(const struct maple_dependency *d,
					  uint32_t thread)
{
	const struct maple_visit *visit =
		d->cell ? maple_cell_visit(d->cell, thread) : NULL;

	return visit ? visit->entry : NULL;
}

static bool knew(const struct maple_causes *causes, bool exclusive,
		 uint32_t early, uint32_t early_clock, uint32_t late,
		 uint32_t late_clock)
{
	struct maple_cause_span first = { early, early_clock, early_clock };
	struct maple_cause_span then = { late, late_clock, late_clock };

	return maple_causes_before(causes, &first, &then, exclusive);
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

static bool overtaken(const struct maple_causes *causes,
		      const struct maple_dependency *d, bool exclusive)
{
	const struct maple_entry *e = entry_of(d, d->from->thread);
	uint32_t from = d->from_span->last_clock;
	uint32_t to = d->to_span->first_clock, at;

	if (!e)
		return false;
	at = e->access.clock;
	if (e->waiting && at > from && overtakes(d, e->access.kind) &&
	    knew(causes, exclusive, e->thread, at, d->to->thread, to))
		return true;
	for (uint32_t i = 0; i < e->nsummaries; i++) {
		at = first_after(e->summaries[i], from);
		if (at && overtakes(d, e->summaries[i]->kind) &&
		    knew(causes, exclusive, e->thread, at, d->to->thread, to))
			return true;
	}
	return false;
}

static bool met(const struct maple_causes *causes,
		const struct maple_dependency *d, bool exclusive)
{
	const struct maple_entry *e = entry_of(d, d->to->thread);
	uint32_t from = d->from_span->last_clock;
	uint32_t to = d->to_span->first_clock, at;

	for (uint32_t i = 0; e && i < e->nsummaries; i++) {
		const struct maple_summary *s = e->summaries[i];

		at = last_before(s, to);
		if (at &&
		    (s->kind != MAPLE_EV_READ ||
		     d->from->kind != MAPLE_EV_READ) &&
		    knew(causes, exclusive, d->from->thread, from, e->thread,
			 at))
			return true;
	}
	return false;
}

static bool holds(const struct maple_causes *causes,
		  const struct maple_dependency *d, bool exclusive)
{
	return knew(causes, exclusive, d->to->thread, d->to_span->last_clock,
		    d->from->thread, d->from_span->first_clock) ||
	       overtaken(causes, d, exclusive) || met(causes, d, exclusive);
}

/* maple_causes_against - what speaks against @d, in a cell's history */
enum maple_against maple_causes_against(const struct maple_causes *causes,
					const struct maple_dependency *d)
{
	bool exclusive = !d->disjoint || !maple_event_is_memory(d->from->kind);

	if (holds(causes, d, exclusive))
		return MAPLE_AGAINST;
	return exclusive && holds(causes, d, false) ? MAPLE_INFORMED
						    : MAPLE_OPEN;
}
