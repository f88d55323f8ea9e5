// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The model of a run: which of its events count, what each read has read, which
 * sections there were, and what had to come before what. Of words that one
 * thread alone touched, or that nobody wrote to, nothing is kept.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/table.h"
#include "model.h"
#include "words.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define BYTES MAPLE_ORDER_BYTES

/* A thing by its address: a lock, a condition, a semaphore, a barrier. */
struct thing {
	uint64_t addr;
	uint32_t id;
	UT_hash_handle hh;
};

struct things {
	struct thing *table;
	uint32_t n;
};

/* The number of what is at @addr; NONE: no memory. */
static uint32_t number_of(struct things *t, uint64_t addr)
{
	struct thing *it;

	HASH_FIND(hh, t->table, &addr, sizeof(addr), it);
	if (it)
		return it->id;
	it = calloc(1, sizeof(*it));
	if (!it)
		return MAPLE_ORDER_NONE;
	it->addr = addr;
	HASH_ADD(hh, t->table, addr, sizeof(addr), it);
	if (!it->hh.tbl) {
		free(it);
		return MAPLE_ORDER_NONE;
	}
	return it->id = t->n++;
}

/* ---- The model. ---- */

struct building {
	const struct maple_order_reading *r;
	struct maple_order_model *m;
	uint32_t *kept; /* by event of the run: number in the model; or NONE */
	uint32_t *word; /* by word of the reading: of the model; or NONE */
	uint32_t *place, *hit; /* by thread, so far */
	uint32_t *last;	       /* by thread: its last LOCK that may be open */
	uint32_t *inside;      /* SECTIONS, by thread: locks that it holds, */
	bool *stood;	       /* ... and whether it can stand there already */
	struct things locks, conds, others;
};

static bool synchronises(unsigned int kind)
{
	return (kind >= MAPLE_EV_LOCK && kind <= MAPLE_EV_UNLOCK) ||
	       (kind >= MAPLE_EV_CREATE && kind <= MAPLE_EV_ONCED);
}

static int allocate(struct building *b)
{
	const struct maple_order_reading *r = b->r;
	struct maple_order_model *m = b->m;
	size_t threads = r->nthreads + 1u, words = 0, touches = 0;

	for (uint32_t i = 0; i < r->nwords; i++)
		words += maple_order_is_shared(&r->word[i]);
	for (uint32_t i = 0; i < r->ntouch; i++)
		touches += maple_order_is_shared(&r->word[r->touch[i].word]);
	b->kept = malloc((r->n + 1u) * sizeof(*b->kept));
	b->word = malloc((r->nwords + 1u) * sizeof(*b->word));
	b->place = calloc(threads, sizeof(*b->place));
	b->hit = calloc(threads, sizeof(*b->hit));
	b->last = malloc(threads * sizeof(*b->last));
	b->inside = calloc(threads, sizeof(*b->inside));
	b->stood = calloc(threads, sizeof(*b->stood));
	m->nthreads = r->nthreads;
	m->cut = r->cut;
	m->chain_of = calloc(threads + 1, sizeof(*m->chain_of));
	m->touch = calloc(touches + 1, sizeof(*m->touch));
	m->at = calloc(touches + 1, sizeof(*m->at));
	m->word = calloc(words + 1, sizeof(*m->word));
	if (!b->kept || !b->word || !b->place || !b->hit || !b->last ||
	    !b->inside || !b->stood || !m->chain_of || !m->touch || !m->at ||
	    !m->word)
		return -ENOMEM;
	memset(b->kept, 0xff, r->n * sizeof(*b->kept));
	for (size_t t = 0; t < threads; t++)
		b->place[t] = MAPLE_SITE_NONE;
	memset(b->last, 0xff, threads * sizeof(*b->last));
	for (uint32_t i = 0; i < r->nwords; i++)
		b->word[i] = maple_order_is_shared(&r->word[i])
				     ? m->nwords++
				     : MAPLE_ORDER_NONE;
	return 0;
}

/*
 * Whether @from, which no other thread has to do with, is where its thread can
 * stand in a section behind what it has done there: at the end of a section
 * there is no point.
 */
static bool is_inside(struct building *b, const struct maple_event *from,
		      bool point, bool kept)
{
	uint32_t *inside = &b->inside[from->thread];
	bool *stood = &b->stood[from->thread], is;

	*inside += from->kind == MAPLE_EV_LOCK;
	*inside -= from->kind == MAPLE_EV_UNLOCK && *inside;
	is = !kept && point && *inside && !*stood;
	if (kept || is)
		*stood = is;
	return is;
}

/* Which events of the run are kept, in order. */
static int by_word(const void *a, const void *b)
{
	uint32_t x = ((const struct maple_order_touch *)a)->word;
	uint32_t y = ((const struct maple_order_touch *)b)->word;

	return (x > y) - (x < y);
}

static int keep(struct building *b, bool sections)
{
	const struct maple_order_reading *r = b->r;
	struct maple_order_model *m = b->m;
	struct maple_order_event *e;
	uint32_t at = 0, room = 0;
	bool shared, point, kept;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct maple_event *from = &r->event[i];
		uint32_t first = at;

		shared = point = false;
		for (; at < r->ntouch && r->touch[at].event == i; at++)
			shared |= b->word[r->touch[at].word] != MAPLE_ORDER_NONE;
		if (maple_order_has_hit(from)) {
			point = true;
			b->place[from->thread] = from->site;
			b->hit[from->thread] = from->aux;
		}
		kept = shared || synchronises(from->kind);
		kept |= sections && is_inside(b, from, point, kept);
		if (!kept)
			continue;
		if (m->n == MAPLE_ORDER_EVENTS) {
			m->cut = true;
			break;
		}
		if (!maple_array_reserve(m->event, m->n, room))
			return -ENOMEM;
		b->kept[i] = m->n;
		e = &m->event[m->n++];
		*e = (struct maple_order_event){
			.thread = from->thread,
			.from = i,
			.site = from->site,
			.kind = from->kind == MAPLE_EV_FREE ? MAPLE_EV_WRITE
							    : from->kind,
			.shared_lock = from->flags & MAPLE_EVF_SHARED,
			.may_fail = from->kind == MAPLE_EV_LOCK &&
				    from->flags & MAPLE_EVF_MAYFAIL,
			.point = point,
			.place = b->place[from->thread],
			.hit = b->hit[from->thread],
			.writer = MAPLE_ORDER_UNSURE,
			.mate = MAPLE_ORDER_NONE,
			.held = MAPLE_ORDER_NONE,
			.touch = m->ntouch,
		};
		for (uint32_t k = first; k < at; k++) {
			uint32_t w = b->word[r->touch[k].word];

			if (w == MAPLE_ORDER_NONE)
				continue;
			m->touch[m->ntouch++] =
				(struct maple_order_touch){ w,
							    r->touch[k].bytes };
			m->word[w].n++;
		}
		e->ntouch = m->ntouch - e->touch;
		qsort(&m->touch[e->touch], e->ntouch, sizeof(*m->touch),
		      by_word);
	}
	return 0;
}

/* Each thread's events, and who touched each word. */
static int arrange(struct building *b)
{
	struct maple_order_model *m = b->m;
	uint32_t at = 0, *fill;

	m->chain = malloc((m->n + 1u) * sizeof(*m->chain));
	fill = calloc(m->nthreads + 1u, sizeof(*fill));
	if (!m->chain || !fill) {
		free(fill);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->n; i++)
		m->chain_of[m->event[i].thread + 1]++;
	for (uint32_t t = 0; t < m->nthreads; t++)
		m->chain_of[t + 1] += m->chain_of[t];
	for (uint32_t i = 0; i < m->n; i++) {
		struct maple_order_event *e = &m->event[i];

		e->index = fill[e->thread]++;
		m->chain[m->chain_of[e->thread] + e->index] = i;
	}
	free(fill);
	for (uint32_t w = 0; w < m->nwords; w++) {
		m->word[w].at = at;
		at += m->word[w].n;
		m->word[w].n = 0;
	}
	for (uint32_t i = 0; i < m->n; i++) {
		const struct maple_order_event *e = &m->event[i];

		for (uint32_t k = 0; k < e->ntouch; k++) {
			struct maple_order_word *w =
				&m->word[m->touch[e->touch + k].word];

			m->at[w->at + w->n++] = i;
		}
	}
	return 0;
}

/* What each read has read. */
static int read_from(struct building *b)
{
	struct maple_order_model *m = b->m;
	uint32_t(*wrote)[BYTES] = malloc((m->nwords + 1u) * sizeof(*wrote));
	bool *unsure = calloc(m->nwords + 1u, 1);

	if (!wrote || !unsure) {
		free(wrote);
		free(unsure);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < b->r->nwords; i++)
		if (b->word[i] != MAPLE_ORDER_NONE)
			unsure[b->word[i]] = b->r->word[i].unsure;
	for (uint32_t w = 0; w < m->nwords; w++)
		for (int k = 0; k < BYTES; k++)
			wrote[w][k] = MAPLE_ORDER_INITIAL;
	for (uint32_t i = 0; i < m->n; i++) {
		struct maple_order_event *e = &m->event[i];
		uint32_t from = MAPLE_ORDER_NONE;

		for (uint32_t k = 0; k < e->ntouch; k++) {
			const struct maple_order_touch *t =
				&m->touch[e->touch + k];

			if (unsure[t->word])
				from = MAPLE_ORDER_UNSURE;
			for (int n = 0; n < BYTES; n++) {
				uint32_t *last = &wrote[t->word][n];

				if (!(t->bytes >> n & 1))
					continue;
				if (from == MAPLE_ORDER_NONE)
					from = *last;
				else if (from != *last)
					from = MAPLE_ORDER_UNSURE;
				if (maple_order_writes(e))
					*last = i;
			}
		}
		if (from != MAPLE_ORDER_NONE)
			e->writer = from;
	}
	free(wrote);
	free(unsure);
	return 0;
}

static int needs(struct maple_order_model *m, uint32_t e, uint32_t before)
{
	struct maple_order_event *event = &m->event[e];

	assert(before < e);
	if (m->event[before].thread == event->thread)
		return 0;
	if (!event->nneed)
		event->need = m->nneed;
	/* All of one event are told in a row. */
	assert(event->need + event->nneed == m->nneed);
	if (!maple_array_reserve(m->need, m->nneed, m->need_room))
		return -ENOMEM;
	m->need[m->nneed++] = before;
	event->nneed++;
	return 0;
}

/* What a semaphore has, a condition's waiters, who is at a barrier: events. */
struct queue {
	uint32_t *event;
	uint32_t first, n, room; /* first: of those that are still there */
	uint32_t out;		 /* BARRIER: who has left this round */
	uint32_t in;
};

struct linking {
	struct building *b;
	struct queue *queue; /* by number of thing */
	uint32_t nqueues;
	uint32_t *born;	 /* by thread: its CREATE */
	uint32_t *ended; /* by thread: its EXIT */
	uint32_t *woken; /* by thread in a wait: who signalled it; or NONE */
};

static struct queue *queue_of(struct linking *l, uint64_t addr)
{
	uint32_t id = number_of(&l->b->others, addr);

	if (id == MAPLE_ORDER_NONE)
		return NULL;
	if (id >= l->nqueues) {
		if (!maple_array_extend(l->queue, l->nqueues, 2 * id + 8))
			return NULL;
		l->nqueues = 2 * id + 8;
	}
	return &l->queue[id];
}

static int put(struct queue *q, uint32_t e)
{
	if (!maple_array_reserve(q->event, q->n, q->room))
		return -ENOMEM;
	q->event[q->n++] = e;
	return 0;
}

/* The event that @thread has in @q, which is there no more; or NONE. */
static uint32_t drop(struct queue *q, uint32_t thread, const struct linking *l)
{
	for (uint32_t i = q->first; i < q->n; i++) {
		uint32_t e = q->event[i];

		if (l->b->m->event[e].thread != thread)
			continue;
		q->event[i] = q->event[q->first++];
		return e;
	}
	return MAPLE_ORDER_NONE;
}

/* Sections: a lock that is taken again by who has it is not. */
static int link_lock(struct linking *l, uint32_t i, uint64_t addr)
{
	struct building *b = l->b;
	struct maple_order_model *m = b->m;
	struct maple_order_event *e = &m->event[i];
	uint32_t open = b->last[e->thread], under = MAPLE_ORDER_NONE;

	e->lock = number_of(&b->locks, addr);
	if (e->lock == MAPLE_ORDER_NONE)
		return -ENOMEM;
	/* The innermost section of this lock that is open. */
	for (; open != MAPLE_ORDER_NONE; open = m->event[open].held)
		if (m->event[open].lock == e->lock &&
		    m->event[open].mate == MAPLE_ORDER_NONE)
			break;
	e->held = b->last[e->thread];
	if (e->kind == MAPLE_EV_LOCK) {
		b->last[e->thread] = i;
		return 0;
	}
	if (open != MAPLE_ORDER_NONE) {
		e->mate = open;
		m->event[open].mate = i;
	}
	/* Who is closed at the end of the list is asked no more. */
	under = b->last[e->thread];
	while (under != MAPLE_ORDER_NONE &&
	       m->event[under].mate != MAPLE_ORDER_NONE)
		under = m->event[under].held;
	b->last[e->thread] = under;
	return 0;
}

static int link_barrier(struct linking *l, struct queue *q, uint32_t i)
{
	const struct maple_order_event *e = &l->b->m->event[i];
	int r = 0;

	if (e->kind == MAPLE_EV_BARRIER_IN) {
		if (q->out) { /* all have come before anyone left */
			q->first = q->n;
			q->out = 0;
		}
		return put(q, i);
	}
	q->out++;
	for (uint32_t k = q->first; k < q->n && !r; k++)
		r = needs(l->b->m, i, q->event[k]);
	return r;
}

/*
 * A wait ends by the last signal before that came while it lasted. Which waiter
 * a signal is for is not told: any of them.
 */
static int link_condition(struct linking *l, struct queue *q, uint32_t i)
{
	struct maple_order_model *m = l->b->m;
	struct maple_order_event *e = &m->event[i];

	switch (e->kind) {
	case MAPLE_EV_WAIT:
		l->woken[e->thread] = MAPLE_ORDER_NONE;
		return put(q, i);
	case MAPLE_EV_WAKE:
		e->mate = drop(q, e->thread, l);
		return l->woken[e->thread] == MAPLE_ORDER_NONE
			       ? 0
			       : needs(m, i, l->woken[e->thread]);
	default:
		for (uint32_t k = q->first; k < q->n; k++)
			l->woken[m->event[q->event[k]].thread] = i;
		return 0;
	}
}

static int link_one(struct linking *l, uint32_t i,
		    const struct maple_event *from)
{
	struct maple_order_model *m = l->b->m;
	struct maple_order_event *e = &m->event[i];
	struct queue *q = NULL;

	if (from->kind >= MAPLE_EV_SIGNAL && from->kind <= MAPLE_EV_ONCED) {
		q = queue_of(l, from->addr);
		if (!q)
			return -ENOMEM;
	}
	switch (from->kind) {
	case MAPLE_EV_CREATE:
		if (from->aux < m->nthreads)
			l->born[from->aux] = i;
		return 0;
	case MAPLE_EV_START:
		return l->born[e->thread] == MAPLE_ORDER_NONE
			       ? 0
			       : needs(m, i, l->born[e->thread]);
	case MAPLE_EV_EXIT:
		l->ended[e->thread] = i;
		return 0;
	case MAPLE_EV_JOIN:
		return from->aux >= m->nthreads ||
				       l->ended[from->aux] == MAPLE_ORDER_NONE
			       ? 0
			       : needs(m, i, l->ended[from->aux]);
	case MAPLE_EV_LOCK:
	case MAPLE_EV_UNLOCK:
		return link_lock(l, i, from->addr);
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
	case MAPLE_EV_WAKE:
		e->cond = number_of(&l->b->conds, from->addr);
		return e->cond == MAPLE_ORDER_NONE ? -ENOMEM
						   : link_condition(l, q, i);
	case MAPLE_EV_BARRIER_IN:
	case MAPLE_EV_BARRIER_OUT:
		return link_barrier(l, q, i);
	case MAPLE_EV_POST:
	case MAPLE_EV_ONCE:
		return put(q, i);
	case MAPLE_EV_TAKE:
		/* What was posted first is taken first; before, its own. */
		return q->first < q->n ? needs(m, i, q->event[q->first++]) : 0;
	case MAPLE_EV_ONCED:
		return q->n ? needs(m, i, q->event[q->n - 1]) : 0;
	default:
		return 0;
	}
}

/* Who comes to memory after it ended, and was another's, comes after that. */
static int link_end(struct building *b, uint32_t i, uint32_t from, uint32_t *at)
{
	const struct maple_order_reading *r = b->r;
	uint32_t last = MAPLE_ORDER_NONE, ended;

	for (; *at < r->ntouch && r->touch[*at].event < from; ++*at)
		;
	for (; *at < r->ntouch && r->touch[*at].event == from; ++*at) {
		ended = r->word[r->touch[*at].word].ended;
		if (ended == MAPLE_ORDER_NONE || ended == last ||
		    b->kept[ended] == MAPLE_ORDER_NONE)
			continue;
		last = ended;
		if (needs(b->m, i, b->kept[ended]))
			return -ENOMEM;
	}
	return 0;
}

static int link_all(struct building *b)
{
	struct maple_order_model *m = b->m;
	size_t bytes = (m->nthreads + 1u) * sizeof(uint32_t);
	struct linking l = { .b = b };
	uint32_t touch = 0;
	int e = -ENOMEM;

	l.born = malloc(bytes);
	l.ended = malloc(bytes);
	l.woken = malloc(bytes);
	if (l.born && l.ended && l.woken) {
		memset(l.born, 0xff, bytes);
		memset(l.ended, 0xff, bytes);
		memset(l.woken, 0xff, bytes);
		e = 0;
	}
	for (uint32_t from = 0; from < b->r->n && !e; from++) {
		uint32_t i = b->kept[from];

		if (i == MAPLE_ORDER_NONE)
			continue;
		m->event[i].held = b->last[m->event[i].thread];
		e = link_one(&l, i, &b->r->event[from]);
		if (!e && m->event[i].ntouch)
			e = link_end(b, i, from, &touch);
	}
	m->nlocks = b->locks.n;
	m->nconds = b->conds.n;
	for (uint32_t i = 0; i < l.nqueues; i++)
		free(l.queue[i].event);
	free(l.queue);
	free(l.born);
	free(l.ended);
	free(l.woken);
	return e;
}

int maple_order_model_build(const struct maple_event *event, uint32_t n,
			    bool sections, struct maple_order_model **model)
{
	struct maple_order_reading r = { .event = event, .n = n };
	struct maple_order_model *m = calloc(1, sizeof(*m));
	struct building b = { .r = &r, .m = m };
	int e = m ? maple_order_read(&r) : -ENOMEM;

	if (!e)
		e = allocate(&b);
	if (!e)
		e = keep(&b, sections);
	if (!e)
		e = arrange(&b);
	if (!e)
		e = read_from(&b);
	if (!e)
		e = link_all(&b);
	maple_order_reading_deinit(&r);
	maple_table_clear(b.locks.table);
	maple_table_clear(b.conds.table);
	maple_table_clear(b.others.table);
	free(b.kept);
	free(b.word);
	free(b.place);
	free(b.hit);
	free(b.last);
	free(b.inside);
	free(b.stood);
	if (e) {
		maple_order_model_free(m);
		m = NULL;
	}
	*model = m;
	return e;
}

void maple_order_model_free(struct maple_order_model *m)
{
	if (!m)
		return;
	free(m->event);
	free(m->chain_of);
	free(m->chain);
	free(m->need);
	free(m->touch);
	free(m->word);
	free(m->at);
	free(m);
}

bool maple_order_is_cut(const struct maple_order_model *model)
{
	return model->cut;
}

uint32_t maple_order_threads(const struct maple_order_model *model)
{
	return model->nthreads;
}

uint32_t maple_order_events(const struct maple_order_model *model)
{
	return model->n;
}

struct maple_order_origin
maple_order_origin(const struct maple_order_model *model, uint32_t event)
{
	const struct maple_order_event *e = &model->event[event];

	return (struct maple_order_origin){ e->from, e->place, e->hit };
}
