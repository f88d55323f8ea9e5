// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Where a run could have gone on with another thread: where its thread stood
 * before an access that another one makes later, or everywhere.
 *
 * Orders that a program makes without locks are kept to: creations, joins,
 * signals, posts, barriers. What locks and data order may come in any order, so
 * these races are weak: one may be no race any more once another is reversed,
 * and one that was none may become one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model.h"

#define LOOK 1000 /* accesses behind one that are looked at */
#define WAIT 8	  /* threads that wait for each other */
#define NONE MAPLE_ORDER_NONE

struct turning {
	const struct maple_order_model *m;
	maple_order_turn_sink sink;
	void *ctx;
	bool over;
	/*
	 * A thread has stretches, which begin where it learns something: those
	 * of t are of[t] and on. Stretch i begins at index from[i] of its
	 * thread, and has a row in knows: how many of each thread's events
	 * happened before it.
	 */
	uint32_t *of, *from, *knows;
	/* What is done to a lock or a condition: at[first[i] ...], in order. */
	uint32_t *lock_at, *lock_first, *cond_at, *cond_first;
	uint32_t *met; /* by thread: the last event that it was told of */
};

static bool is_condition(const struct maple_order_event *e)
{
	return e->kind == MAPLE_EV_SIGNAL || e->kind == MAPLE_EV_BROADCAST ||
	       e->kind == MAPLE_EV_WAIT;
}

static bool is_lock(const struct maple_order_event *e)
{
	return e->kind == MAPLE_EV_LOCK;
}

static uint32_t lock_of(const struct maple_order_event *e)
{
	return e->lock;
}

static uint32_t cond_of(const struct maple_order_event *e)
{
	return e->cond;
}

/* The events that @counts, by what they are about, of which there are @n. */
static int group(const struct maple_order_model *m, uint32_t n,
		 bool (*counts)(const struct maple_order_event *),
		 uint32_t (*about)(const struct maple_order_event *),
		 uint32_t **at, uint32_t **first)
{
	uint32_t *fill = calloc(n + 2u, sizeof(*fill)), all = 0;

	*first = fill;
	if (!fill)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++) {
		if (!counts(&m->event[i]))
			continue;
		fill[about(&m->event[i]) + 2]++;
		all++;
	}
	for (uint32_t i = 0; i < n; i++)
		fill[i + 2] += fill[i + 1];
	*at = malloc((all + 1u) * sizeof(**at));
	if (!*at)
		return -ENOMEM;
	/* What lies one behind is where the next one goes. */
	for (uint32_t i = 0; i < m->n; i++)
		if (counts(&m->event[i]))
			(*at)[fill[about(&m->event[i]) + 1]++] = i;
	return 0;
}

static uint32_t *row(const struct turning *w, uint32_t stretch)
{
	return &w->knows[(size_t)stretch * w->m->nthreads];
}

/* The stretch of @e, among those that are there so far. */
static uint32_t stretch_of(const struct turning *w, uint32_t e)
{
	const struct maple_order_event *event = &w->m->event[e];
	uint32_t first = w->of[event->thread];
	size_t n = maple_array_lead(w->of[event->thread + 1] - first, i,
				    w->from[first + i] <= event->index);

	return first + (uint32_t)n - 1;
}

/* @a, and what @a knows of, happened before stretch @to. */
static void learn(struct turning *w, uint32_t to, uint32_t a)
{
	const uint32_t *its = row(w, stretch_of(w, a));
	const struct maple_order_event *event = &w->m->event[a];
	uint32_t *mine = row(w, to);

	for (uint32_t t = 0; t < w->m->nthreads; t++)
		if (its[t] > mine[t])
			mine[t] = its[t];
	if (mine[event->thread] <= event->index)
		mine[event->thread] = event->index + 1;
}

/* Happens-before, but for locks and data. */
static int know(struct turning *w)
{
	const struct maple_order_model *m = w->m;
	size_t threads = m->nthreads + 1u, all = m->nthreads;
	uint32_t *last = calloc(threads, sizeof(*last));

	w->of = calloc(threads, sizeof(*w->of));
	w->met = calloc(threads, sizeof(*w->met));
	for (uint32_t i = 0; i < m->n && w->of; i++)
		w->of[m->event[i].thread + 1] += m->event[i].nneed != 0;
	for (uint32_t t = 0; t < m->nthreads && w->of; t++)
		w->of[t + 1] += w->of[t] + 1;
	if (w->of)
		all = w->of[m->nthreads];
	w->from = malloc((all + 1) * sizeof(*w->from));
	w->knows = calloc(all + 1, threads * sizeof(*w->knows));
	if (!last || !w->of || !w->met || !w->from || !w->knows) {
		free(last);
		return -ENOMEM;
	}
	/* Those that have not begun are behind all events. */
	memset(w->from, 0xff, all * sizeof(*w->from));
	for (uint32_t t = 0; t < m->nthreads; t++)
		w->from[last[t] = w->of[t]] = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		const struct maple_order_event *e = &m->event[i];
		uint32_t now = last[e->thread];

		if (!e->nneed)
			continue;
		memcpy(row(w, now + 1), row(w, now),
		       m->nthreads * sizeof(*w->knows));
		w->from[now + 1] = e->index;
		last[e->thread] = now + 1;
		for (uint32_t k = 0; k < e->nneed; k++)
			learn(w, now + 1, m->need[e->need + k]);
	}
	free(last);
	return 0;
}

static bool is_before(const struct turning *w, uint32_t a, uint32_t b)
{
	const struct maple_order_event *e = &w->m->event[a];

	return row(w, stretch_of(w, b))[e->thread] > e->index;
}

/* ---- Who can go on. ---- */

/* The first event of @thread at @at or behind it; NONE: it has ended. */
static uint32_t next_of(const struct maple_order_model *m, uint32_t thread,
			uint32_t at)
{
	const uint32_t *chain = &m->chain[m->chain_of[thread]];
	size_t n = maple_array_lead(maple_order_length(m, thread), i,
				    chain[i] < at);

	return n < maple_order_length(m, thread) ? chain[n] : NONE;
}

/* Who has at @at the lock that @e is to take; NONE: it is free, or shared. */
static uint32_t holder(const struct turning *w, uint32_t e, uint32_t at)
{
	const struct maple_order_model *m = w->m;
	const struct maple_order_event *lock = &m->event[e], *open;
	uint32_t first = w->lock_first[lock->lock];
	uint32_t n = w->lock_first[lock->lock + 1] - first;

	n = (uint32_t)maple_array_lead(n, i, w->lock_at[first + i] < at);
	for (uint32_t i = n; i-- > 0 && n - i <= WAIT;) {
		open = &m->event[w->lock_at[first + i]];
		if (open->thread != lock->thread &&
		    maple_order_excludes(open, lock) &&
		    (open->mate == NONE || open->mate >= at))
			return open->thread;
	}
	return NONE;
}

/* Whom @thread waits for at @at; itself: for nobody; NONE: nobody knows. */
static uint32_t waits_for(const struct turning *w, uint32_t thread, uint32_t at)
{
	const struct maple_order_model *m = w->m;
	uint32_t e = next_of(m, thread, at), other;
	const struct maple_order_event *event;

	if (e == NONE)
		return NONE;
	event = &m->event[e];
	for (uint32_t k = 0; k < event->nneed; k++)
		if (m->need[event->need + k] >= at)
			return m->event[m->need[event->need + k]].thread;
	if (event->kind != MAPLE_EV_LOCK || event->may_fail)
		return thread;
	other = holder(w, e, at);
	return other == NONE ? thread : other;
}

/* Who is to go on at @at, so that @thread gets further; NONE: @self, or nobody */
static uint32_t who(const struct turning *w, uint32_t thread, uint32_t self,
		    uint32_t at)
{
	for (unsigned int i = 0; i < WAIT && thread != self; i++) {
		uint32_t other = waits_for(w, thread, at);

		if (other == thread)
			return thread;
		if (other == NONE)
			return NONE;
		thread = other;
	}
	return NONE;
}

/* ---- Races. ---- */

static bool conflict(const struct turning *w, uint32_t a, uint32_t b)
{
	const struct maple_order_event *x = &w->m->event[a];
	const struct maple_order_event *y = &w->m->event[b];

	if (is_lock(x))
		return maple_order_excludes(x, y);
	if (is_condition(x))
		return (x->kind == MAPLE_EV_WAIT) != (y->kind == MAPLE_EV_WAIT);
	return (maple_order_writes(x) || maple_order_writes(y)) &&
	       maple_order_overlap(w->m, a, b);
}

static void tell(struct turning *w, uint32_t at, uint32_t thread, uint32_t e,
		 uint32_t f)
{
	struct maple_order_turn turn = { .at = at, .e = e, .f = f };

	turn.next = who(w, thread, w->m->event[at].thread, at);
	if (turn.next != NONE && !w->over)
		w->over = !w->sink(w->ctx, &turn);
}

/* Where the stretch begins in which @e's thread got to it. */
static uint32_t began(const struct turning *w, uint32_t e)
{
	const struct maple_order_event *event = w->m->event;
	uint32_t at = e;

	for (uint32_t i = e; i-- > 0;) {
		if (!event[i].point)
			continue;
		if (event[i].thread != event[e].thread)
			break;
		at = i;
	}
	return at;
}

/* Whether its thread has just read the same there: it waits. */
static bool looks_again(const struct turning *w, uint32_t e)
{
	const struct maple_order_event *event = &w->m->event[e], *before;

	if (event->kind != MAPLE_EV_READ || !event->index)
		return false;
	before = &w->m->event[maple_order_of(w->m, event->thread,
					     event->index - 1)];
	return before->kind == MAPLE_EV_READ && before->site == event->site &&
	       before->writer == event->writer &&
	       event->writer != MAPLE_ORDER_UNSURE;
}

/* @e, and what of the @n events at @list, those behind it, is in conflict. */
static void races_of(struct turning *w, uint32_t e, const uint32_t *list,
		     uint32_t n)
{
	const struct maple_order_event *event = w->m->event;
	uint32_t block = NONE;

	for (uint32_t i = 0; i < n && i < LOOK && !w->over; i++) {
		uint32_t f = list[i], t = event[f].thread;

		if (t == event[e].thread || w->met[t] == e + 1 ||
		    !conflict(w, e, f))
			continue;
		w->met[t] = e + 1; /* what it does later is the same turn */
		if (is_before(w, e, f))
			continue;
		tell(w, e, t, e, f);
		if (block == NONE)
			block = began(w, e);
		if (block != e)
			tell(w, block, t, e, f);
	}
}

static void races(struct turning *w, const uint32_t *at, const uint32_t *end,
		  uint32_t e)
{
	uint32_t n = (uint32_t)(end - at);

	n = (uint32_t)maple_array_lead(n, i, at[i] <= e);
	races_of(w, e, at + n, (uint32_t)(end - at) - n);
}

static int prepare(struct turning *w)
{
	const struct maple_order_model *m = w->m;
	int e = know(w);

	if (!e)
		e = group(m, m->nlocks, is_lock, lock_of, &w->lock_at,
			  &w->lock_first);
	if (!e)
		e = group(m, m->nconds, is_condition, cond_of, &w->cond_at,
			  &w->cond_first);
	return e;
}

static void deinit(struct turning *w)
{
	free(w->of);
	free(w->from);
	free(w->knows);
	free(w->met);
	free(w->lock_at);
	free(w->lock_first);
	free(w->cond_at);
	free(w->cond_first);
}

int maple_order_races(const struct maple_order_model *model,
		      maple_order_turn_sink sink, void *ctx)
{
	struct turning w = { .m = model, .sink = sink, .ctx = ctx };
	int error = prepare(&w);

	for (uint32_t e = 0; e < model->n && !error && !w.over; e++) {
		const struct maple_order_event *event = &model->event[e];
		const uint32_t *first = w.lock_first;

		if (!event->point || looks_again(&w, e))
			continue;
		for (uint32_t k = 0; k < event->ntouch; k++) {
			const struct maple_order_word *word =
				&model->word[model->touch[event->touch + k].word];

			races(&w, model->at + word->at,
			      model->at + word->at + word->n, e);
		}
		if (is_lock(event))
			races(&w, w.lock_at + first[event->lock],
			      w.lock_at + first[event->lock + 1], e);
		first = w.cond_first;
		if (is_condition(event))
			races(&w, w.cond_at + first[event->cond],
			      w.cond_at + first[event->cond + 1], e);
	}
	deinit(&w);
	return error;
}

/* ---- Everywhere. ---- */

/* Whether it was created before @at; main always was. */
static bool is_born(const struct maple_order_model *m, uint32_t thread,
		    uint32_t at)
{
	const struct maple_order_event *first;

	if (!maple_order_length(m, thread))
		return false;
	first = &m->event[maple_order_of(m, thread, 0)];
	return !first->nneed || m->need[first->need] < at;
}

int maple_order_everywhere(const struct maple_order_model *model,
			   maple_order_turn_sink sink, void *ctx)
{
	struct turning w = { .m = model, .sink = sink, .ctx = ctx };
	int error = prepare(&w);

	for (uint32_t e = 0; e < model->n && !error && !w.over; e++) {
		uint32_t self = model->event[e].thread, over = 0;

		if (!model->event[e].point)
			continue;
		for (uint32_t i = 1; i < model->nthreads && !w.over; i++) {
			uint32_t t = (self + i) % model->nthreads;
			struct maple_order_turn turn = {
				.at = e, .next = t, .e = e, .f = NONE
			};

			if (!is_born(model, t, e) || waits_for(&w, t, e) != t)
				continue;
			turn.over = ++over;
			w.over = !sink(ctx, &turn);
		}
	}
	deinit(&w);
	return error;
}
