// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which list is next: the one that costs least. A turn costs one, and so does
 * each doubling of the runs that reversed races of the same sites: a list that
 * reverses something else comes before a list that does the same elsewhere.
 * Where a published order is asked for a list costs what that one counts.
 *
 * What a list costs grows while it waits, so that is asked again when its turn
 * comes. Where there is no room for more, the list whose run brought them waits
 * apart, and is run again once there is. Lists of too many turns are dropped,
 * and counted.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/mix.h"
#include "lists.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define VARIABLE 0.1 /* what one more variable costs */

struct maple_rank_seen {
	uint64_t number; /* the key */
	uint32_t count;
	UT_hash_handle hh;
};

/* maple_rank_count - of @number, 0 at first; NULL: no memory */
uint32_t *maple_rank_count(struct maple_rank_seen **set, uint64_t number)
{
	struct maple_rank_seen *it;

	HASH_FIND(hh, *set, &number, sizeof(number), it);
	if (it)
		return &it->count;
	it = calloc(1, sizeof(*it));
	if (!it)
		return NULL;
	it->number = number;
	HASH_ADD(hh, *set, number, sizeof(it->number), it);
	if (it->hh.tbl)
		return &it->count;
	free(it);
	return NULL;
}

static bool is_counted(const struct maple_rank_seen *set, uint64_t number)
{
	const struct maple_rank_seen *it;

	HASH_FIND(hh, set, &number, sizeof(number), it);
	return it && it->count;
}

/* maple_rank_numbers - how many there are */
uint32_t maple_rank_numbers(const struct maple_rank_seen *set)
{
	return HASH_COUNT(set);
}

void maple_rank_forget(struct maple_rank_seen **set)
{
	struct maple_rank_seen *it, *next;

	HASH_ITER (hh, *set, it, next) {
		HASH_DEL(*set, it);
		free(it);
	}
}

/* What it does to races, whatever threads and hits they are of. */
static uint64_t pairs_of(const struct maple_rank_list *list)
{
	uint64_t all = 1;

	for (unsigned int i = 0; i < list->n; i++)
		all = maple_mix(all, list->turn[i].pair);
	return all;
}

static uint64_t name_of(const struct maple_rank_list *list)
{
	uint64_t all = maple_mix(1, list->youngest);

	for (unsigned int i = 0; i < list->n; i++) {
		const struct maple_policy_switch *e = &list->turn[i].entry;

		all = maple_mix(all, (uint64_t)e->site << 32 | e->hit);
		all = maple_mix(all, (uint64_t)e->thread << 32 |
					     (uint64_t)e->next << 8 | e->what);
	}
	return all;
}

/* Whether turn @i is the first one at its variable. */
static bool is_first(const struct maple_rank_list *list, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (list->turn[k].variable == list->turn[i].variable)
			break;
	return k == i && list->turn[i].variable;
}

static unsigned int variables_of(const struct maple_rank_list *list)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < list->n; i++)
		n += is_first(list, i);
	return n;
}

/* Threads that turns are about. */
static unsigned int threads_of(const struct maple_rank_list *list)
{
	uint32_t seen[2 * (MAPLE_RANK_TURNS + 1)];
	unsigned int n = 0, k;

	assert(list->n <= MAPLE_RANK_TURNS + 1);
	for (unsigned int i = 0; i < 2 * list->n; i++) {
		const struct maple_policy_switch *e = &list->turn[i / 2].entry;
		uint32_t t = i % 2 ? e->next : e->thread;

		for (k = 0; k < n; k++)
			if (seen[k] == t)
				break;
		if (k == n)
			seen[n++] = t;
	}
	return n;
}

/* A set of variables, whatever the order in which its turns come. */
uint64_t maple_rank_variables(const struct maple_rank_list *list)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < list->n; i++)
		if (is_first(list, i))
			all += maple_mix(1, list->turn[i].variable);
	return all;
}

static uint32_t accesses_of(const struct maple_rank_list *list)
{
	uint32_t all = 0;

	for (unsigned int i = 0; i < list->n; i++)
		if (is_first(list, i))
			all += list->turn[i].accesses;
	return all;
}

/* What counts against the bound. */
static unsigned int preemptions_of(enum maple_rank_way way,
				   const struct maple_rank_list *list)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < list->n; i++)
		n += way == MAPLE_RANK_NEWS	? 1
		     : way == MAPLE_RANK_DELAYS ? list->turn[i].over
						: !list->turn[i].free;
	return n;
}

bool maple_rank_allows(enum maple_rank_way way,
		       const struct maple_bounds *bounds,
		       const struct maple_rank_list *list)
{
	return (!bounds->preemptions ||
		preemptions_of(way, list) <= bounds->preemptions) &&
	       (!bounds->variables || variables_of(list) <= bounds->variables) &&
	       (!bounds->threads || threads_of(list) <= bounds->threads);
}

/* log2(1 + @n), straight from each power of two to the next */
static double doublings(uint32_t n)
{
	unsigned int whole = 63 - (unsigned int)__builtin_clzll(n + 1ull);

	return whole + (double)(n + 1ull - (1ull << whole)) / (1ull << whole);
}

/* Exact: 16 variables, 2^32 accesses and 32 preemptions take 41 bits. */
static double published_key(enum maple_rank_way way,
			    const struct maple_rank_list *list)
{
	double key = preemptions_of(way, list);

	if (way == MAPLE_RANK_VARIABLES)
		key = (variables_of(list) * 0x1p32 + accesses_of(list)) *
			      MAPLE_RANK_TURNS * 2 +
		      key;
	return key;
}

/* -1: no memory */
static double key_of(struct maple_rank_lists *lists,
		     const struct maple_rank_list *list)
{
	const uint32_t *tries;

	if (lists->way != MAPLE_RANK_NEWS)
		return published_key(lists->way, list);
	tries = maple_rank_count(&lists->tries, pairs_of(list));
	return tries ? list->n + doublings(*tries) +
			       VARIABLE * variables_of(list)
		     : -1;
}

/*
 * ---- The queue: a heap, smallest key first, and of equals the oldest, or the one
 * that is drawn: campaigns that would all do the same begin with others. ----
 */

/* Of the list that is put now; no other one has it. */
static uint64_t number_of(struct maple_rank_lists *lists)
{
	uint64_t put = lists->put++;

	assert(put <= UINT32_MAX);
	return lists->draws ? maple_mix(lists->draws, put) >> 32 << 32 | put
			    : put;
}

static bool is_before(const struct maple_rank_list *a,
		      const struct maple_rank_list *b)
{
	return a->key != b->key ? a->key < b->key : a->number < b->number;
}

static void swap(struct maple_rank_lists *l, uint32_t a, uint32_t b)
{
	struct maple_rank_list *was = l->heap[a];

	l->heap[a] = l->heap[b];
	l->heap[b] = was;
}

static void sink(struct maple_rank_lists *l)
{
	uint32_t at = 0, least = 0;

	do {
		at = least;
		for (uint32_t i = 2 * at + 1; i <= 2 * at + 2 && i < l->n; i++)
			if (is_before(l->heap[i], l->heap[least]))
				least = i;
		swap(l, at, least);
	} while (least != at);
}

static void rise(struct maple_rank_lists *l)
{
	for (uint32_t at = l->n - 1;
	     at && is_before(l->heap[at], l->heap[(at - 1) / 2]);
	     at = (at - 1) / 2)
		swap(l, at, (at - 1) / 2);
}

/*
 * maple_rank_put - a copy of @list, unless it was there once; -ENOSPC: it may
 * be put later, -ENOMEM, or 0
 */
int maple_rank_put(struct maple_rank_lists *lists,
		   const struct maple_rank_list *list)
{
	uint64_t name = name_of(list);
	bool fits = list->n <= MAPLE_RANK_TURNS;
	struct maple_rank_list *copy;
	uint32_t *seen;

	if (is_counted(lists->lists, name))
		return 0;
	if (fits && lists->n >= lists->most)
		return -ENOSPC;
	seen = maple_rank_count(&lists->lists, name);
	if (!seen)
		return -ENOMEM;
	++*seen;
	if (!fits) {
		lists->dropped++;
		return 0;
	}
	copy = malloc(sizeof(*copy) + list->n * sizeof(*list->turn));
	if (!copy || !maple_array_reserve(lists->heap, lists->n, lists->room)) {
		free(copy);
		return -ENOMEM;
	}
	*copy = *list;
	copy->turn = (struct maple_rank_turn *)(copy + 1);
	for (unsigned int i = 0; i < list->n; i++)
		copy->turn[i] = list->turn[i];
	copy->key = key_of(lists, list);
	copy->number = number_of(lists);
	if (copy->from)
		copy->from->refs++;
	assert(lists->n < lists->most);
	lists->heap[lists->n++] = copy;
	rise(lists);
	return 0;
}

/* maple_rank_later - @list, which is taken over, is run again once there is room */
void maple_rank_later(struct maple_rank_lists *lists,
		      struct maple_rank_list *list)
{
	/* It did what it does: nothing is to be foreseen. */
	maple_rank_trace_put(list->from);
	list->from = NULL;
	list->again = true;
	list->next = NULL;
	*(lists->later ? &lists->last->next : &lists->later) = list;
	lists->last = list;
}

static struct maple_rank_list *pop_again(struct maple_rank_lists *lists)
{
	struct maple_rank_list *list = lists->later;

	lists->later = list->next;
	assert(list->again && (lists->later || lists->last == list));
	return list;
}

/* maple_rank_pop - the next one, which is the caller's; NULL: none is left */
struct maple_rank_list *maple_rank_pop(struct maple_rank_lists *lists)
{
	struct maple_rank_list *list;
	double key;

	/* Each is run for as many as there is room for then. */
	if (lists->later && lists->n <= lists->most / 2)
		return pop_again(lists);
	while (lists->n) {
		list = lists->heap[0];
		key = key_of(lists, list);
		if (key <= list->key) {
			lists->heap[0] = lists->heap[--lists->n];
			sink(lists);
			assert(!lists->n || is_before(list, lists->heap[0]));
			return list;
		}
		list->key = key;
		sink(lists);
	}
	return NULL;
}

/* maple_rank_tried - @list is run; -ENOMEM, or 0 */
int maple_rank_tried(struct maple_rank_lists *lists,
		     const struct maple_rank_list *list)
{
	uint32_t *tries = maple_rank_count(&lists->tries, pairs_of(list));

	if (!tries)
		return -ENOMEM;
	++*tries;
	return 0;
}

void maple_rank_trace_put(struct maple_rank_trace *trace)
{
	if (!trace)
		return;
	assert(trace->refs);
	if (--trace->refs)
		return;
	assert(*trace->alive >= trace->n);
	*trace->alive -= trace->n;
	maple_order_model_free(trace->model);
	free(trace->name);
	free(trace);
}

void maple_rank_list_free(struct maple_rank_list *list)
{
	if (!list)
		return;
	maple_rank_trace_put(list->from);
	free(list);
}

/* maple_rank_lists_clear - all that waits, and what was seen, is forgotten */
void maple_rank_lists_clear(struct maple_rank_lists *lists)
{
	for (uint32_t i = 0; i < lists->n; i++)
		maple_rank_list_free(lists->heap[i]);
	while (lists->later)
		maple_rank_list_free(pop_again(lists));
	free(lists->heap);
	maple_rank_forget(&lists->lists);
	maple_rank_forget(&lists->tries);
	*lists = (struct maple_rank_lists){ .way = lists->way,
					    .most = lists->most,
					    .draws = lists->draws };
}
