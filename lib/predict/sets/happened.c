// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether a run that was forced has the order it was to have. Asked of its log,
 * not of the automaton: the steps by two threads, in order, at the same bytes
 * where they are to be, and each thread's within one unit: no site of it comes
 * again in between, and who called tells no two calls apart. Stack pointers say
 * nothing here, since a hook that holds threads stands on the stack as well.
 */
#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include "state.h"

#define PARTS 64 /* beginnings of it that are followed at a time */

/* A beginning: the first @done events in the order of the form. */
struct part {
	unsigned int done;
	const struct maple_event *at[MAPLE_IROOT_EVENTS];
};

struct look {
	const struct maple_iroot *iroot;
	const struct maple_set_form *form;
	bool (*together)(void *ctx, uint32_t a, uint32_t b);
	void *ctx;
	struct part part[PARTS];
	unsigned int n;
};

static bool overlap(const struct maple_event *a, const struct maple_event *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

static bool bit(uint8_t bits, unsigned int event)
{
	return bits >> event & 1;
}

/* Whether @event can be the next of @p, by thread and bytes. */
static bool fits(const struct look *l, const struct part *p,
		 const struct maple_event *event)
{
	const struct maple_set_form *form = l->form;
	unsigned int next = form->order[p->done];

	if (event->site != l->iroot->e[next].site ||
	    !(event->kind & l->iroot->e[next].kind))
		return false;
	for (unsigned int i = 0; i < p->done; i++) {
		unsigned int was = form->order[i];
		const struct maple_event *e = p->at[was];
		bool mine = bit(form->q, was) == bit(form->q, next);

		if ((e->thread == event->thread) != mine ||
		    overlap(e, event) !=
			    (bit(form->y, was) == bit(form->y, next)))
			return false;
		if (mine && l->together &&
		    !l->together(l->ctx, e->aux, event->aux))
			return false;
	}
	return true;
}

/* Whether @event ends the unit of a thread that has steps to come. */
static bool ends(const struct look *l, const struct part *p,
		 const struct maple_event *event)
{
	const struct maple_set_form *form = l->form;

	for (unsigned int i = 0; i < p->done; i++) {
		unsigned int was = form->order[i];
		const struct maple_event *e = p->at[was];
		bool over = true;

		if (e->thread != event->thread)
			continue;
		for (unsigned int k = p->done; k < form->n; k++)
			over &= bit(form->q, was) !=
				bit(form->q, form->order[k]);
		if (over)
			continue;
		if (maple_event_is_memory(event->kind) && event->site == e->site)
			return true;
	}
	return false;
}

/* Adds @event to what it continues; true: the last step has come. */
static bool step(struct look *l, const struct maple_event *event)
{
	unsigned int n = l->n, kept = 0;
	struct part more[PARTS];
	unsigned int nmore = 0;

	for (unsigned int i = 0; i <= n; i++) {
		struct part p = i < n ? l->part[i] : (struct part){ 0 };

		if (ends(l, &p, event))
			continue;
		if (maple_event_is_memory(event->kind) && fits(l, &p, event) &&
		    nmore < PARTS) {
			more[nmore] = p;
			more[nmore].at[l->form->order[p.done]] = event;
			if (++more[nmore++].done == l->form->n)
				return true;
		}
		if (i < n)
			l->part[kept++] = p;
	}
	/* The latest ones are the likeliest to go on. */
	if (kept + nmore > PARTS) {
		unsigned int drop = kept + nmore - PARTS;

		memmove(l->part, l->part + drop,
			(kept - drop) * sizeof(*l->part));
		kept -= drop;
	}
	memcpy(l->part + kept, more, nmore * sizeof(*more));
	l->n = kept + nmore;
	assert(l->n <= PARTS);
	return false;
}

/* maple_sets_happened - see sets.h */
bool maple_sets_happened(const struct maple_event *log, uint32_t n,
			 const struct maple_iroot *iroot,
			 bool (*together)(void *ctx, uint32_t a, uint32_t b),
			 void *ctx)
{
	struct look l = { .iroot = iroot,
			  .form = maple_set_form(iroot->idiom),
			  .together = together,
			  .ctx = ctx };

	assert(l.form);
	for (uint32_t i = 0; i < n; i++)
		if (log[i].kind < MAPLE_EV_STEP &&
		    log[i].kind != MAPLE_EV_QUIET && step(&l, &log[i]))
			return true;
	return false;
}
