// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Change points: where a profile run drops a thread's priority, or delays it.
 * A point is the n-th hit of a site, drawn from the accesses that the run
 * before it made, each as likely as the other.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile.h"

#define DEPTH_DEFAULT 3 /* the choice of Maple's paper */

static uint32_t *counter(struct maple_hits *hits, uint32_t index)
{
	uint32_t n = index + index / 2 + 1024;

	if (index < hits->n)
		return &hits->count[index];
	if (!maple_array_extend(hits->count, hits->n, n))
		return NULL;
	hits->n = n;
	assert(index < hits->n);
	return &hits->count[index];
}

/* What the agent counts: each access before it is made, a lock as BLOCK. */
static bool counts(const struct maple_event *event)
{
	if (event->kind == MAPLE_EV_BLOCK)
		return event->addr && (event->site & MAPLE_SITE_CALL);
	return maple_event_is_memory(event->kind) ||
	       event->kind == MAPLE_EV_UNLOCK;
}

/* maple_change_note - @event of a profile run may become a change point */
void maple_change_note(const struct maple_study *study, struct maple_sample *s,
		       const struct maple_event *event)
{
	bool call = event->site & MAPLE_SITE_CALL;
	uint32_t *hits;
	uint64_t at;

	if (event->site == MAPLE_SITE_NONE ||
	    (!counts(event) && event->kind != MAPLE_EV_QUIET))
		return;
	hits = counter(&s->hits[call], event->site & ~MAPLE_SITE_CALL);
	if (!hits)
		return;
	if (event->kind == MAPLE_EV_QUIET) {
		*hits |= MAPLE_HITS_MORE;
		return;
	}
	++*hits;
	/* A reservoir: every access is as likely to be in the sample. */
	at = s->seen++;
	if (at >= MAPLE_RUN_CHANGES)
		at = study->random(study, s->seen) % s->seen;
	if (at >= MAPLE_RUN_CHANGES)
		return;
	s->change[at].site = event->site;
	s->change[at].hit = *hits;
	if (s->n <= at)
		s->n = at + 1;
	assert(s->n <= s->seen && s->n <= MAPLE_RUN_CHANGES);
}

/* maple_change_draw - @n different change points for @job, if there are */
void maple_change_draw(const struct maple_study *study, struct maple_sample *s,
		       struct maple_job *job, unsigned int n)
{
	struct maple_change swap;
	uint32_t i, j;

	if (n > s->n)
		n = s->n;
	assert(job->nchanges + n <= MAPLE_RUN_CHANGES);
	for (i = 0; i < n; i++) {
		j = i + study->random(study, job->seed + i) % (s->n - i);
		swap = s->change[j];
		s->change[j] = s->change[i];
		s->change[i] = swap;
		job->change[job->nchanges++] = swap;
	}
}

/* maple_change_depth - how many a run of PCT has */
unsigned int maple_change_depth(const struct maple_study *study)
{
	unsigned int depth = study->options->depth;

	return (depth ? depth : DEPTH_DEFAULT) - 1;
}

/* maple_change_deinit - frees what counted the hits */
void maple_change_deinit(struct maple_sample *s)
{
	free(s->hits[0].count);
	free(s->hits[1].count);
}
