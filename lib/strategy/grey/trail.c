// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A run's log says who was chosen where, its events say what was done. A step
 * is a point that some event of the run's model lies at or behind; how many
 * entries of the log had come true before it is found by going through both at
 * a time: who makes an access has been chosen last.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "trail.h"

struct following {
	const struct maple_run *run;
	uint32_t at;	 /* entries that have come true */
	uint32_t chosen; /* by the last one */
};

/* Whether @entry says where @step is, and lies before it. */
static bool is_before(const struct maple_policy_switch *entry,
		      const struct maple_trail_step *step)
{
	return entry->what == MAPLE_POLICY_AT &&
	       entry->thread == step->thread && entry->site == step->site &&
	       entry->hit == step->hit;
}

/* Up to where the thread of @step, an access, is the chosen one. */
static void follow(struct following *f, const struct maple_trail_step *step)
{
	const struct maple_policy_switch *entry;

	while (f->at < f->run->ndecided) {
		entry = &f->run->decided[f->at];
		if (f->chosen == step->thread && !is_before(entry, step))
			return;
		if (maple_switches_chose(entry))
			f->chosen = entry->next;
		f->at++;
	}
}

static bool same_point(const struct maple_trail_step *a,
		       const struct maple_trail_step *b)
{
	return a->site == b->site && a->hit == b->hit;
}

static int fill(struct maple_trail *t, const struct maple_run *run,
		const struct maple_event *event,
		const struct maple_order_model *model, uint32_t *of)
{
	struct following f = { .run = run };
	/* Of each thread the step that it made last, + 1. */
	uint32_t *last = calloc(MAPLE_THREADS, sizeof(*last));
	uint32_t n = maple_order_events(model);

	if (!last)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct maple_order_origin origin = maple_order_origin(model, i);
		const struct maple_event *e = &event[origin.event];
		struct maple_trail_step step = { e->thread, origin.site,
						 origin.hit, 0 };
		uint32_t was = last[e->thread];

		assert(was <= t->n);
		of[i] = was ? was - 1 : 0;
		if (was && same_point(&t->step[was - 1], &step))
			continue;
		if (!maple_array_reserve(t->step, t->n, t->room)) {
			free(last);
			return -ENOMEM;
		}
		if (maple_event_is_memory(e->kind))
			follow(&f, &step);
		step.entries = f.at;
		of[i] = t->n;
		t->step[t->n++] = step;
		last[e->thread] = t->n;
	}
	free(last);
	return 0;
}

int maple_trail_create(const struct maple_run *run,
		       const struct maple_event *event,
		       const struct maple_order_model *model,
		       struct maple_trail **trail, uint32_t **of)
{
	const struct maple_switches had = {
		.n = run->ndecided,
		.nnames = run->nnames,
		.entry = run->decided,
		.name = run->names,
	};
	struct maple_trail *t = calloc(1, sizeof(*t));
	int e = t ? maple_switches_copy(&t->list, &had) : -ENOMEM;

	*trail = NULL;
	*of = malloc((maple_order_events(model) + 1u) * sizeof(**of));
	if (t)
		t->refs = 1;
	if (!e)
		e = *of ? fill(t, run, event, model, *of) : -ENOMEM;
	if (!e) {
		*trail = t;
		return 0;
	}
	maple_trail_put(t);
	free(*of);
	*of = NULL;
	return e;
}

void maple_trail_put(struct maple_trail *trail)
{
	if (!trail)
		return;
	assert(trail->refs);
	if (--trail->refs)
		return;
	maple_switches_deinit(&trail->list);
	free(trail->step);
	free(trail);
}

/* Whether the @n entries of @list end where @step begins. */
static bool ends_at(const struct maple_policy_switch *list, uint32_t n,
		    const struct maple_trail_step *step)
{
	const struct maple_policy_switch *last = &list[n - 1];

	return n && maple_switches_chose(last) && last->next == step->thread &&
	       last->next_site == step->site && last->next_hit == step->hit;
}

int maple_trail_cut(const struct maple_trail *trail, uint32_t step,
		    struct maple_switches *list)
{
	const struct maple_trail_step *s = &trail->step[step];
	struct maple_switches up_to = trail->list;
	struct maple_policy_switch *more;

	assert(step < trail->n && s->entries <= trail->list.n);
	up_to.n = s->entries;
	if (maple_switches_copy(list, &up_to))
		return -ENOMEM;
	if (!s->hit || ends_at(list->entry, list->n, s))
		return 0;
	/* Its thread goes on from there: only then is the list over. */
	more = realloc(list->entry, (list->n + 1u) * sizeof(*more));
	if (!more) {
		maple_switches_deinit(list);
		return -ENOMEM;
	}
	list->entry = more;
	more[list->n++] = (struct maple_policy_switch){
		.thread = (uint16_t)s->thread,
		.next = (uint16_t)s->thread,
		.what = MAPLE_POLICY_AT,
		.site = s->site,
		.hit = s->hit,
		.next_site = MAPLE_SITE_NONE,
	};
	return 0;
}
