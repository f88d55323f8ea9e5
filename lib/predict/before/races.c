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
#include "predict/store/slab.h"
#include "predict/store/table.h"

#define BYTES	8	   /* of a word */
#define WORDS	64	   /* of a block */
#define WIDEST	4096u	   /* words of an access that are looked at */
#define FREED	65536u	   /* words of memory that is freed */
#define BLOCKS	(1u << 16) /* at a time, at 600 bytes each, */
#define TOUCHED (1u << 18) /* ... and of their words that were accessed */
#define SITES	1000	   /* of a thread at a word */

/* What a site did to a word, for the last time. */
struct record {
	struct record *next;
	uint32_t site, own; /* its thread's own clock then */
	bool writes;
};

/* What a thread did to a word, the last first: then own goes down. */
struct owner {
	struct owner *next;
	struct record *first;
	uint32_t n;
	uint16_t thread;
};

struct block {
	uint64_t number; /* address / BYTES / WORDS */
	struct owner *owner[WORDS];
	UT_hash_handle hh;
};

/* An access, or the end of memory. */
struct now {
	uint32_t site, own;
	uint16_t thread;
	bool writes;
};

struct maple_races {
	struct maple_predict_stats stats;
	struct maple_clocks clocks;
	struct maple_slab slab;
	struct block *table, *last; /* looked for last; or NULL */
	uint32_t touched;	    /* words that have an owner */
	struct raced {
		uint8_t *is; /* by number */
		uint32_t n;
	} raced[2]; /* sites and calls */
	int error;  /* from there on nothing was looked at */
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
	for (int i = 0; i < 2; i++)
		free(r->raced[i].is);
	free(r);
}

bool maple_races_has(const struct maple_races *r, uint32_t site)
{
	const struct raced *raced = &r->raced[!!(site & MAPLE_SITE_CALL)];
	uint32_t number = site & ~MAPLE_SITE_CALL;

	return r->error || (number < raced->n && raced->is[number]);
}

uint32_t maple_races_own(const struct maple_races *r, uint16_t thread)
{
	const struct maple_clock *clock = r->clocks.thread[thread];

	return clock && thread < clock->now.n ? clock->now.c[thread] : 0;
}

bool maple_races_passed(const struct maple_races *r, uint16_t thread,
			uint32_t own, uint16_t other)
{
	const struct maple_clock *clock = r->clocks.thread[other];

	return clock && thread < clock->now.n && clock->now.c[thread] >= own;
}

/* What is no site races unheard. */
static int race(struct maple_races *r, uint32_t site)
{
	struct raced *raced = &r->raced[!!(site & MAPLE_SITE_CALL)];
	uint32_t number = site & ~MAPLE_SITE_CALL;
	uint32_t n = number + number / 2 + 1024;

	if (site == MAPLE_SITE_NONE)
		return 0;
	if (number >= raced->n) {
		if (!maple_array_extend(raced->is, raced->n, n))
			return -ENOMEM;
		raced->n = n;
	}
	raced->is[number] = 1;
	return 0;
}

/* @now is after what @owner and the next ones did, or races with it. */
static int compare(struct maple_races *r, const struct owner *owner,
		   const struct now *now)
{
	const struct maple_vector *v = &r->clocks.thread[now->thread]->now;

	for (; owner; owner = owner->next) {
		uint32_t passed = owner->thread < v->n ? v->c[owner->thread]
						       : 0;

		if (owner->thread == now->thread)
			continue;
		for (const struct record *it = owner->first;
		     it && it->own > passed; it = it->next)
			if ((it->writes || now->writes) &&
			    (race(r, it->site) || race(r, now->site)))
				return -ENOMEM;
	}
	return 0;
}

/* The one of @site, out of its place; or NULL. */
static struct record *take_out(struct owner *owner, uint32_t site)
{
	struct record **at = &owner->first, *it;

	while ((it = *at) && it->site != site)
		at = &it->next;
	if (it)
		*at = it->next;
	return it;
}

static int record(struct maple_races *r, struct owner *owner,
		  const struct now *now)
{
	struct record *it = take_out(owner, now->site);

	if (!it && owner->n == SITES)
		return race(r, now->site);
	if (!it) {
		it = maple_slab_zero(&r->slab, sizeof(*it));
		if (!it)
			return -ENOMEM;
		it->site = now->site;
		owner->n++;
	}
	it->own = now->own;
	it->writes |= now->writes;
	it->next = owner->first;
	owner->first = it;
	return 0;
}

/* For who comes later to the word whose first owner is *@first. */
static int keep(struct maple_races *r, struct owner **first,
		const struct now *now)
{
	struct owner *owner = *first;

	while (owner && owner->thread != now->thread)
		owner = owner->next;
	if (owner)
		return record(r, owner, now);
	if (!*first && r->touched == TOUCHED)
		return race(r, now->site);
	owner = maple_slab_zero(&r->slab, sizeof(*owner));
	if (!owner)
		return -ENOMEM;
	r->touched += !*first;
	owner->thread = now->thread;
	owner->next = *first;
	*first = owner;
	return record(r, owner, now);
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

static int access_to(struct maple_races *r, uint64_t word, const struct now *now)
{
	struct block *b = block_at(r, word / WORDS);
	int e;

	if (!b && HASH_COUNT(r->table) == BLOCKS)
		return race(r, now->site);
	if (!b)
		b = new_block(r, word / WORDS);
	if (!b)
		return -ENOMEM;
	e = compare(r, b->owner[word % WORDS], now);
	return e ? e : keep(r, &b->owner[word % WORDS], now);
}

static void forget(struct maple_races *r, struct owner **first)
{
	struct owner *owner;
	struct record *it;

	r->touched -= *first != NULL;
	while ((owner = *first)) {
		*first = owner->next;
		while ((it = owner->first)) {
			owner->first = it->next;
			maple_slab_put(&r->slab, it, sizeof(*it));
		}
		maple_slab_put(&r->slab, owner, sizeof(*owner));
	}
}

/* Whoever uses memory at its end races with the end of it. */
static int end_of(struct maple_races *r, const struct maple_event *event,
		  const struct now *now)
{
	uint64_t at = event->addr / BYTES, end;
	uint64_t n = (event->value + BYTES - 1) / BYTES;

	for (end = at + (n < FREED ? n : FREED); at < end; at++) {
		struct block *b = block_at(r, at / WORDS);

		if (!b) {
			at |= WORDS - 1; /* the block's last word */
			continue;
		}
		if (compare(r, b->owner[at % WORDS], now))
			return -ENOMEM;
		forget(r, &b->owner[at % WORDS]);
	}
	return 0;
}

static int touch(struct maple_races *r, const struct maple_event *event,
		 const struct now *now)
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
	struct now now = {
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
