// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where in a run its choices were. The thread that was chosen stands at a
 * place, which is named in the log; what it does there is its next event. What
 * has no event, a yield or a word of its own, is where the next choice is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

		while (at < m->n && m->event[at].of_run < i)
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

int maple_order_choices_find(const struct maple_order_model *model,
			     const struct maple_event *event, uint32_t n,
			     const struct maple_policy_switch *log,
			     uint32_t nlog, struct maple_order_choices *choices)
{
	struct maple_order_choices c = { .n = nlog };
	struct spot *table = NULL, *spots = collect(model, event, n, &table);
	uint32_t next = model->n;

	c.at = malloc((nlog + 1u) * sizeof(*c.at));
	c.last = malloc((model->n + 1u) * sizeof(*c.last));
	for (uint32_t i = nlog; i-- > 0 && spots && c.at && c.last;) {
		const struct maple_policy_switch *e = &log[i];
		const struct spot *s = spot_of(table, e->next, e->next_site,
					       e->next_hit);

		if (e->what != MAPLE_POLICY_ARRIVED && s && s->at < next)
			next = s->at;
		c.at[i] = next;
	}
	if (spots && c.at && c.last) {
		memset(c.last, 0xff, (model->n + 1u) * sizeof(*c.last));
		for (uint32_t i = 0; i < nlog; i++)
			if (log[i].what != MAPLE_POLICY_ARRIVED)
				c.last[c.at[i]] = i;
		*choices = c;
	}
	HASH_CLEAR(hh, table);
	if (spots && c.at && c.last) {
		free(spots);
		return 0;
	}
	free(spots);
	free(c.at);
	free(c.last);
	return -ENOMEM;
}

void maple_order_choices_deinit(struct maple_order_choices *choices)
{
	free(choices->at);
	free(choices->last);
	*choices = (struct maple_order_choices){ 0 };
}
