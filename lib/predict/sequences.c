// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which compound idioms the order of this run exposed (algorithms.md 2 and 4).
 *
 * They show at their last event. An access c that depends immediately on
 * another thread's q ends one for every local pair of its own thread that
 * ends in c and begins in a p on which that other thread's s depended:
 *
 *   P   p ......... c        s is q: idiom 2       s before q: idiom 3, 4
 *        \         /         q before s, a local pair as well: idiom 5
 *   Q     s ...... q
 *
 * In idiom 6 both arrows go the same way, so the local pair that begins in p
 * ends in q:
 *
 *   P   p ... q
 *        \     \
 *   Q     s ... c
 *
 * A read-modify-write in the middle of idiom 2 goes by the name of its write,
 * as which it is the source of what follows.
 *
 * Work is bounded by steps, of which each dependency brings some and a run
 * has many from the start; what there is no step for is counted.
 */
#include <assert.h>
#include "observer.h"

#define STEPS_FIRST (1u << 24)
#define STEPS_EACH  64

static void tell(struct maple_observer *observer, enum maple_idiom idiom,
		 struct maple_iroot_event e0, struct maple_iroot_event e1,
		 struct maple_iroot_event e2, struct maple_iroot_event e3)
{
	struct maple_iroot iroot = { .idiom = idiom, .e = { e0, e1, e2, e3 } };

	maple_iroots_observed(observer->iroots, &iroot);
}

/* Idiom 5: whether q and s are a local pair of their thread. */
static bool crossed(const struct maple_observer *observer,
		    const struct maple_successor *s, const struct maple_seen *q)
{
	const struct maple_record *first, *last;

	first = maple_window_find(observer->window, q->thread, q->record);
	last = maple_window_find(observer->window, s->thread, s->index);
	return first && last &&
	       maple_recent_pair(observer->window->thread[q->thread], first,
				 last, observer->window->events);
}

/* Whether s and q are records of one access; an old one is for itself. */
static bool together(const struct maple_observer *observer,
		     const struct maple_successor *s, const struct maple_seen *q)
{
	const struct maple_record *a, *b;

	a = maple_window_find(observer->window, s->thread, s->index);
	b = maple_window_find(observer->window, q->thread, q->record);
	return a && b && a->access == b->access;
}

static void combine(struct maple_observer *observer,
		    const struct maple_record *p,
		    const struct maple_successor *s,
		    const struct maple_precedent *q,
		    const struct maple_record *c)
{
	struct maple_iroot_event none = { 0 };
	struct maple_iroot_event e0 = { p->site, s->from };
	struct maple_iroot_event e1 = { s->site, s->kind };
	struct maple_iroot_event e2 = { q->from.site, q->from.kind };
	struct maple_iroot_event e3 = { c->site, q->kind };
	bool same = p->location == c->location;

	if (s->index == q->from.record) {
		if (same)
			tell(observer, MAPLE_IDIOM_2, e0, e2, e3, none);
	} else if (together(observer, s, &q->from)) {
		return;
	} else if (s->index < q->from.record) {
		tell(observer, same ? MAPLE_IDIOM_3 : MAPLE_IDIOM_4, e0, e1, e2,
		     e3);
	} else if (!same && crossed(observer, s, &q->from)) {
		tell(observer, MAPLE_IDIOM_5, e0, e1, e2, e3);
		tell(observer, MAPLE_IDIOM_5, e2, e3, e0, e1);
	}
}

static bool spend(struct maple_observer *observer, uint32_t steps)
{
	if (observer->steps < steps) {
		observer->stats->cut_sequences++;
		return false;
	}
	observer->steps -= steps;
	return true;
}

/* Idioms 2 to 5: @c ends a local pair of its thread. */
static void end_pairs(struct maple_observer *observer, uint32_t thread,
		      const struct maple_record *c)
{
	const struct maple_recent *recent = observer->window->thread[thread];
	const struct maple_record *p;

	for (uint64_t i = recent->sources; i; i = p->sooner) {
		p = maple_recent_find(recent, i);
		if (p->access >= c->access)
			continue;
		if (c->clock - p->clock >= observer->window->events ||
		    !spend(observer, 1 + p->nsuccessors))
			return;
		if (!maple_recent_pair(recent, p, c, observer->window->events))
			continue;
		for (uint32_t j = 0; j < p->nsuccessors; j++)
			for (uint32_t k = 0; k < observer->nprecedents; k++)
				if (p->successors[j].thread ==
				    observer->precedent[k].from.thread)
					combine(observer, p, &p->successors[j],
						&observer->precedent[k], c);
	}
}

/* Idiom 6: @q, on which @c of @thread depends, ends a pair of its thread. */
static void end_parallel(struct maple_observer *observer, uint32_t thread,
			 const struct maple_record *c,
			 const struct maple_precedent *precedent)
{
	const struct maple_seen *from = &precedent->from;
	const struct maple_recent *recent =
		observer->window->thread[from->thread];
	const struct maple_record *p, *q;

	q = maple_window_find(observer->window, from->thread, from->record);
	if (!q)
		return;
	for (uint64_t i = recent->sources; i; i = p->sooner) {
		p = maple_recent_find(recent, i);
		if (p->access >= q->access)
			continue;
		if (q->clock - p->clock >= observer->window->events ||
		    !spend(observer, 1 + p->nsuccessors))
			return;
		if (p->location == q->location ||
		    !maple_recent_pair(recent, p, q, observer->window->events))
			continue;
		for (uint32_t j = 0; j < p->nsuccessors; j++) {
			const struct maple_successor *s = &p->successors[j];
			struct maple_iroot_event e0 = { p->site, s->from };
			struct maple_iroot_event e1 = { s->site, s->kind };
			struct maple_iroot_event e2 = { q->site, from->kind };
			struct maple_iroot_event e3 = { c->site,
							precedent->kind };

			if (s->thread == thread && s->index < c->access)
				tell(observer, MAPLE_IDIOM_6, e0, e1, e2, e3);
		}
	}
}

static void succeed(struct maple_observer *observer, uint32_t thread,
		    const struct maple_record *c,
		    const struct maple_precedent *precedent)
{
	const struct maple_seen *from = &precedent->from;
	struct maple_record *q =
		maple_window_find(observer->window, from->thread, from->record);
	struct maple_successor successor = {
		.index = c->index,
		.site = c->site,
		.thread = (uint16_t)thread,
		.kind = precedent->kind,
		.from = from->kind,
	};

	if (q && !maple_recent_succeed(observer->window->thread[from->thread],
				       q, &successor))
		observer->stats->cut_sequences++;
}

void maple_observer_sequences_init(struct maple_observer *observer,
				   struct maple_window *window)
{
	observer->window = window;
	observer->steps = STEPS_FIRST;
}

/*
 * maple_observer_sequences - what ends in the access @seen, on one cell, that
 *                            depends on the precedents noted
 */
void maple_observer_sequences(struct maple_observer *observer,
			      const struct maple_seen *seen)
{
	const struct maple_record *c =
		maple_window_find(observer->window, seen->thread, seen->record);

	if (!c)
		return;
	assert(c->site == seen->site && c->clock == seen->clock);
	observer->steps += STEPS_EACH;
	end_pairs(observer, seen->thread, c);
	for (uint32_t i = 0; i < observer->nprecedents; i++) {
		end_parallel(observer, seen->thread, c, &observer->precedent[i]);
		succeed(observer, seen->thread, c, &observer->precedent[i]);
	}
}
