// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* An order that was found is carried out on paper, with what is true of a run. */
#include <string.h>
#include "order.h"

bool paper_shares(const struct maple_event *w, const struct maple_event *a,
		  const struct maple_event *b)
{
	for (uint64_t at = a->addr; at < a->addr + a->size; at++)
		if (touches(a, at) && touches(b, at) && touches(w, at))
			return true;
	return false;
}

unsigned int paper_links(const struct maple_order_goal *goal, unsigned int sure,
			 struct link link[MAPLE_PATTERN_STEPS])
{
	unsigned int n = 0;

	for (unsigned int to = 1; to < sure; to++) {
		struct maple_pattern_step second =
			maple_pattern_step(goal->pattern.number, to);

		for (unsigned int from = to; from-- > 0;) {
			struct maple_pattern_step first =
				maple_pattern_step(goal->pattern.number, from);

			if (first.place != second.place)
				continue;
			if (first.other != second.other &&
			    goal->pattern.number < 18)
				link[n++] = (struct link){ from, to, first.kind,
							   second.kind };
			break;
		}
	}
	return n;
}

bool paper_breaks(const struct paper *p, const struct maple_order_goal *goal,
		  const struct link *link, uint32_t w)
{
	const struct maple_event *from =
		&p->event[p->of_model[goal->event[link->from]]];
	const struct maple_event *to =
		&p->event[p->of_model[goal->event[link->to]]];
	const struct maple_event *it = &p->event[w];

	if (it == from || it == to || !paper_shares(it, from, to))
		return false;
	if (writes(it))
		return true;
	if (link->from_kind == MAPLE_EV_READ)
		return it->thread == from->thread;
	return link->to_kind == MAPLE_EV_WRITE || it->thread == to->thread;
}

struct replay {
	const struct paper *p;
	uint32_t place[EVENTS]; /* of each event; or NONE */
	uint32_t next[THREADS]; /* the event that each thread has come to */
};

static bool is_out(const struct replay *r, uint32_t e)
{
	return e == NONE || r->place[e] != NONE;
}

/* The next event of @thread from @e on that the model has. */
static uint32_t next_of(const struct paper *p, uint32_t thread, uint32_t e)
{
	while (e < p->n &&
	       (p->event[e].thread != thread || p->truth[e].in_model == NONE))
		e++;
	return e;
}

static const char *replay_lock(const struct replay *r, uint32_t e)
{
	const struct paper *p = r->p;
	const struct maple_event *lock = &p->event[e];

	for (uint32_t i = 0; i < p->n; i++) {
		const struct maple_event *other = &p->event[i];

		if (other->kind != MAPLE_EV_LOCK || other->addr != lock->addr ||
		    other->thread == lock->thread || !is_out(r, i) ||
		    (other->flags & lock->flags & MAPLE_EVF_SHARED))
			continue;
		if (p->truth[i].end == NONE || !is_out(r, p->truth[i].end))
			return "a lock is taken that another thread has";
	}
	return NULL;
}

static const char *replay_access(const struct replay *r, uint32_t e,
				 uint32_t *wrote, uint32_t changed)
{
	const struct maple_event *event = &r->p->event[e];

	for (uint32_t k = 0; k < event->size; k++) {
		uint32_t *last = &wrote[event->addr + k - 0x1000];

		if (reads(event) && e != changed &&
		    *last != r->p->truth[e].writer[k])
			return "a read has read something else";
		if (writes(event))
			*last = e;
	}
	return NULL;
}

static const char *replay_goal(const struct replay *r,
			       const struct maple_order_goal *goal,
			       unsigned int sure)
{
	const struct paper *p = r->p;
	struct link link[MAPLE_PATTERN_STEPS];
	unsigned int n = paper_links(goal, sure, link);
	uint32_t last = 0;

	for (unsigned int i = 0; i < maple_pattern_steps(goal->pattern.number);
	     i++) {
		uint32_t at = r->place[p->of_model[goal->event[i]]];

		if (i >= sure && at != NONE)
			return "a step of the tail is in it";
		if (i < sure && (at == NONE || (i && at <= last)))
			return "steps are not in order";
		last = at;
	}
	for (unsigned int i = 0; i < n; i++) {
		uint32_t from = r->place[p->of_model[goal->event[link[i].from]]];
		uint32_t to = r->place[p->of_model[goal->event[link[i].to]]];

		for (uint32_t w = 0; w < p->n; w++)
			if (r->place[w] != NONE && r->place[w] > from &&
			    r->place[w] < to &&
			    paper_breaks(p, goal, &link[i], w))
				return "a dependency is not immediate";
	}
	return NULL;
}

static const char *replay_one(struct replay *r, uint32_t e, uint32_t *wrote,
			      uint32_t changed)
{
	const struct paper *p = r->p;
	const struct maple_event *event = &p->event[e];
	const struct truth *truth = &p->truth[e];

	if (r->next[event->thread] != e)
		return "a thread does not do what it did";
	r->next[event->thread] = next_of(p, event->thread, e + 1);
	if (!is_out(r, truth->need))
		return "what it needs is not there";
	if (event->kind == MAPLE_EV_WAKE && truth->need != NONE &&
	    r->place[truth->need] < r->place[truth->wait])
		return "a signal came before its wait";
	if (event->kind == MAPLE_EV_LOCK)
		return replay_lock(r, e);
	if (maple_event_is_memory(event->kind))
		return replay_access(r, e, wrote, changed);
	return NULL;
}

const char *paper_replay(const struct paper *p,
			 const struct maple_order_goal *goal,
			 const struct maple_order_found *order, uint32_t changed)
{
	struct replay r = { .p = p };
	uint32_t wrote[64];
	const char *wrong = NULL;

	memset(r.place, 0xff, sizeof(r.place));
	memset(wrote, 0xff, sizeof(wrote));
	for (uint32_t t = 0; t < THREADS; t++)
		r.next[t] = next_of(p, t, 0);
	for (uint32_t i = 0; i < order->n && !wrong; i++) {
		uint32_t e = p->of_model[order->event[i]];

		wrong = replay_one(&r, e, wrote, changed);
		r.place[e] = i;
		if (e == changed && r.next[p->event[e].thread] < p->n &&
		    i + 1 < order->n && !wrong)
			r.next[p->event[e].thread] = NONE;
	}
	return wrong ? wrong : replay_goal(&r, goal, order->sure);
}
