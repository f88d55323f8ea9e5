// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Units of work: what one call of a function does to one set, from its first
 * access there until it has returned. That it has is seen by the stack pointer:
 * something of the thread is executed further up. What is called meanwhile is
 * part of it. A unit ends as well when one of its sites comes again, or may do
 * so unseen: that is the next round of a loop, or the next call in one.
 *
 * Two calls in a row from one place, with nothing in between, look like one:
 * that widens a unit, and whether the order happened in one unit is asked of
 * the run that was forced once more (happened.c).
 */
#include <assert.h>
#include <string.h>
#include "state.h"

#define WIDEST 64u /* bytes of an access that is to a field, not to a buffer */

static void shut(struct maple_sets *sets, struct maple_doer *doer,
		 uint32_t thread, uint32_t i)
{
	struct maple_begun begun = doer->begun[i];
	struct maple_open *unit = &doer->room[begun.at];
	struct maple_set *set = begun.set;

	assert(i < doer->n && set->open && unit->set == set);
	sets->stats.units++;
	sets->stats.cut_units += unit->cut;
	if (sets->witness)
		maple_witness_done(sets, unit, thread);
	else if (set->gone)
		maple_touches_put(unit->touch, unit->n);
	else
		maple_shapes_done(sets, unit, thread);
	if (!--set->open && set->gone)
		free(set);
	doer->n--;
	memmove(&doer->begun[i], &doer->begun[i + 1],
		(doer->n - i) * sizeof(begun));
	doer->begun[doer->n] = begun; /* its place is the next one's */
}

/* Whether @sp is further up than @than; both are low halves. */
static bool above(uint32_t sp, uint32_t than)
{
	return (int32_t)(sp - than) > 0;
}

/* maple_units_pass - @thread does something while its stack pointer is @sp */
void maple_units_pass(struct maple_sets *sets, uint32_t thread, uint32_t sp)
{
	struct maple_doer *doer = sets->doer[thread];

	/* Each was opened when those before it were as far up, or further. */
	while (doer->n && above(sp, doer->begun[doer->n - 1].sp))
		shut(sets, doer, thread, doer->n - 1);
}

/* maple_units_end - @thread has come to its end */
void maple_units_end(struct maple_sets *sets, uint32_t thread)
{
	struct maple_doer *doer = sets->doer[thread];

	while (doer->n)
		shut(sets, doer, thread, doer->n - 1);
}

static bool has_site(const struct maple_open *unit, uint32_t site)
{
	for (uint32_t i = 0; i < unit->n; i++)
		if (unit->touch[i].site == site)
			return true;
	return false;
}

/*
 * maple_units_quiet - @site may be executed without an event from here on: who
 *                     has been there may come there again, and nobody sees it
 */
void maple_units_quiet(struct maple_sets *sets, uint32_t site)
{
	for (uint32_t t = 0; t < MAPLE_THREADS; t++) {
		struct maple_doer *doer = sets->doer[t];

		for (uint32_t i = doer ? doer->n : 0; i-- > 0;)
			if (has_site(&doer->room[doer->begun[i].at], site))
				shut(sets, doer, t, i);
	}
}

/* The open one of @set that @site has not been in; NULL: to be opened. */
static struct maple_open *find(struct maple_sets *sets, struct maple_doer *doer,
			       uint32_t thread, const struct maple_set *set,
			       uint32_t site)
{
	if (!set->open)
		return NULL;
	/* What was begun last is most often what goes on. */
	for (uint32_t i = doer->n; i-- > 0;) {
		struct maple_open *unit = &doer->room[doer->begun[i].at];

		if (doer->begun[i].set != set)
			continue;
		if (!has_site(unit, site))
			return unit;
		shut(sets, doer, thread, i);
		return NULL;
	}
	return NULL;
}

static bool make_room(struct maple_doer *doer)
{
	doer->room = calloc(MAPLE_SETS_OPEN, sizeof(*doer->room));
	for (uint32_t i = 0; i < MAPLE_SETS_OPEN; i++)
		doer->begun[i].at = i;
	return doer->room;
}

static struct maple_open *begin(struct maple_sets *sets, struct maple_doer *doer,
				struct maple_set *set, uint32_t sp)
{
	struct maple_begun *begun;
	struct maple_open *unit;

	if (!doer->room && !make_room(doer)) {
		sets->stats.no_memory++;
		return NULL;
	}
	if (doer->n == MAPLE_SETS_OPEN) {
		sets->stats.cut_open++;
		return NULL;
	}
	begun = &doer->begun[doer->n++];
	begun->set = set;
	begun->sp = sp;
	unit = &doer->room[begun->at];
	unit->set = set;
	unit->cut = false;
	unit->n = 0;
	set->open++;
	return unit;
}

static struct maple_set *set_of(struct maple_sets *sets,
				const struct maple_event *event)
{
	struct maple_set *set = maple_sets_of(sets, event);

	if (set)
		return set;
	return event->size <= WIDEST ? maple_sets_at(sets, event->addr) : NULL;
}

/* Under which locks, and when, by happens-before. */
static bool refer(struct maple_sets *sets, uint32_t thread,
		  struct maple_touch *touch)
{
	touch->epoch = maple_clocks_epoch(&sets->clocks, thread);
	touch->locks = touch->epoch
			       ? maple_locks_set(&sets->doer[thread]->locks)
			       : NULL;
	if (touch->locks)
		return true;
	sets->stats.no_memory++;
	maple_epoch_put(touch->epoch);
	return false;
}

/*
 * maple_units_access - an access to memory. Nothing is said of what is at no
 * site, since nobody could be held there.
 */
void maple_units_access(struct maple_sets *sets, const struct maple_event *event)
{
	struct maple_doer *doer = sets->doer[event->thread];
	uint32_t *executed = maple_sitemap_at(&doer->executed, event->site);
	struct maple_set *set = set_of(sets, event);
	uint32_t occurrence = executed ? (*executed)++ : 0;
	struct maple_touch *touch;
	struct maple_open *unit;

	if (!set)
		return;
	unit = find(sets, doer, event->thread, set, event->site);
	if (!unit)
		unit = begin(sets, doer, set, event->sp);
	if (!unit)
		return;
	unit->cut |= unit->n == MAPLE_SETS_TOUCHES;
	if (unit->cut)
		return;
	touch = &unit->touch[unit->n];
	*touch = (struct maple_touch){
		.addr = event->addr,
		.size = event->size,
		.site = event->site,
		.occurrence = occurrence,
		.gate = doer->locks.nheld ? doer->locks.outermost
					  : MAPLE_SITE_NONE,
		.kinds = event->kind,
		.atomic = event->flags & MAPLE_EVF_ATOMIC,
	};
	if (sets->witness ? maple_witness_touch(sets, event, touch)
			  : refer(sets, event->thread, touch))
		unit->n++;
}
