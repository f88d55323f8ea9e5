// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a run by another schedule would do, if each thread did what it did in
 * this one: the rules of lib/policy's LIST, on paper. If the same order of all
 * that depends on each other is that of a run that was, then it is so.
 *
 * Of conditions and semaphores it is only told what this run did: if their
 * events came in another order, who is woken, and by whom, is not known. Nor is
 * what a trylock finds that finds another thread there.
 */
#include <stdlib.h>
#include <string.h>
#include "base/mix.h"
#include "model.h"

#define NONE MAPLE_ORDER_NONE

struct foreseeing {
	const struct maple_order_model *m;
	const struct maple_policy_switch *list;
	uint32_t nlist, used;
	bool youngest;
	bool turns, back;
	bool unknown;
	bool stirred; /* what somebody else may have waited for has happened */
	uint32_t *order, n;
	uint32_t *next;	       /* by thread: index of its next event */
	uint32_t *place, *hit; /* ... its last point */
	uint32_t *yield; /* ... its how-manieth that it stands at; 0: at none */
	uint32_t *owner; /* by lock: its thread, or NONE */
	uint32_t *depth; /* ... and how often */
	uint32_t *shares; /* by lock: readers */
	/* by event: the one of its condition, or semaphores, before it; or NONE */
	uint32_t *after;
};

static uint32_t now_of(const struct foreseeing *f, uint32_t thread)
{
	return f->next[thread] < maple_order_length(f->m, thread)
		       ? maple_order_of(f->m, thread, f->next[thread])
		       : NONE;
}

static bool is_done(const struct foreseeing *f, uint32_t e)
{
	const struct maple_order_event *event = &f->m->event[e];

	return f->next[event->thread] > event->index;
}

static bool can_lock(struct foreseeing *f, const struct maple_order_event *e)
{
	bool mine = f->owner[e->lock] == e->thread;
	bool free_ = f->owner[e->lock] == NONE || mine;

	if (!e->shared_lock && f->shares[e->lock])
		free_ = false;
	f->unknown |= !free_ && e->may_fail;
	return free_;
}

/* Whether @thread could go on; what has begun nothing waits for its CREATE. */
static bool is_ready(struct foreseeing *f, uint32_t thread)
{
	uint32_t e = now_of(f, thread);
	const struct maple_order_event *event;

	if (e == NONE)
		return false;
	event = &f->m->event[e];
	for (uint32_t k = 0; k < event->nneed; k++)
		if (!is_done(f, f->m->need[event->need + k]))
			return false;
	return event->kind != MAPLE_EV_LOCK || can_lock(f, event);
}

static void unlock(struct foreseeing *f, const struct maple_order_event *e)
{
	if (e->shared_lock) {
		f->shares[e->lock] -= f->shares[e->lock] != 0;
	} else if (f->owner[e->lock] == e->thread && !--f->depth[e->lock]) {
		f->owner[e->lock] = NONE;
	}
}

static void carry_out(struct foreseeing *f, uint32_t thread)
{
	uint32_t e = now_of(f, thread);
	const struct maple_order_event *event = &f->m->event[e];

	f->unknown |= f->after[e] != NONE && !is_done(f, f->after[e]);
	f->next[thread]++;
	f->order[f->n++] = e;
	f->yield[thread] = event->yield;
	f->place[thread] = event->place;
	f->hit[thread] = event->hit;
	f->stirred |= event->kind == MAPLE_EV_CREATE ||
		      event->kind == MAPLE_EV_EXIT ||
		      event->kind == MAPLE_EV_BARRIER_IN ||
		      event->kind == MAPLE_EV_ONCE;
	if (event->kind == MAPLE_EV_UNLOCK) {
		unlock(f, event);
	} else if (event->kind == MAPLE_EV_LOCK && event->shared_lock) {
		f->shares[event->lock]++;
	} else if (event->kind == MAPLE_EV_LOCK) {
		f->owner[event->lock] = thread;
		f->depth[event->lock]++;
	}
}

/* Goes on to its next point, which nobody has a say in. */
static void settle(struct foreseeing *f, uint32_t thread)
{
	while (!f->yield[thread] && is_ready(f, thread) &&
	       !f->m->event[now_of(f, thread)].point)
		carry_out(f, thread);
}

/* Those who are new, or waited for what has happened, come to their points. */
static void settle_all(struct foreseeing *f)
{
	while (f->stirred) {
		f->stirred = false;
		for (uint32_t t = 0; t < f->m->nthreads; t++)
			settle(f, t);
	}
}

/* The list's word on @thread, which stands, or has blocked, where it is. */
static uint32_t told(const struct foreseeing *f, uint32_t thread, uint32_t e)
{
	const struct maple_order_event *event = e == NONE ? NULL
							  : &f->m->event[e];

	for (uint32_t i = 0; i < f->nlist; i++) {
		const struct maple_policy_switch *s = &f->list[i];

		if (s->thread != thread)
			continue;
		if (f->yield[thread]) {
			if (s->what == MAPLE_POLICY_AT &&
			    s->site == MAPLE_SITE_NONE &&
			    s->hit == f->yield[thread])
				return s->next;
			continue;
		}
		if (s->what == MAPLE_POLICY_AT && event && event->point &&
		    s->site == event->place && s->hit == event->hit)
			return s->next;
		if (s->what == MAPLE_POLICY_BLOCKED &&
		    !(event && event->point) && s->site == f->place[thread] &&
		    s->hit == f->hit[thread])
			return s->next;
	}
	return NONE;
}

/* By turns, who comes behind @thread; itself if nobody else can go on. */
static uint32_t turn(struct foreseeing *f, uint32_t thread)
{
	uint32_t n = f->m->nthreads;

	for (uint32_t i = 1; i <= n; i++) {
		uint32_t t = (thread + (f->back ? n - i : i)) % n;

		if (is_ready(f, t))
			return t;
	}
	return NONE;
}

static uint32_t choose(struct foreseeing *f, uint32_t thread)
{
	uint32_t e = now_of(f, thread), next = told(f, thread, e), best = NONE;

	f->used += next != NONE;
	if (next != NONE && next < f->m->nthreads && is_ready(f, next))
		return next;
	/* Who is named and cannot go on would block, somewhere. */
	f->unknown |= next != NONE;
	if (is_ready(f, thread) && !f->yield[thread])
		return thread;
	for (uint32_t t = 0; t < f->m->nthreads; t++)
		if (t != thread && is_ready(f, t) &&
		    (best == NONE || f->youngest))
			best = t;
	/* Nobody else is there to give way to. */
	return best == NONE && is_ready(f, thread) ? thread : best;
}

static void carry_all(struct foreseeing *f)
{
	uint32_t now = 0;

	settle(f, 0);
	settle_all(f);
	while (f->n < f->m->n && !f->unknown) {
		now = f->turns ? turn(f, now) : choose(f, now);
		if (now == NONE)
			return;
		f->yield[now] = 0;
		settle(f, now);
		if (is_ready(f, now) && !f->yield[now])
			carry_out(f, now);
		settle(f, now);
		settle_all(f);
	}
}

/* Whose order among themselves is to be the run's. */
static uint32_t *chain(const struct maple_order_model *m)
{
	uint32_t *after = malloc((m->n + 1u) * sizeof(*after));
	uint32_t *last = malloc((m->nconds + 1u) * sizeof(*last));

	if (!after || !last) {
		free(after);
		free(last);
		return NULL;
	}
	memset(last, 0xff, (m->nconds + 1u) * sizeof(*last));
	for (uint32_t i = 0; i < m->n; i++) {
		const struct maple_order_event *e = &m->event[i];
		uint32_t what;

		after[i] = NONE;
		if (e->kind >= MAPLE_EV_SIGNAL && e->kind <= MAPLE_EV_WAKE)
			what = e->cond;
		else if (e->kind == MAPLE_EV_POST || e->kind == MAPLE_EV_TAKE)
			what = m->nconds;
		else
			continue;
		after[i] = last[what];
		last[what] = i;
	}
	free(last);
	return after;
}

static void foresee(struct foreseeing *f)
{
	size_t threads = f->m->nthreads + 1u, locks = f->m->nlocks + 1u;
	uint32_t *mem = calloc(4 * threads + 3 * locks, sizeof(*mem));

	f->after = chain(f->m);
	if (mem && f->after) {
		f->next = mem;
		f->place = f->next + threads;
		f->hit = f->place + threads;
		f->yield = f->hit + threads;
		f->owner = f->yield + threads;
		f->depth = f->owner + locks;
		f->shares = f->depth + locks;
		for (size_t t = 0; t < threads; t++)
			f->place[t] = MAPLE_SITE_NONE;
		memset(f->owner, 0xff, locks * sizeof(*f->owner));
		carry_all(f);
	}
	free(mem);
	free(f->after);
}

bool maple_order_foresee(const struct maple_order_model *model,
			 const struct maple_policy_switch *list, uint32_t nlist,
			 bool youngest, uint32_t *order)
{
	struct foreseeing f = {
		.m = model,
		.list = list,
		.nlist = nlist,
		.youngest = youngest,
		.order = order,
	};

	foresee(&f);
	return f.n == model->n && f.used == nlist && !f.unknown;
}

bool maple_order_foresee_turns(const struct maple_order_model *model, bool back,
			       uint32_t *order)
{
	struct foreseeing f = {
		.m = model,
		.turns = true,
		.back = back,
		.order = order,
	};

	foresee(&f);
	return f.n == model->n && !f.unknown;
}

/* ---- The hash. ---- */

struct hashing {
	const struct maple_order_model *m;
	const uint64_t *thread;
	uint64_t *wrote, *read; /* by word, lock, condition */
	uint64_t *name;		/* by event, so far */
	struct last *last;	/* by thread */
	uint64_t sum;
};

/* What a thread did last, and what that depended on. */
struct last {
	uint64_t n, what, on;
};

/* @who comes to thing @i; what it depends on there. */
static uint64_t come(struct hashing *h, size_t i, uint64_t who, bool changes)
{
	uint64_t on = maple_mix(h->wrote[i] + 1, changes ? h->read[i] : 0);

	if (changes) {
		h->wrote[i] = who;
		h->read[i] = 0;
	} else {
		h->read[i] += who;
	}
	return on;
}

static uint64_t depends(struct hashing *h, const struct maple_order_event *e,
			uint64_t who)
{
	const struct maple_order_model *m = h->m;
	uint64_t on = 0;

	for (uint32_t k = 0; k < e->ntouch; k++)
		on += come(h, m->touch[e->touch + k].word, who,
			   e->kind != MAPLE_EV_READ);
	if (e->kind == MAPLE_EV_LOCK)
		on += come(h, (size_t)m->nwords + e->lock, who, !e->shared_lock);
	if (e->kind >= MAPLE_EV_SIGNAL && e->kind <= MAPLE_EV_WAIT)
		on += come(h, (size_t)m->nwords + m->nlocks + e->cond, who,
			   true);
	for (uint32_t k = 0; k < e->nneed; k++)
		on += maple_mix(h->name[m->need[e->need + k]], 1);
	return on;
}

/* Whether @e reads once more what its thread has just read there. */
static bool repeats(const struct hashing *h, const struct maple_order_event *e,
		    const struct last *last, uint64_t what)
{
	const struct maple_order_model *m = h->m;
	uint64_t on = 0;

	if (e->kind != MAPLE_EV_READ || !last->n || last->what != what)
		return false;
	for (uint32_t k = 0; k < e->ntouch; k++)
		on += maple_mix(h->wrote[m->touch[e->touch + k].word] + 1, 0);
	return on == last->on;
}

/*
 * Each event with what it depends on immediately: that is the whole order. How
 * often a thread looks while it waits is no difference.
 */
static void add(struct hashing *h, uint32_t e)
{
	const struct maple_order_event *event = &h->m->event[e];
	struct last *last = &h->last[event->thread];
	uint64_t what = (uint64_t)event->site << 8 | event->kind;

	if (repeats(h, event, last, what))
		return;
	h->name[e] =
		maple_mix(maple_mix(h->thread[event->thread], ++last->n), what);
	last->what = what;
	last->on = depends(h, event, h->name[e]);
	h->sum += maple_mix(h->name[e], last->on);
}

uint64_t maple_order_hash(const struct maple_order_model *model,
			  const uint32_t *order, const uint64_t *thread)
{
	size_t things = (size_t)model->nwords + model->nlocks + model->nconds;
	struct hashing h = { .m = model, .thread = thread };

	h.wrote = calloc(2 * things + model->n + 1, sizeof(*h.wrote));
	h.last = calloc(model->nthreads + 1u, sizeof(*h.last));
	if (h.wrote && h.last) {
		h.read = h.wrote + things;
		h.name = h.read + things;
		for (uint32_t i = 0; i < model->n; i++)
			add(&h, order ? order[i] : i);
		h.sum |= 1;
	}
	free(h.wrote);
	free(h.last);
	return h.sum;
}
