// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Change points: where a profile run drops a thread's priority, or delays it.
 * A point is the n-th hit of a site, drawn from the accesses that the run
 * before it made, each as likely as the other.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "internal.h"

static uint32_t *counter(struct maple_hits *hits, uint32_t index)
{
	uint32_t n = index + index / 2 + 1024;

	if (index < hits->n)
		return &hits->count[index];
	if (!maple_array_extend(hits->count, hits->n, n))
		return NULL;
	hits->n = n;
	return &hits->count[index];
}

/* What the agent counts: each access before it is made, a lock as BLOCK. */
static bool counts(const struct maple_event *event)
{
	if (event->site == MAPLE_SITE_NONE)
		return false;
	if (event->kind == MAPLE_EV_BLOCK)
		return event->addr && (event->site & MAPLE_SITE_CALL);
	return maple_event_is_memory(event->kind) ||
	       event->kind == MAPLE_EV_UNLOCK;
}

/* maple_change_note - @event of a profile run may become a change point */
void maple_change_note(const struct maple_campaign *c, struct maple_sample *s,
		       const struct maple_event *event)
{
	bool call = event->site & MAPLE_SITE_CALL;
	uint32_t *hits;
	uint64_t at;

	if (!counts(event))
		return;
	hits = counter(&s->hits[call], event->site & ~MAPLE_SITE_CALL);
	if (!hits)
		return;
	++*hits;
	/* A reservoir: every access is as likely to be in the sample. */
	at = s->seen++;
	if (at >= MAPLE_RUN_CHANGES)
		at = maple_campaign_seed(c, s->seen) % s->seen;
	if (at >= MAPLE_RUN_CHANGES)
		return;
	s->change[at].site = event->site;
	s->change[at].hit = *hits;
	if (s->n <= at)
		s->n = at + 1;
}

/* maple_change_begin - a profile run begins: forget the one before */
void maple_change_begin(struct maple_sample *s)
{
	unsigned int i;

	s->n = s->seen = 0;
	for (i = 0; i < 2; i++)
		if (s->hits[i].count)
			memset(s->hits[i].count, 0,
			       s->hits[i].n * sizeof(*s->hits[i].count));
}

/* maple_change_draw - @n different change points for @trial, if there are */
void maple_change_draw(struct maple_campaign *c, struct maple_trial *trial,
		       unsigned int n)
{
	struct maple_sample *s = &c->sample;
	struct maple_change swap;
	uint32_t i, j;

	if (n > s->n)
		n = s->n;
	for (i = 0; i < n; i++) {
		j = i + maple_campaign_seed(c, trial->seed + i) % (s->n - i);
		swap = s->change[j];
		s->change[j] = s->change[i];
		s->change[i] = swap;
		trial->change[trial->nchanges++] = swap;
	}
}

/* maple_change_deinit - frees what counted the hits */
void maple_change_deinit(struct maple_sample *s)
{
	free(s->hits[0].count);
	free(s->hits[1].count);
}
