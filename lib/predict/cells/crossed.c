// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Crossings: thread t writes x, then reads y; thread u writes y, then reads x;
 * nothing orders the two. On one CPU, or with a fence between write and read,
 * at least one of them reads what the other has written. Without one a CPU may
 * read before its write is to be seen elsewhere, and then neither does. x86 has
 * no other order than that which one CPU does not show (algorithms.md 16).
 *
 * A thread's last writes, with nothing behind them that is a fence: a locked
 * instruction, or any call that synchronises. Each of them and a later read are
 * half of a crossing, kept by what is written and read, so that the other half
 * finds it. An mfence, or a locked instruction on the stack, is no site, and not
 * seen here: the binary tells which sites one keeps apart, and these are none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/table.h"
#include "crossed.h"
#include "predict/store/table.h"

#define WRITES 8	  /* of a thread that are remembered, the last ones */
#define NEAR   64	  /* events of the thread between write and read */
#define HALVES 8	  /* of the same memory, by other sites or threads */
#define KEYS   (1u << 16) /* of different memory */
#define FOUND  4096

struct written {
	uint64_t addr;
	uint32_t site, clock, own;
};

struct buffer {
	struct written last[WRITES]; /* the oldest first */
	unsigned int n;
};

struct half {
	uint32_t write, read, own;
	uint16_t thread;
};

/* Nothing but two words: it is hashed as bytes. */
struct key {
	uint64_t write, read;
};

struct pair {
	struct key key;
	unsigned int n;	   /* of the halves, */
	unsigned int next; /* ... and whose place the next one takes */
	struct half half[HALVES];
	UT_hash_handle hh;
};

struct maple_crossed {
	const struct maple_races *races;
	enum maple_cross (*may)(void *ctx, uint32_t site, bool writes);
	void *ctx;
	struct buffer *buffer[MAPLE_THREADS];
	struct pair *table;
	struct maple_crossing *found;
	size_t n, room;
};

struct maple_crossed *maple_crossed_create(
	const struct maple_races *races,
	enum maple_cross (*may)(void *ctx, uint32_t site, bool writes),
	void *ctx)
{
	struct maple_crossed *c = calloc(1, sizeof(*c));

	if (c) {
		c->races = races;
		c->may = may;
		c->ctx = ctx;
	}
	return c;
}

void maple_crossed_destroy(struct maple_crossed *c)
{
	if (!c)
		return;
	maple_table_clear(c->table);
	for (unsigned int i = 0; i < MAPLE_THREADS; i++)
		free(c->buffer[i]);
	free(c->found);
	free(c);
}

const struct maple_crossing *maple_crossed_found(const struct maple_crossed *c,
						 size_t *n)
{
	*n = c->n;
	return c->found;
}

/* The same whichever of the two comes first. */
static void add(struct maple_crossed *c, const struct half *a,
		const struct half *b)
{
	bool swap = a->write > b->write ||
		    (a->write == b->write && a->read > b->read);
	const struct half *first = swap ? b : a, *second = swap ? a : b;
	struct maple_crossing crossing = { { first->write, second->write },
					   { first->read, second->read } };

	for (size_t i = 0; i < c->n; i++)
		if (!memcmp(&c->found[i], &crossing, sizeof(crossing)))
			return;
	if (c->n == FOUND || !maple_array_reserve(c->found, c->n, c->room))
		return;
	c->found[c->n++] = crossing;
}

static struct pair *find(struct maple_crossed *c, uint64_t write, uint64_t read)
{
	struct key key = { write, read };
	struct pair *pair;

	HASH_FIND(hh, c->table, &key, sizeof(key), pair);
	return pair;
}

static struct pair *make(struct maple_crossed *c, uint64_t write, uint64_t read)
{
	struct pair *pair = find(c, write, read);

	if (pair || HASH_COUNT(c->table) == KEYS)
		return pair;
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return NULL;
	pair->key = (struct key){ write, read };
	HASH_ADD(hh, c->table, key, sizeof(pair->key), pair);
	if (!pair->hh.tbl) {
		free(pair);
		return NULL;
	}
	return pair;
}

/* Those that come later in the run are not before any of these. */
static void match(struct maple_crossed *c, const struct pair *pair,
		  const struct half *now)
{
	for (unsigned int i = 0; i < pair->n; i++) {
		const struct half *it = &pair->half[i];

		if (it->thread != now->thread &&
		    !maple_races_passed(c->races, it->thread, it->own,
					now->thread))
			add(c, it, now);
	}
}

static void keep(struct pair *pair, const struct half *now)
{
	unsigned int i = 0;

	while (i < pair->n && (pair->half[i].thread != now->thread ||
			       pair->half[i].write != now->write ||
			       pair->half[i].read != now->read))
		i++;
	if (i == pair->n && i < HALVES)
		pair->n++;
	else if (i == pair->n)
		i = pair->next++ % HALVES;
	pair->half[i] = *now;
}

static bool overlaps(uint64_t addr, const struct maple_event *event)
{
	return addr - event->addr < event->size;
}

/* With each of the thread's writes, unless it reads what it wrote itself. */
static void reads(struct maple_crossed *c, const struct buffer *b,
		  const struct maple_event *event)
{
	for (unsigned int i = b->n; i-- > 0;) {
		const struct written *w = &b->last[i];
		struct half half = { w->site, event->site, w->own,
				     event->thread };
		struct pair *pair;

		if (overlaps(w->addr, event) || event->clock - w->clock > NEAR)
			return;
		pair = find(c, event->addr, w->addr);
		if (pair)
			match(c, pair, &half);
		pair = make(c, w->addr, event->addr);
		if (pair)
			keep(pair, &half);
	}
}

static void writes(struct maple_crossed *c, struct buffer *b,
		   const struct maple_event *event)
{
	if (b->n == WRITES)
		memmove(b->last, b->last + 1, --b->n * sizeof(*b->last));
	b->last[b->n++] =
		(struct written){ event->addr, event->site, event->clock,
				  maple_races_own(c->races, event->thread) };
}

static struct buffer *buffer_of(struct maple_crossed *c, uint16_t thread)
{
	if (!c->buffer[thread])
		c->buffer[thread] = calloc(1, sizeof(struct buffer));
	return c->buffer[thread];
}

void maple_crossed_event(struct maple_crossed *c,
			 const struct maple_event *event)
{
	enum maple_cross may;
	struct buffer *b;

	if (event->thread >= MAPLE_THREADS || event->kind == MAPLE_EV_QUIET)
		return;
	b = c->buffer[event->thread];
	if (!maple_event_is_memory(event->kind) ||
	    event->flags & MAPLE_EVF_ATOMIC) {
		if (b)
			b->n = 0;
		return;
	}
	may = event->site & MAPLE_SITE_CALL
		      ? MAPLE_CROSS_NOT
		      : c->may(c->ctx, event->site,
			       event->kind != MAPLE_EV_READ);
	if (may == MAPLE_CROSS_NOT)
		return;
	/* All writes so far are behind it as well. */
	if (may == MAPLE_CROSS_FENCED) {
		if (b)
			b->n = 0;
		return;
	}
	if (event->kind != MAPLE_EV_READ) {
		b = buffer_of(c, event->thread);
		if (b)
			writes(c, b, event);
	} else if (b) {
		reads(c, b, event);
	}
}
