// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A location is named by what is the same in other runs: data by image and
 * offset, a block by the call that allocated it and the offset in it, a thread's
 * stack by the thread and the offset from its top. All else is its address,
 * which runs that are forked from one process have in common. Of small values
 * each is a feature of its own: they are states, counts, and ends of lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "feature.h"

#define BLOCKS 1024u /* live at a time; those beyond have no name */

struct block {
	uint64_t addr, size;
	uint32_t site;
};

struct naming {
	const struct maple_run *run;
	const struct maple_event *event;
	uint32_t next;	     /* the first one that was not looked at */
	struct block *block; /* by address */
	uint32_t n, room;
	struct block stack[MAPLE_THREADS]; /* site: unused */
};

enum what { ADDRESS, DATA, BLOCK, STACK };

static uint64_t named(enum what what, uint64_t whose, uint64_t offset)
{
	uint64_t z = offset + (whose * 4 + what) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* How many blocks begin at or before @addr. */
static uint32_t lead(const struct naming *n, uint64_t addr)
{
	return (uint32_t)maple_array_lead(n->n, i, n->block[i].addr <= addr);
}

static int begin_block(struct naming *n, const struct maple_event *e)
{
	uint32_t at = lead(n, e->addr);

	if (at && n->block[at - 1].addr == e->addr)
		at--;
	else if (n->n == BLOCKS)
		return 0;
	else if (!maple_array_reserve(n->block, n->n, n->room))
		return -ENOMEM;
	else
		memmove(&n->block[at + 1], &n->block[at],
			(n->n++ - at) * sizeof(*n->block));
	n->block[at] = (struct block){ e->addr, e->value, e->site };
	return 0;
}

static void end_block(struct naming *n, const struct maple_event *e)
{
	uint32_t at = lead(n, e->addr);

	if (!at || n->block[at - 1].addr != e->addr)
		return;
	memmove(&n->block[at - 1], &n->block[at],
		(n->n - at) * sizeof(*n->block));
	n->n--;
}

/* What the run had allocated before its event @upto. */
static int go_on(struct naming *n, uint32_t upto)
{
	int e = 0;

	for (; n->next < upto && !e; n->next++) {
		const struct maple_event *event = &n->event[n->next];

		if (event->kind == MAPLE_EV_ALLOC)
			e = begin_block(n, event);
		else if (event->kind == MAPLE_EV_FREE)
			end_block(n, event);
		else if (event->kind == MAPLE_EV_START)
			n->stack[event->thread % MAPLE_THREADS] =
				(struct block){ event->addr, event->size, 0 };
	}
	return e;
}

static uint64_t name(const struct naming *n, uint64_t addr)
{
	const struct maple_run *run = n->run;
	uint32_t at = lead(n, addr);
	const struct block *b;

	for (unsigned int i = 0; i < run->nimages; i++)
		if (addr - run->images[i].lo <
		    run->images[i].hi - run->images[i].lo)
			return named(DATA, run->images[i].index,
				     addr - run->images[i].bias);
	b = at ? &n->block[at - 1] : NULL;
	if (b && addr - b->addr < b->size)
		return named(BLOCK, b->site, addr - b->addr);
	for (unsigned int t = 0; t < run->nthreads && t < MAPLE_THREADS; t++) {
		b = &n->stack[t];
		if (addr - b->addr < b->size)
			return named(STACK, t, b->addr + b->size - addr);
	}
	return named(ADDRESS, 0, addr);
}

static int32_t value_of(const struct maple_event *e)
{
	unsigned int unused = 64 - 8 * e->size;
	int64_t value;

	if (!maple_event_is_memory(e->kind) || e->kind == MAPLE_EV_WRITE ||
	    !(e->flags & MAPLE_EVF_VALUED) || !e->size || e->size > 8)
		return MAPLE_FEATURE_NOTHING;
	value = (int64_t)(e->value << unused) >> unused;
	return value < -MAPLE_FEATURE_SMALL || value > MAPLE_FEATURE_SMALL
		       ? MAPLE_FEATURE_LARGE
		       : (int32_t)value;
}

int maple_features(const struct maple_run *run, const struct maple_event *event,
		   const struct maple_order_model *model,
		   maple_feature_sink sink, void *ctx)
{
	struct naming *n = calloc(1, sizeof(*n));
	struct maple_order_dependencies d;
	int e = maple_order_depend(model, &d);

	if (!n && !e)
		e = -ENOMEM;
	if (n)
		*n = (struct naming){ .run = run, .event = event };
	for (uint32_t i = 0; i < d.n && !e; i++) {
		uint32_t to = d.on[i].to;
		struct maple_order_origin a =
			maple_order_origin(model, d.on[i].from);
		struct maple_order_origin b = maple_order_origin(model, to);
		const struct maple_event *at = &event[b.event];
		struct maple_feature feature;

		e = go_on(n, b.event);
		if (e)
			break;
		memset(&feature, 0, sizeof(feature));
		feature.location = name(n, at->addr);
		feature.a = event[a.event].site;
		feature.b = at->site;
		feature.value = value_of(at);
		if (!sink(ctx, &feature, to))
			break;
	}
	if (n)
		free(n->block);
	free(n);
	maple_order_depend_deinit(&d);
	return e;
}
