// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A location is named by what is the same in other runs: data by image and
 * offset; a block by the call that allocated it, the thread that made the call,
 * how-manieth of that thread's it was there, and the offset in it; a thread's
 * stack by the thread and the offset from its top. Calls are counted for each
 * thread, since a count of all would change with the schedule. Threads go by
 * their lasting names. All else is its address, which runs that are forked from
 * one process have in common. Where memory ends its name does.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/mix.h"
#include "base/table.h"
#include "naming.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define BLOCKS 1024u /* live at a time; those beyond have no name */

struct block {
	uint64_t addr, size;
	uint64_t whose;
};

/* How often a thread has allocated at a site. */
struct count {
	uint64_t key; /* thread and site */
	uint64_t n;
	UT_hash_handle hh;
};

struct maple_locations {
	const struct maple_run *run;
	const struct maple_event *event;
	uint32_t next;	     /* the first one that was not looked at */
	struct block *block; /* by address */
	uint32_t n, room;
	struct count *count;
	struct block stack[MAPLE_THREADS];
};

enum what { ADDRESS, DATA, BLOCK, STACK };

static uint64_t named(enum what what, uint64_t whose, uint64_t offset)
{
	return maple_mix(maple_mix(what, whose), offset);
}

/* Of a thread's lasting name; where it has none, its number. */
static uint64_t thread_of(const struct maple_locations *n, uint32_t thread)
{
	const struct maple_run *run = n->run;
	const char *name = thread < run->nnames	    ? run->names[thread].text
			   : thread < run->nthreads ? run->threads[thread].name
						    : "";
	uint64_t all = *name ? 1 : thread;

	for (; *name; name++)
		all = maple_mix(all, (unsigned char)*name);
	return all;
}

/* How many blocks begin before @addr. */
static uint32_t lead(const struct maple_locations *n, uint64_t addr)
{
	return (uint32_t)maple_array_lead(n->n, i, n->block[i].addr < addr);
}

/* All that begin in [@addr, @addr + @size), or at @addr. */
static void end_blocks(struct maple_locations *n, uint64_t addr, uint64_t size)
{
	uint32_t from = lead(n, addr);
	uint32_t to = lead(n, addr + (size ? size : 1));

	if (to <= from)
		return;
	memmove(&n->block[from], &n->block[to], (n->n - to) * sizeof(*n->block));
	n->n -= to - from;
}

/* Counts the call of @e; NULL: no memory */
static struct count *count_call(struct maple_locations *n,
				const struct maple_event *e)
{
	uint64_t key = (uint64_t)e->thread << 32 | e->site;
	struct count *it;

	HASH_FIND(hh, n->count, &key, sizeof(key), it);
	if (!it) {
		it = calloc(1, sizeof(*it));
		if (!it)
			return NULL;
		it->key = key;
		HASH_ADD(hh, n->count, key, sizeof(it->key), it);
		if (!it->hh.tbl) {
			free(it);
			return NULL;
		}
	}
	it->n++;
	return it;
}

static int begin_block(struct maple_locations *n, const struct maple_event *e)
{
	const struct count *count = count_call(n, e);
	uint64_t whose;
	uint32_t at;

	if (!count)
		return -ENOMEM;
	end_blocks(n, e->addr, e->value);
	if (n->n == BLOCKS)
		return 0;
	if (!maple_array_reserve(n->block, n->n, n->room))
		return -ENOMEM;
	at = lead(n, e->addr);
	assert(at <= n->n && n->n < BLOCKS);
	memmove(&n->block[at + 1], &n->block[at],
		(n->n++ - at) * sizeof(*n->block));
	whose = maple_mix(maple_mix(e->site, thread_of(n, e->thread)), count->n);
	assert(!at || n->block[at - 1].addr < e->addr);
	n->block[at] = (struct block){ e->addr, e->value, whose };
	return 0;
}

/* A new stack may be where one was that is over. */
static void begin_stack(struct maple_locations *n, const struct maple_event *e)
{
	for (unsigned int t = 0; t < MAPLE_THREADS && e->size; t++)
		if (n->stack[t].addr < e->addr + e->size &&
		    e->addr < n->stack[t].addr + n->stack[t].size)
			n->stack[t].size = 0;
	n->stack[e->thread % MAPLE_THREADS] =
		(struct block){ e->addr, e->size, thread_of(n, e->thread) };
}

struct maple_locations *maple_locations_create(const struct maple_run *run,
					       const struct maple_event *event)
{
	struct maple_locations *n = calloc(1, sizeof(*n));

	if (n) {
		n->run = run;
		n->event = event;
	}
	return n;
}

int maple_locations_go_on(struct maple_locations *n, uint32_t upto)
{
	int e = 0;

	for (; n->next < upto && !e; n->next++) {
		const struct maple_event *event = &n->event[n->next];

		if (event->kind == MAPLE_EV_ALLOC)
			e = begin_block(n, event);
		else if (event->kind == MAPLE_EV_FREE)
			end_blocks(n, event->addr, event->value);
		else if (event->kind == MAPLE_EV_START)
			begin_stack(n, event);
	}
	return e;
}

uint64_t maple_locations_of(const struct maple_locations *n, uint64_t addr)
{
	const struct maple_run *run = n->run;
	uint32_t at = lead(n, addr + 1);
	const struct block *b;

	for (unsigned int i = 0; i < run->nimages; i++)
		if (addr - run->images[i].lo <
		    run->images[i].hi - run->images[i].lo)
			return named(DATA, run->images[i].index,
				     addr - run->images[i].bias);
	b = at ? &n->block[at - 1] : NULL;
	if (b && addr - b->addr < b->size)
		return named(BLOCK, b->whose, addr - b->addr);
	for (unsigned int t = 0; t < run->nthreads && t < MAPLE_THREADS; t++) {
		b = &n->stack[t];
		if (addr - b->addr < b->size)
			return named(STACK, b->whose, b->addr + b->size - addr);
	}
	return named(ADDRESS, 0, addr);
}

void maple_locations_destroy(struct maple_locations *n)
{
	if (!n)
		return;
	maple_table_clear(n->count);
	free(n->block);
	free(n);
}
