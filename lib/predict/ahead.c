// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Events wait in a short line before they are dealt with. What an access will
 * look at is spread over far more memory than the CPU's caches hold, and each
 * piece leads to the next. While an event moves up the line, one after the
 * other is loaded, so that the wait for memory is shared by all in line:
 *
 *   in --> block, cell, visits, entries, summaries, record, digest --> feed.c
 *
 * Nothing is decided here. What has changed when an event's turn comes is
 * looked at then as if there were no line.
 */
#include <assert.h>
#include <errno.h>
#include "state.h"

#define LINE	64 /* of the CPU's cache */
#define FETCHED 4  /* summaries of another thread's entry */

static void load(const void *at, size_t size)
{
	for (size_t i = 0; i < size; i += LINE)
		__builtin_prefetch((const char *)at + i);
	__builtin_prefetch((const char *)at + size - 1);
}

static void load_cell(const struct maple_predict *p,
		      const struct maple_cell *cell,
		      const struct maple_event *event)
{
	load(cell, sizeof(*cell));
}

static void load_visits(const struct maple_predict *p,
			const struct maple_cell *cell,
			const struct maple_event *event)
{
	if (cell->nvisits > 1)
		load(cell->visit, cell->nvisits * sizeof(*cell->visit));
}

/* Whether @event may cause a search that looks at another's @visit. */
static bool searched(const struct maple_visit *visit,
		     const struct maple_event *event)
{
	return event->kind != MAPLE_EV_READ ||
	       (visit->kinds & 1u << MAPLE_EV_WRITE);
}

static void load_entries(const struct maple_predict *p,
			 const struct maple_cell *cell,
			 const struct maple_event *event)
{
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_visit *visit = &cell->visit[i];

		if (visit->thread == event->thread)
			load(visit->entry, sizeof(*visit->entry));
		else if (searched(visit, event))
			load(visit->entry, LINE);
	}
}

/* The summary that @entry's thread is likely to come to next; NULL: none. */
static const struct maple_summary *next_of(const struct maple_entry *entry)
{
	uint32_t next = entry->last_used + 1;

	if (!entry->nsummaries)
		return NULL;
	return entry->summaries[next < entry->nsummaries ? next : 0];
}

static void load_summaries(const struct maple_predict *p,
			   const struct maple_cell *cell,
			   const struct maple_event *event)
{
	for (uint32_t i = 0; i < cell->nvisits; i++) {
		const struct maple_visit *visit = &cell->visit[i];
		const struct maple_entry *entry = visit->entry;

		if (visit->thread == event->thread) {
			if (entry->nsummaries)
				load(next_of(entry),
				     sizeof(struct maple_summary));
		} else if (searched(visit, event)) {
			for (uint32_t j = 0;
			     j < entry->nsummaries && j < FETCHED; j++)
				load(entry->summaries[j], LINE);
		}
	}
}

/* What the thread did on the cell last, which the next record comes after. */
static void load_record(const struct maple_predict *p,
			const struct maple_cell *cell,
			const struct maple_event *event)
{
	const struct maple_visit *visit = maple_cell_visit(cell, event->thread);
	const struct maple_record *record =
		visit ? maple_window_find(&p->window, event->thread,
					  visit->entry->record)
		      : NULL;

	if (record)
		load(record, sizeof(*record));
}

static void load_digest(const struct maple_predict *p,
			const struct maple_cell *cell,
			const struct maple_event *event)
{
	const struct maple_visit *visit = maple_cell_visit(cell, event->thread);
	const struct maple_summary *next = visit ? next_of(visit->entry) : NULL;

	if (next && next->digest)
		load(next->digest, sizeof(*next->digest));
}

static void (*const stages[])(const struct maple_predict *p,
			      const struct maple_cell *cell,
			      const struct maple_event *event) = {
	load_cell,	load_visits, load_entries,
	load_summaries, load_record, load_digest,
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))

static_assert(MAPLE_AHEAD > STAGES, "the last stage is in the line");

static struct maple_waiting *in_line(struct maple_ahead *ahead, uint64_t number)
{
	return &ahead->line[number % MAPLE_AHEAD];
}

static void load_executions(const struct maple_predict *p,
			    const struct maple_event *event)
{
	const struct maple_predict_thread *thread =
		event->thread < MAPLE_THREADS ? p->thread[event->thread] : NULL;
	const struct maple_executions *executed =
		thread && event->site != MAPLE_SITE_NONE
			? maple_sitemap_find(&thread->executed, event->site)
			: NULL;

	if (executed)
		load(executed, sizeof(*executed));
}

/* The line has moved up: event @number came. */
static void look_ahead(struct maple_predict *p, uint64_t number)
{
	struct maple_ahead *ahead = &p->ahead;
	const struct maple_space *space = &p->space;
	struct maple_waiting *w = in_line(ahead, number);

	w->cell = NULL;
	if (maple_event_is_access(w->event.kind)) {
		maple_space_load(space, w->event.addr);
		load_executions(p, &w->event);
	}
	if (ahead->gone != space->gone) {
		for (unsigned int i = 0; i < MAPLE_AHEAD; i++)
			ahead->line[i].cell = NULL;
		ahead->gone = space->gone;
	}
	if (!number)
		return;
	w = in_line(ahead, number - 1);
	if (maple_event_is_access(w->event.kind))
		w->cell = maple_space_peek(space, w->event.addr);
	for (unsigned int i = 0; i < STAGES && number > i; i++) {
		w = in_line(ahead, number - i - 1);
		if (w->cell)
			stages[i](p, w->cell, &w->event);
	}
}

/*
 * maple_predict_event - takes the run's next event
 *
 * It is dealt with when some more have come, or in maple_predict_finish().
 * Errors: -ENOMEM, for an event before it, -EINVAL after
 * maple_predict_finish().
 */
int maple_predict_event(struct maple_predict *p, const struct maple_event *event)
{
	struct maple_ahead *ahead = &p->ahead;
	int ret = 0;

	if (p->finished)
		return -EINVAL;
	if (ahead->in - ahead->out == MAPLE_AHEAD)
		ret = maple_predict_take(p,
					 &in_line(ahead, ahead->out++)->event);
	assert(ahead->in - ahead->out < MAPLE_AHEAD);
	in_line(ahead, ahead->in)->event = *event;
	look_ahead(p, ahead->in++);
	return ret;
}

/* maple_predict_drain - deals with all events in line; 0 or -ENOMEM */
int maple_predict_drain(struct maple_predict *p)
{
	struct maple_ahead *ahead = &p->ahead;
	int ret = 0, err;

	while (ahead->out < ahead->in) {
		err = maple_predict_take(p,
					 &in_line(ahead, ahead->out++)->event);
		ret = err ? err : ret;
	}
	return ret;
}
