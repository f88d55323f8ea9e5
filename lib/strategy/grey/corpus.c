// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which prefixes are kept, and which one is next. A feature has up to four. The
 * first run that shows it gives one; later ones replace some at random, ever
 * more seldom. Of a few features the one that the fewest runs have shown is
 * taken: what is rare is where news is. How much is cut off the prefix's end
 * decides how much of what led there is done otherwise.
 *
 * The figures are from 200 sessions on an implementation of SafeStack; see
 * algorithms.md 13.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "corpus.h"

#define FEATURES  (1u << 16) /* more are counted no more */
#define STEPS	  (1u << 22) /* of all trails: 64 MB and their lists */
#define BARE_ONE  4	     /* of so many runs one has no prefix */
#define DRAWS	  4	     /* features, of which the rarest is taken */
#define CUT_BELOW 36	     /* steps */
#define LONGEST	  (1u << 14) /* entries of a prefix that is given away */

/* splitmix64, as for the runs themselves. */
static uint64_t draw(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	assert(n);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % n;
}

static struct maple_corpus_entry *get(struct maple_corpus *c,
				      const struct maple_feature *feature)
{
	struct maple_corpus_entry *entry;

	HASH_FIND(hh, c->table, feature, sizeof(*feature), entry);
	if (entry || c->n == FEATURES)
		return entry;
	if (!maple_array_reserve(c->all, c->n, c->room))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->feature = *feature;
	HASH_ADD(hh, c->table, feature, sizeof(entry->feature), entry);
	c->all[c->n++] = entry;
	assert(HASH_COUNT(c->table) == c->n);
	return entry;
}

struct learning {
	struct maple_corpus *c;
	struct maple_trail *trail;
	const uint32_t *step_of;
	uint64_t state;
	uint32_t news;
};

static void put(struct maple_corpus *c, struct maple_trail *trail)
{
	if (trail && trail->refs == 1) {
		assert(c->steps >= trail->n);
		c->steps -= trail->n;
	}
	maple_trail_put(trail);
}

static bool on_feature(void *ctx, const struct maple_feature *feature,
		       uint32_t event)
{
	struct learning *l = ctx;
	struct maple_corpus_entry *entry = get(l->c, feature);
	unsigned int at;

	if (!entry || entry->last == l->c->runs)
		return true;
	entry->last = l->c->runs;
	l->news += !entry->hits++;
	if (draw(&l->state, entry->hits) || l->c->steps > STEPS)
		return true;
	at = entry->n < MAPLE_CORPUS_PREFIXES
		     ? entry->n++
		     : draw(&l->state, MAPLE_CORPUS_PREFIXES);
	assert(at < MAPLE_CORPUS_PREFIXES && entry->n <= entry->hits);
	put(l->c, entry->prefix[at].trail);
	entry->prefix[at] =
		(struct maple_corpus_prefix){ l->trail, l->step_of[event] };
	l->trail->refs++;
	return true;
}

static int learn(struct maple_corpus *c, const struct maple_run *run,
		 const struct maple_kept *kept,
		 const struct maple_order_model *model, uint64_t seed,
		 uint32_t *news)
{
	struct learning l = { .c = c, .state = seed };
	uint32_t *step_of;
	int e = maple_trail_create(run, kept->event, model, &l.trail, &step_of);

	if (e)
		return e;
	l.step_of = step_of;
	c->runs++;
	c->steps += l.trail->n;
	e = maple_features(run, kept->event, model, on_feature, &l);
	*news = l.news;
	put(c, l.trail);
	free(step_of);
	return e;
}

int maple_corpus_learn(struct maple_corpus *c, const struct maple_run *run,
		       const struct maple_kept *kept, uint64_t seed,
		       uint32_t *news)
{
	struct maple_order_model *model;
	int e = maple_order_model_build(kept->event, kept->n, false, &model);

	*news = 0;
	if (e)
		return e;
	e = learn(c, run, kept, model, seed, news);
	maple_order_model_free(model);
	return e;
}

int maple_corpus_draw(const struct maple_corpus *c, uint64_t seed,
		      struct maple_switches *list)
{
	const struct maple_corpus_entry *best = NULL, *entry;
	const struct maple_corpus_prefix *prefix;
	uint64_t state = seed, cut;

	*list = (struct maple_switches){ 0 };
	if (!c->n || !draw(&state, BARE_ONE))
		return 0;
	for (unsigned int i = 0; i < DRAWS; i++) {
		entry = c->all[draw(&state, c->n)];
		if (entry->n && (!best || entry->hits < best->hits))
			best = entry;
	}
	if (!best)
		return 0;
	prefix = &best->prefix[draw(&state, best->n)];
	cut = draw(&state, CUT_BELOW);
	return cut > prefix->step
		       ? 0
		       : maple_trail_cut(prefix->trail,
					 prefix->step - (uint32_t)cut, list);
}

/* The rarest first; of equals those that were there last. */
static int by_rarity(const void *a, const void *b)
{
	const struct maple_corpus_entry *x = *(void *const *)a;
	const struct maple_corpus_entry *y = *(void *const *)b;

	if (x->hits != y->hits)
		return x->hits < y->hits ? -1 : 1;
	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return memcmp(&x->feature, &y->feature, sizeof(x->feature));
}

struct giving {
	struct maple_switches *lists;
	const struct maple_corpus_prefix **given;
	size_t n;
};

/* One run may have shown several features in one step. */
static bool is_given(const struct giving *g,
		     const struct maple_corpus_prefix *prefix)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->given[i]->trail == prefix->trail &&
		    g->given[i]->step == prefix->step)
			return true;
	return false;
}

static void give(struct giving *g, const struct maple_corpus_prefix *prefix)
{
	struct maple_switches *list = &g->lists[g->n];

	if (prefix->trail->step[prefix->step].entries >= LONGEST ||
	    is_given(g, prefix) ||
	    maple_trail_cut(prefix->trail, prefix->step, list))
		return;
	if (list->n)
		g->given[g->n++] = prefix;
	else
		maple_switches_deinit(list);
}

size_t maple_corpus_rarest(const struct maple_corpus *c,
			   struct maple_switches *lists, size_t most)
{
	struct maple_corpus_entry **all = calloc(c->n + 1, sizeof(*all));
	struct giving g = { .lists = lists,
			    .given = calloc(most + 1, sizeof(*g.given)) };

	if (all && g.given && c->n) {
		memcpy(all, c->all, c->n * sizeof(*all));
		qsort(all, c->n, sizeof(*all), by_rarity);
		for (unsigned int k = 0; k < MAPLE_CORPUS_PREFIXES; k++)
			for (uint32_t i = 0; i < c->n && g.n < most; i++)
				if (k < all[i]->n)
					give(&g, &all[i]->prefix[k]);
	}
	assert(g.n <= most);
	free(g.given);
	free(all);
	return g.n;
}

void maple_corpus_forget(struct maple_corpus *c)
{
	struct maple_corpus_entry *entry, *next;

	HASH_ITER (hh, c->table, entry, next) {
		HASH_DEL(c->table, entry);
		for (unsigned int i = 0; i < entry->n; i++)
			maple_trail_put(entry->prefix[i].trail);
		free(entry);
	}
	free(c->all);
	*c = (struct maple_corpus){ 0 };
}
