// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where in a run its choices were. What a thread did since it was chosen stands
 * in a row, so the next choice is behind that; and before what it stood at, if
 * that is an event. A yield is none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct spot {
	uint32_t thread, site, hit; /* the key */
	uint32_t at;		    /* in the model: that event, or the next */
	UT_hash_handle hh;
};

#define KEY (offsetof(struct spot, at))

static struct spot *spot_of(struct spot *table, uint32_t thread, uint32_t site,
			    uint32_t hit)
{
	struct spot key = { .thread = thread, .site = site, .hit = hit }, *it;

	HASH_FIND(hh, table, &key, KEY, it);
	return it;
}

/* All spots of the run: an array, in which the table's entries lie; or NULL. */
static struct spot *collect(const struct maple_order_model *m,
			    const struct maple_event *event, uint32_t n,
			    struct spot **table)
{
	struct spot *spot = calloc(n + 1u, sizeof(*spot));
	uint32_t at = 0, used = 0;

	for (uint32_t i = 0; i < n && spot; i++) {
		const struct maple_event *e = &event[i];
		struct spot *s = &spot[used];

		while (at < m->n && m->event[at].from < i)
			at++;
		if (!maple_order_has_hit(e) ||
		    spot_of(*table, e->thread, e->site, e->aux))
			continue;
		*s = (struct spot){ .thread = e->thread,
				    .site = e->site,
				    .hit = e->aux,
				    .at = at };
		HASH_ADD(hh, *table, thread, KEY, s);
		if (!s->hh.tbl) {
			HASH_CLEAR(hh, *table);
			free(spot);
			return NULL;
		}
		used++;
	}
	return spot;
}

/* A yield of @thread, its @hit-th, was before event @at. */
static void gave_way(struct maple_order_model *m, uint32_t thread, uint32_t hit,
		     uint32_t at)
{
	const uint32_t *chain;
	size_t n;

	if (thread >= m->nthreads)
		return;
	chain = &m->chain[m->chain_of[thread]];
	n = maple_array_lead(maple_order_length(m, thread), i, chain[i] < at);
	if (n)
		m->event[chain[n - 1]].yield = hit;
}

/* The end of what @e's thread did, from event @at on. */
static uint32_t end_of(const struct maple_order_model *m, struct spot *table,
		       const struct maple_policy_switch *e, uint32_t at)
{
	const struct spot *s =
		e->what == MAPLE_POLICY_AT
			? spot_of(table, e->thread, e->site, e->hit)
			: NULL;

	while (at < m->n && (!s || at < s->at) &&
	       (!m->event[at].point || m->event[at].thread == e->thread))
		at++;
	return at;
}

int maple_order_choices_find(struct maple_order_model *model,
			     const struct maple_event *event, uint32_t n,
			     const struct maple_policy_switch *log,
			     uint32_t nlog, struct maple_order_choices *choices)
{
	struct maple_order_choices c = { 0 };
	struct spot *table = NULL, *spots = collect(model, event, n, &table);
	uint32_t at = 0;

	c.at = malloc((nlog + 1u) * sizeof(*c.at));
	c.last = malloc((model->n + 1u) * sizeof(*c.last));
	if (!spots || !c.at || !c.last) {
		HASH_CLEAR(hh, table);
		free(spots);
		maple_order_choices_deinit(&c);
		return -ENOMEM;
	}
	memset(c.last, 0xff, (model->n + 1u) * sizeof(*c.last));
	for (uint32_t i = 0; i < nlog; i++) {
		const struct maple_policy_switch *e = &log[i];

		if (e->what != MAPLE_POLICY_ARRIVED) {
			at = end_of(model, table, e, at);
			c.last[at] = i;
		}
		c.at[i] = at;
		if (e->what == MAPLE_POLICY_AT && e->site == MAPLE_SITE_NONE)
			gave_way(model, e->thread, e->hit, at);
	}
	HASH_CLEAR(hh, table);
	free(spots);
	*choices = c;
	return 0;
}

void maple_order_choices_deinit(struct maple_order_choices *choices)
{
	free(choices->at);
	free(choices->last);
	*choices = (struct maple_order_choices){ 0 };
}
