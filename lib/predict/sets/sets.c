// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Atomic-set violations that another order of the run could have:
 *
 *   event --> clock, lockset   as for the predictor
 *         --> blocks           which memory belongs together
 *         --> units            what one call does to it
 *                 `--> shapes  ... if it is new
 *                         `--> match  which orders of two no serial one has
 *
 * Where the predictor asks for two accesses that follow each other at once, and
 * for a thread that touches neither location in between, this asks for order
 * alone: so it has what a getter, or a load before a store, hides from that.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

/* maple_sets_create - see sets.h */
struct maple_sets *maple_sets_create(const struct maple_predict_sink *sink)
{
	struct maple_sets *sets = calloc(1, sizeof(*sets));

	if (!sets)
		return NULL;
	sets->sink = *sink;
	maple_clocks_init(&sets->clocks, &sets->unused);
	return sets;
}

/* maple_sets_belong - see sets.h */
bool maple_sets_belong(struct maple_sets *sets,
		       const struct maple_belonging *belonging, size_t n)
{
	assert(!sets->belonging && !sets->near);
	if (!n)
		return true;
	sets->belonging = calloc(n, sizeof(*belonging));
	if (!sets->belonging)
		return false;
	memcpy(sets->belonging, belonging, n * sizeof(*belonging));
	sets->nbelonging = n;
	return true;
}

static struct maple_doer *doer_of(struct maple_sets *sets, uint32_t thread)
{
	struct maple_doer *doer = sets->doer[thread];

	if (!doer) {
		doer = calloc(1, sizeof(*doer));
		if (doer)
			doer->executed.element = sizeof(uint32_t);
		sets->doer[thread] = doer;
	}
	return doer;
}

static void note(struct maple_sets *sets, struct maple_doer *doer,
		 const struct maple_event *event)
{
	switch (event->kind) {
	case MAPLE_EV_READ:
	case MAPLE_EV_WRITE:
	case MAPLE_EV_UPDATE:
		if (event->site != MAPLE_SITE_NONE && event->size)
			maple_units_access(sets, event);
		break;
	case MAPLE_EV_LOCK:
		maple_locks_acquire(&doer->locks, event, ++sets->sections);
		break;
	case MAPLE_EV_UNLOCK:
		maple_locks_release(&doer->locks, event);
		break;
	case MAPLE_EV_ALLOC:
		maple_sets_allocated(sets, event->addr, event->value);
		break;
	case MAPLE_EV_FREE:
		maple_sets_freed(sets, event->addr, event->value);
		break;
	case MAPLE_EV_EXIT:
		maple_units_end(sets, event->thread);
		break;
	default:
		break;
	}
}

/* maple_sets_event - see sets.h */
void maple_sets_event(struct maple_sets *sets, const struct maple_event *event)
{
	struct maple_doer *doer;

	if (event->thread >= MAPLE_THREADS || event->kind == MAPLE_EV_NONE ||
	    event->kind >= MAPLE_EV_STEP)
		return;
	if (event->kind == MAPLE_EV_QUIET) {
		maple_units_quiet(sets, event->site);
		return;
	}
	doer = doer_of(sets, event->thread);
	if (!doer) {
		sets->stats.no_memory++;
		return;
	}
	if (event->sp && doer->n)
		maple_units_pass(sets, event->thread, event->sp);
	note(sets, doer, event);
	if (!sets->witness && maple_clocks_event(&sets->clocks, event))
		sets->stats.no_memory++;
}

/* maple_sets_finish - see sets.h */
void maple_sets_finish(struct maple_sets *sets)
{
	struct maple_sets_found *found, *next;

	for (uint32_t i = 0; i < MAPLE_THREADS; i++)
		if (sets->doer[i])
			maple_units_end(sets, i);
	HASH_ITER (hh, sets->found, found, next)
		if (sets->sink.predicted)
			sets->sink.predicted(sets->sink.ctx, &found->iroot,
					     &found->facts);
}

/* maple_sets_stats - see sets.h */
void maple_sets_stats(const struct maple_sets *sets,
		      struct maple_sets_stats *stats)
{
	*stats = sets->stats;
}

/* maple_sets_destroy - frees @sets, which may be NULL */
void maple_sets_destroy(struct maple_sets *sets)
{
	struct maple_sets_found *found, *next;

	if (!sets)
		return;
	for (uint32_t i = 0; i < MAPLE_THREADS; i++) {
		struct maple_doer *doer = sets->doer[i];

		if (!doer)
			continue;
		maple_units_end(sets, i);
		maple_locks_deinit(&doer->locks);
		maple_sitemap_deinit(&doer->executed);
		free(doer->room);
	}
	maple_sets_forget(sets);
	for (uint32_t i = 0; i < MAPLE_THREADS; i++)
		free(sets->doer[i]);
	HASH_ITER (hh, sets->found, found, next) {
		HASH_DEL(sets->found, found);
		free(found);
	}
	maple_clocks_deinit(&sets->clocks);
	free(sets->belonging);
	free(sets);
}
