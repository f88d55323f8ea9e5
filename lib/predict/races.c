// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites race. Two accesses race if they conflict, and the run's
 * synchronisation leaves their order open: as in clock.c, but for what came
 * before a lock was given back, which comes before what is done by whoever has
 * it next. Of a site that does not, locks decide: a thread that may stand at
 * each lock need not stand there (algorithms.md 10).
 *
 * On: each word of 8 bytes, what each site of each thread did there last. More
 * memory, or more of these for a word, than is kept: their sites race. What
 * lies in memory that was freed is another thing. Not for: candidates, which
 * are about the orders that another turn of the locks would bring.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "clock.h"
#include "races.h"
#include "slab.h"
#include "table.h"

#define BYTES	8	   /* of a word */
#define WORDS	64	   /* of a block */
#define WIDEST	4096u	   /* words of an access that are looked at */
#define FREED	65536u	   /* words of memory that is freed */
#define BLOCKS	(1u << 16) /* at a time, at 650 bytes each, */
#define TOUCHED (1u << 18) /* ... and of their words that were accessed */
#define RECORDS 64	   /* of a word */

/* What a site did to a word, for the last time in a thread. */
struct record {
	struct record *next;
	uint32_t site, own; /* the thread's own clock then */
	uint16_t thread;
	bool writes;
};

struct block {
	uint64_t number; /* address / BYTES / WORDS */
	struct record *first[WORDS];
	uint8_t n[WORDS];
	UT_hash_handle hh;
};

struct maple_races {
	struct maple_predict_stats stats;
	struct maple_clocks clocks;
	struct maple_slab slab;
	struct block *table, *last; /* looked for last; or NULL */
	uint32_t touched;	    /* words that have a record */
	uint8_t *raced;		    /* by site */
	uint32_t n;
	int error; /* from there on nothing was looked at */
};

struct maple_races *maple_races_create(void)
{
	struct maple_races *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	maple_clocks_init(&r->clocks, &r->stats);
	r->clocks.locks = true;
	return r;
}

void maple_races_destroy(struct maple_races *r)
{
	if (!r)
		return;
	HASH_CLEAR(hh, r->table);
	maple_slab_deinit(&r->slab);
	maple_clocks_deinit(&r->clocks);
	free(r->raced);
	free(r);
}

bool maple_races_has(const struct maple_races *r, uint32_t site)
{
	return r->error || (site < r->n && r->raced[site]);
}

/* What functions do for a call, nobody asks about. */
static int race(struct maple_races *r, uint32_t site)
{
	uint32_t n = site + site / 2 + 1024;

	if (site & MAPLE_SITE_CALL)
		return 0;
	if (site >= r->n) {
		if (!maple_array_extend(r->raced, r->n, n))
			return -ENOMEM;
		r->n = n;
	}
	r->raced[site] = 1;
	return 0;
}

static bool is_ordered(const struct record *before,
		       const struct maple_vector *now)
{
	return before->thread < now->n && now->c[before->thread] >= before->own;
}

/* @now is after @it and what follows, or races with it. */
static int compare(struct maple_races *r, const struct record *it,
		   const struct record *now)
{
	const struct maple_vector *v = &r->clocks.thread[now->thread]->now;

	for (; it; it = it->next) {
		if (it->thread == now->thread || is_ordered(it, v) ||
		    (!it->writes && !now->writes))
			continue;
		if (race(r, it->site) || race(r, now->site))
			return -ENOMEM;
	}
	return 0;
}

/* For who comes later to word @i of @b. */
static int keep(struct maple_races *r, struct block *b, unsigned int i,
		const struct record *now)
{
	struct record *it;

	for (it = b->first[i]; it; it = it->next)
		if (it->thread == now->thread && it->site == now->site) {
			it->own = now->own;
			it->writes |= now->writes;
			return 0;
		}
	if (b->n[i] == RECORDS || (!b->n[i] && r->touched == TOUCHED))
		return race(r, now->site);
	it = maple_slab_get(&r->slab, sizeof(*it));
	if (!it)
		return -ENOMEM;
	*it = *now;
	it->next = b->first[i];
	b->first[i] = it;
	r->touched += !b->n[i]++;
	return 0;
}

static struct block *block_at(struct maple_races *r, uint64_t number)
{
	if (!r->last || r->last->number != number)
		HASH_FIND(hh, r->table, &number, sizeof(number), r->last);
	return r->last;
}

static struct block *new_block(struct maple_races *r, uint64_t number)
{
	struct block *b = maple_slab_zero(&r->slab, sizeof(*b));

	if (!b)
		return NULL;
	b->number = number;
	HASH_ADD(hh, r->table, number, sizeof(number), b);
	if (!b->hh.tbl) {
		maple_slab_put(&r->slab, b, sizeof(*b));
		return NULL;
	}
	r->last = b;
	return b;
}

static int access_to(struct maple_races *r, uint64_t word,
		     const struct record *now)
{
	struct block *b = block_at(r, word / WORDS);
	int e;

	if (!b && HASH_COUNT(r->table) == BLOCKS)
		return race(r, now->site);
	if (!b)
		b = new_block(r, word / WORDS);
	if (!b)
		return -ENOMEM;
	e = compare(r, b->first[word % WORDS], now);
	return e ? e : keep(r, b, word % WORDS, now);
}

static void forget(struct maple_races *r, struct block *b, unsigned int i)
{
	struct record *it, *next;

	for (it = b->first[i]; it; it = next) {
		next = it->next;
		maple_slab_put(&r->slab, it, sizeof(*it));
	}
	r->touched -= b->n[i] != 0;
	b->first[i] = NULL;
	b->n[i] = 0;
}

/* Whoever uses memory at its end races with the end of it. */
static int end_of(struct maple_races *r, const struct maple_event *event,
		  const struct record *now)
{
	uint64_t at = event->addr / BYTES, end;
	uint64_t n = (event->value + BYTES - 1) / BYTES;

	for (end = at + (n < FREED ? n : FREED); at < end; at++) {
		struct block *b = block_at(r, at / WORDS);

		if (!b) {
			at |= WORDS - 1; /* the block's last word */
			continue;
		}
		if (compare(r, b->first[at % WORDS], now))
			return -ENOMEM;
		forget(r, b, at % WORDS);
	}
	return 0;
}

static int touch(struct maple_races *r, const struct maple_event *event,
		 const struct record *now)
{
	uint64_t first = event->addr / BYTES;
	uint64_t bytes = event->size ? event->size : 1;
	uint64_t last = (event->addr + bytes - 1) / BYTES;
	int e = 0;

	if (last - first >= WIDEST) {
		last = first + WIDEST - 1;
		e = race(r, event->site);
	}
	for (uint64_t at = first; at <= last && !e; at++)
		e = access_to(r, at, now);
	return e;
}

void maple_races_event(struct maple_races *r, const struct maple_event *event)
{
	struct record now = {
		.site = event->site,
		.thread = event->thread,
		.writes = event->kind != MAPLE_EV_READ,
	};

	if (r->error || event->thread >= MAPLE_THREADS)
		return;
	r->error = maple_clocks_event(&r->clocks, event);
	if (r->error)
		return;
	now.own = r->clocks.thread[event->thread]->now.c[event->thread];
	if (maple_event_is_memory(event->kind))
		r->error = touch(r, event, &now);
	else if (event->kind == MAPLE_EV_FREE)
		r->error = end_of(r, event, &now);
}
