// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The patterns that another order of a run's events may show. Steps of one
 * thread are taken as they stand near each other; the steps of two threads are
 * put together in each way that the table has. Of events of the same thread,
 * site and place some stand for all, and of each key some occurrences.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/table.h"
#include "model.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <xxhash.h>

#define FEW	4     /* events that stand for all of a thread, site, place */
#define GROUPS	64    /* of these at a place */
#define EQUAL	4     /* ... of which so many are threads at one site */
#define PER_KEY 16    /* occurrences of a pattern */
#define PAIRS	1500  /* of steps of a thread */
#define SAME	2     /* ... of which so many are at the same sites */
#define MOST	20000 /* goals */
#define NONE	MAPLE_ORDER_NONE

struct group {
	uint32_t thread, site;
	uint8_t kind; /* READ or WRITE */
	uint32_t n, event[FEW];
};

/* Two steps of a thread, at places that differ. */
struct pair {
	uint32_t thread, x, y; /* places, or locks */
	uint32_t first, second;
	uint8_t kind;
};

/* How often something was met: a pattern, or two steps of a thread. */
struct key {
	struct maple_pattern what;
	uint32_t n;
	UT_hash_handle hh;
};

/* The events of a word that was looked at. */
struct looked {
	uint64_t hash;
	UT_hash_handle hh;
};

struct wanting {
	const struct maple_order_model *m;
	maple_order_sink sink;
	void *ctx;
	struct key *keys, *pair_keys;
	struct looked *looked;
	uint32_t told;
	bool over;
	uint32_t n, ngroups;
	struct group group[GROUPS]; /* of the word at hand */
	struct pair *pair;
	uint32_t npairs, room;
};

/* Whether *@keys has @what fewer than @most times; then once more. */
static bool is_rare(struct key **keys, const struct maple_pattern *what,
		    uint32_t most)
{
	struct key *key;

	HASH_FIND(hh, *keys, what, sizeof(*what), key);
	if (!key) {
		key = calloc(1, sizeof(*key));
		if (!key)
			return false;
		key->what = *what;
		HASH_ADD(hh, *keys, what, sizeof(key->what), key);
		if (!key->hh.tbl) {
			free(key);
			return false;
		}
	}
	return key->n++ < most;
}

/* Words are shared by what does not overlap: then there is no such place. */
static bool meet(const struct wanting *w, uint32_t number, const uint32_t *event)
{
	for (unsigned int i = 1; i < maple_pattern_steps(number); i++)
		for (unsigned int k = 0; k < i && number <= 17; k++)
			if (maple_pattern_step(number, i).place ==
				    maple_pattern_step(number, k).place &&
			    !maple_order_overlap(w->m, event[k], event[i]))
				return false;
	return true;
}

static void want(struct wanting *w, uint32_t number, const uint32_t *event)
{
	struct maple_order_goal goal = { .pattern.number = number };

	if (w->over || !meet(w, number, event))
		return;
	for (unsigned int i = 0; i < maple_pattern_steps(number); i++) {
		goal.event[i] = event[i];
		goal.pattern.site[i] = w->m->event[event[i]].site;
	}
	if (is_rare(&w->keys, &goal.pattern, PER_KEY))
		w->over = !w->sink(w->ctx, &goal) || ++w->told == MOST;
}

static uint8_t kind_of(uint32_t number, unsigned int i)
{
	return maple_pattern_step(number, i).kind;
}

static bool can_be(const struct maple_order_event *e, uint8_t kind)
{
	return kind == MAPLE_EV_READ ? maple_order_reads(e)
				     : maple_order_writes(e);
}

/* Of a group the first ones, and the last ones. */
static void put(struct group *g, uint32_t e)
{
	if (g->n < FEW) {
		g->event[g->n] = e;
	} else {
		for (int i = FEW / 2; i + 1 < FEW; i++)
			g->event[i] = g->event[i + 1];
		g->event[FEW - 1] = e;
	}
	g->n++;
}

static uint32_t few(const struct group *g)
{
	return g->n < FEW ? g->n : FEW;
}

/* The group of @e, new if there is room; of equal threads the last one changes. */
static struct group *group_of(struct wanting *w,
			      const struct maple_order_event *e, uint8_t kind)
{
	struct group *last = NULL;
	uint32_t same = 0;

	for (uint32_t i = 0; i < w->ngroups; i++) {
		struct group *g = &w->group[i];

		if (g->site != e->site || g->kind != kind)
			continue;
		if (g->thread == e->thread)
			return g;
		last = g;
		same++;
	}
	if (same < EQUAL) {
		if (w->ngroups == GROUPS)
			return NULL;
		last = &w->group[w->ngroups++];
	}
	*last = (struct group){ e->thread, e->site, kind, 0, { 0 } };
	return last;
}

static void group_one(struct wanting *w, uint32_t e, uint8_t kind)
{
	const struct maple_order_event *event = &w->m->event[e];
	struct group *g = can_be(event, kind) ? group_of(w, event, kind) : NULL;

	if (g)
		put(g, e);
}

static void want_pair(struct wanting *w, const struct group *a, uint32_t i,
		      const struct group *b, uint32_t k)
{
	for (uint32_t p = 1; p <= 3 && !w->over; p++)
		if (kind_of(p, 0) == a->kind && kind_of(p, 1) == b->kind)
			want(w, p, (uint32_t[]){ a->event[i], b->event[k] });
}

/* Patterns 1 to 3: @a's before @b's; the first of both, the last, all others. */
static void want_two(struct wanting *w, const struct group *a,
		     const struct group *b)
{
	uint32_t n = few(a), m = few(b);

	want_pair(w, a, 0, b, 0);
	if (n > 1 || m > 1)
		want_pair(w, a, n - 1, b, m - 1);
	for (uint32_t i = 0; i < n && !w->over; i++)
		for (uint32_t k = 0; k < m; k++)
			if ((i || k) && (i < n - 1 || k < m - 1))
				want_pair(w, a, i, b, k);
}

/* Patterns 4 to 8: @b's between @first and @then, of one thread. */
static void want_three(struct wanting *w, uint32_t first, uint32_t then,
		       const struct group *b)
{
	const struct maple_order_event *e = w->m->event;

	for (uint32_t p = 4; p <= 8 && !w->over; p++) {
		if (!can_be(&e[first], kind_of(p, 0)) ||
		    !can_be(&e[then], kind_of(p, 2)) || b->kind != kind_of(p, 1))
			continue;
		for (uint32_t k = 0; k < few(b); k++)
			want(w, p, (uint32_t[]){ first, b->event[k], then });
	}
}

/* Whether the pair of sites, in that thread, stands for itself often enough. */
static bool is_told(const uint32_t (*pairs)[3], uint32_t n, uint32_t thread,
		    uint32_t first, uint32_t then)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++)
		same += pairs[i][0] == thread && pairs[i][1] == first &&
			pairs[i][2] == then;
	return same >= SAME;
}

static void want_threes(struct wanting *w, const struct maple_order_word *word)
{
	const struct maple_order_model *m = w->m;
	uint32_t pairs[GROUPS][3], n = 0;

	for (uint32_t i = 0; i + 1 < word->n && n < GROUPS && !w->over; i++) {
		uint32_t first = m->at[word->at + i], then = NONE;
		uint32_t thread = m->event[first].thread, k;

		for (k = i + 1; k < word->n && k <= i + 4 * MAPLE_ORDER_NEAR;
		     k++)
			if (m->event[m->at[word->at + k]].thread == thread) {
				then = m->at[word->at + k];
				break;
			}
		if (then == NONE ||
		    is_told((const uint32_t(*)[3])pairs, n, thread,
			    m->event[first].site, m->event[then].site))
			continue;
		pairs[n][0] = thread;
		pairs[n][1] = m->event[first].site;
		pairs[n++][2] = m->event[then].site;
		for (k = 0; k < w->ngroups; k++)
			if (w->group[k].thread != thread)
				want_three(w, first, then, &w->group[k]);
	}
}

/*
 * Pattern 1: what @g's last event has read is to be written behind it. That it
 * reads something new makes more of a difference than that another one writes
 * later, so it comes before all others of its key; but only one, for the bug
 * may take another event.
 */
static void want_anew(struct wanting *w, const struct group *g)
{
	const struct maple_order_event *event = w->m->event;
	uint32_t e = g->event[few(g) - 1], writer = event[e].writer;

	if (g->kind == MAPLE_EV_READ && writer < MAPLE_ORDER_UNSURE &&
	    !w->over && event[writer].thread != g->thread)
		want(w, 1, (uint32_t[]){ e, writer });
}

/*
 * Whether no word had the events of @word: what is accessed as a whole, as
 * memcpy() does, has many words, and nothing new in them. No memory: it has.
 */
static bool is_new(struct wanting *w, const struct maple_order_word *word)
{
	uint64_t hash =
		XXH3_64bits(&w->m->at[word->at], word->n * sizeof(*w->m->at));
	struct looked *looked;

	HASH_FIND(hh, w->looked, &hash, sizeof(hash), looked);
	if (looked)
		return false;
	looked = calloc(1, sizeof(*looked));
	if (!looked)
		return false;
	looked->hash = hash;
	HASH_ADD(hh, w->looked, hash, sizeof(looked->hash), looked);
	if (!looked->hh.tbl) {
		free(looked);
		return false;
	}
	return true;
}

static void want_at(struct wanting *w, const struct maple_order_word *word)
{
	if (!is_new(w, word))
		return;
	w->ngroups = 0;
	for (uint32_t i = 0; i < word->n; i++) {
		group_one(w, w->m->at[word->at + i], MAPLE_EV_READ);
		group_one(w, w->m->at[word->at + i], MAPLE_EV_WRITE);
	}
	for (uint32_t i = 0; i < w->ngroups; i++)
		want_anew(w, &w->group[i]);
	for (uint32_t i = 0; i < w->ngroups; i++)
		for (uint32_t k = 0; k < w->ngroups; k++)
			if (w->group[i].thread != w->group[k].thread)
				want_two(w, &w->group[i], &w->group[k]);
	want_threes(w, word);
}

/* ---- Two places. ---- */

/* A number for what @e touches first: a word, and bytes in it. */
static uint32_t place_of(const struct wanting *w, uint32_t e)
{
	const struct maple_order_touch *t = &w->m->touch[w->m->event[e].touch];

	return t->word << 8 | t->bytes;
}

static void put_pair(struct wanting *w, struct pair p)
{
	const struct maple_order_event *e = w->m->event;
	struct maple_pattern what = {
		p.thread, { e[p.first].site, e[p.second].site, p.kind }
	};

	if (w->npairs < PAIRS && is_rare(&w->pair_keys, &what, SAME) &&
	    maple_array_reserve(w->pair, w->npairs, w->room))
		w->pair[w->npairs++] = p;
}

/* Whether @e touches what one of the @n events does. */
static bool was_touched(const struct wanting *w, const uint32_t *event,
			uint32_t n, uint32_t e)
{
	for (uint32_t i = 0; i < n; i++)
		if (maple_order_overlap(w->m, event[i], e))
			return true;
	return false;
}

/* What of its thread comes soon after @first, with nothing there in between. */
static void pairs_from(struct wanting *w, uint32_t first, uint8_t kind)
{
	const struct maple_order_model *m = w->m;
	const struct maple_order_event *e = &m->event[first];
	uint32_t seen[MAPLE_ORDER_NEAR],
		n = 0, length = maple_order_length(m, e->thread);

	for (uint32_t i = e->index + 1;
	     i < length && i <= e->index + MAPLE_ORDER_NEAR; i++) {
		uint32_t then = maple_order_of(m, e->thread, i);

		if (!m->event[then].ntouch)
			continue;
		if (maple_order_overlap(m, first, then))
			return;
		if (was_touched(w, seen, n, then))
			continue;
		seen[n++] = then;
		if (can_be(&m->event[then], kind))
			put_pair(w, (struct pair){ e->thread, place_of(w, first),
						   place_of(w, then), first,
						   then, kind });
	}
}

static void want_four(struct wanting *w, const struct pair *a,
		      const struct pair *b)
{
	bool same = a->x == b->x && a->y == b->y;
	bool crossed = a->x == b->y && a->y == b->x;

	if (a->thread == b->thread || (!same && !crossed))
		return;
	for (uint32_t p = 9; p <= 17; p++) {
		struct maple_pattern_step second = maple_pattern_step(p, 1);
		uint32_t event[4];
		uint32_t na = 0, nb = 0;

		/* b's first step is at x: its pair goes the same way. */
		if ((second.place == 0) != same || kind_of(p, 0) != a->kind ||
		    second.kind != b->kind)
			continue;
		for (unsigned int i = 0; i < 4; i++) {
			if (maple_pattern_step(p, i).other)
				event[i] = nb++ ? b->second : b->first;
			else
				event[i] = na++ ? a->second : a->first;
		}
		want(w, p, event);
	}
}

static void want_fours(struct wanting *w)
{
	const struct maple_order_model *m = w->m;

	w->npairs = 0;
	maple_table_clear(w->pair_keys);
	for (uint32_t i = 0; i < m->n && w->npairs < PAIRS; i++) {
		if (!m->event[i].ntouch)
			continue;
		if (maple_order_reads(&m->event[i]))
			pairs_from(w, i, MAPLE_EV_READ);
		if (maple_order_writes(&m->event[i]))
			pairs_from(w, i, MAPLE_EV_WRITE);
	}
	for (uint32_t i = 0; i < w->npairs && !w->over; i++)
		for (uint32_t k = 0; k < w->npairs && !w->over; k++)
			want_four(w, &w->pair[i], &w->pair[k]);
}

/* ---- Locks and conditions. ---- */

static void want_crossed(struct wanting *w)
{
	const struct maple_order_model *m = w->m;
	uint32_t outer;

	w->npairs = 0;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->event[i].kind != MAPLE_EV_LOCK)
			continue;
		for (outer = maple_order_section(m, i, i); outer != NONE;
		     outer = maple_order_section(m, i, outer))
			if (m->event[outer].lock != m->event[i].lock)
				put_pair(w,
					 (struct pair){ m->event[i].thread,
							m->event[outer].lock,
							m->event[i].lock, outer,
							i, MAPLE_EV_LOCK });
	}
	for (uint32_t i = 0; i < w->npairs; i++)
		for (uint32_t k = 0; k < w->npairs && !w->over; k++) {
			const struct pair *a = &w->pair[i], *b = &w->pair[k];

			if (a->thread != b->thread && a->x == b->y &&
			    a->y == b->x)
				want(w, 18,
				     (uint32_t[]){ a->first, b->first,
						   a->second, b->second });
		}
}

/* Signals that came to a wait, to be sent before it. */
static void want_lost(struct wanting *w)
{
	const struct maple_order_model *m = w->m;

	for (uint32_t i = 0; i < m->n && !w->over; i++) {
		const struct maple_order_event *e = &m->event[i];

		if (e->kind == MAPLE_EV_WAKE && e->nneed && e->mate != NONE)
			want(w, 19, (uint32_t[]){ m->need[e->need], e->mate });
	}
}

bool maple_order_wanted(const struct maple_order_model *model,
			maple_order_sink sink, void *ctx)
{
	struct wanting w = { .m = model, .sink = sink, .ctx = ctx };

	want_crossed(&w);
	want_lost(&w);
	for (uint32_t i = 0; i < model->nwords && !w.over; i++)
		want_at(&w, &model->word[i]);
	want_fours(&w);
	if (!w.over)
		want_fours(&w);
	maple_table_clear(w.keys);
	maple_table_clear(w.pair_keys);
	maple_table_clear(w.looked);
	free(w.pair);
	return !w.over;
}
