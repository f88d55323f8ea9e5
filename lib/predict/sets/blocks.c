// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which memory belongs together. Nobody says so, and the binary says it of some
 * types alone. So it is a block that was allocated, if its allocation was seen
 * and it is no buffer; else what lies within the same 256 bytes, as the fields
 * of an object and the variables of one file do.
 *
 * Not decided here: whether anybody treats it as one. Two units that do are
 * what makes a set (match.c).
 */
#include <assert.h>
#include "base/array.h"
#include "state.h"

#define NEAR  256u	 /* bytes */
#define BLOCK 4096u	 /* bytes of a block that is no buffer */
#define SETS  (1u << 16) /* at a time */
#define ENDED (1u << 16) /* neighbourhoods that are looked at, of one end */

static struct maple_near *near_at(struct maple_sets *sets, uint64_t number,
				  bool make)
{
	struct maple_near **cached = &sets->cache[number % MAPLE_SETS_CACHE];
	struct maple_near *near = *cached;

	if (near && near->number == number)
		return near;
	HASH_FIND(hh, sets->near, &number, sizeof(number), near);
	if (near)
		*cached = near;
	if (near || !make)
		return near;
	if (HASH_COUNT(sets->near) >= SETS) {
		sets->stats.cut_sets++;
		return NULL;
	}
	near = calloc(1, sizeof(*near));
	if (near) {
		near->number = number;
		HASH_ADD(hh, sets->near, number, sizeof(number), near);
		if (near->hh.tbl)
			return near;
		free(near);
	}
	sets->stats.no_memory++;
	return NULL;
}

static struct maple_set *make(struct maple_sets *sets, uint64_t start,
			      uint64_t end)
{
	struct maple_set *set = calloc(1, sizeof(*set));

	if (!set) {
		sets->stats.no_memory++;
		return NULL;
	}
	set->start = start;
	set->end = end;
	set->serial = ++sets->serial;
	sets->stats.sets++;
	return set;
}

static struct maple_set *in_block(const struct maple_near *near, uint64_t addr)
{
	struct maple_set *set = near ? near->blocks : NULL;

	while (set && (addr < set->start || addr >= set->end))
		set = set->next;
	return set;
}

/* A counter of blocks that may go on into neighbourhood @number. */
static uint32_t *into(struct maple_sets *sets, uint64_t number)
{
	return &sets->into[number * 0x9e3779b97f4a7c15ull >>
			   (64 - MAPLE_SETS_INTO_BITS)];
}

/* @set, a block, goes on into so many neighbourhoods; or does no more. */
static void go_on(struct maple_sets *sets, const struct maple_set *set,
		  bool more)
{
	uint64_t last = (set->end - 1) / NEAR;

	for (uint64_t i = set->start / NEAR + 1; i <= last; i++) {
		assert(more || *into(sets, i));
		*into(sets, i) += more ? 1u : UINT32_MAX;
	}
}

/*
 * maple_sets_at - the set that @addr is in, made if it is new; NULL: there are
 *                 too many
 */
struct maple_set *maple_sets_at(struct maple_sets *sets, uint64_t addr)
{
	uint64_t number = addr / NEAR;
	struct maple_near *near = near_at(sets, number, true);
	struct maple_set *set = in_block(near, addr);
	bool further = *into(sets, number);

	/* A block may have begun further up. */
	for (uint64_t i = 1;
	     further && !set && i <= BLOCK / NEAR && i <= number; i++)
		set = in_block(near_at(sets, number - i, false), addr);
	if (set || !near)
		return set;
	if (!near->set)
		near->set = make(sets, number * NEAR, number * NEAR + NEAR);
	return near->set;
}

static struct maple_set *given_set(struct maple_sets *sets,
				   const struct maple_set_given *given)
{
	struct maple_set *set;

	HASH_FIND(hh, sets->given, given, sizeof(*given), set);
	if (set)
		return set;
	if (HASH_COUNT(sets->given) >= SETS) {
		sets->stats.cut_sets++;
		return NULL;
	}
	set = make(sets, given->base, given->base);
	if (!set)
		return NULL;
	set->given = *given;
	HASH_ADD(hh, sets->given, given, sizeof(*given), set);
	if (set->hh.tbl)
		return set;
	free(set);
	sets->stats.no_memory++;
	return NULL;
}

static const struct maple_belonging *find(const struct maple_sets *sets,
					  uint32_t site)
{
	const struct maple_belonging *b = sets->belonging;
	size_t at = maple_array_lead(sets->nbelonging, i, b[i].site < site);

	return at < sets->nbelonging && b[at].site == site ? &b[at] : NULL;
}

/* maple_sets_knows - whether anything was said of @site */
bool maple_sets_knows(const struct maple_sets *sets, uint32_t site)
{
	return find(sets, site);
}

/* maple_sets_number - of the declared set that @site is to; 0: to none */
uint32_t maple_sets_number(const struct maple_sets *sets, uint32_t site)
{
	const struct maple_belonging *b = find(sets, site);

	return b ? b->number : 0;
}

/*
 * maple_sets_of - the declared set that @event is an access to, made if it is
 *                 new; NULL: to none, or there are too many
 */
struct maple_set *maple_sets_of(struct maple_sets *sets,
				const struct maple_event *event)
{
	const struct maple_belonging *b = find(sets, event->site);
	struct maple_set_given given = { 0 };

	if (!b || !b->number || (!b->one && event->addr < b->at))
		return NULL;
	given.base = b->one ? 0 : event->addr - b->at;
	given.number = b->number;
	return given_set(sets, &given);
}

/* maple_sets_allocated - [@addr, @addr + @size) is one thing from here on */
void maple_sets_allocated(struct maple_sets *sets, uint64_t addr, uint64_t size)
{
	struct maple_near *near;
	struct maple_set *set;

	maple_sets_freed(sets, addr, size);
	if (!size || size > BLOCK || size > UINT64_MAX - addr)
		return;
	near = near_at(sets, addr / NEAR, true);
	set = near ? make(sets, addr, addr + size) : NULL;
	if (!set)
		return;
	set->next = near->blocks;
	near->blocks = set;
	go_on(sets, set, true);
}

/* Nothing of @set is known any more; units that are open let go of it. */
static void end(struct maple_sets *sets, struct maple_set *set)
{
	maple_shapes_drop(sets, set);
	maple_witness_drop(set);
	set->gone = true;
	if (!set->open)
		free(set);
}

static void leave(struct maple_sets *sets, struct maple_near *near)
{
	struct maple_near **cached =
		&sets->cache[near->number % MAPLE_SETS_CACHE];

	if (near->set || near->blocks)
		return;
	if (*cached == near)
		*cached = NULL;
	HASH_DEL(sets->near, near);
	free(near);
}

/*
 * maple_sets_freed - the memory ends: what comes there later is another thing.
 * Of what is in no known block that is all of its neighbourhood.
 */
void maple_sets_freed(struct maple_sets *sets, uint64_t addr, uint64_t size)
{
	uint64_t number = addr / NEAR, last;
	struct maple_near *near;

	if (!size || size > UINT64_MAX - addr)
		return;
	last = (addr + size - 1) / NEAR;
	if (last - number >= ENDED)
		last = number + ENDED - 1;
	for (; number <= last; number++) {
		struct maple_set **at, *set;

		near = near_at(sets, number, false);
		if (!near)
			continue;
		for (at = &near->blocks; (set = *at);) {
			if (set->start >= addr + size || set->end <= addr) {
				at = &set->next;
				continue;
			}
			*at = set->next;
			go_on(sets, set, false);
			end(sets, set);
		}
		if (near->set)
			end(sets, near->set);
		near->set = NULL;
		leave(sets, near);
	}
}

/* maple_sets_forget - no unit is open any more: all of it goes */
void maple_sets_forget(struct maple_sets *sets)
{
	struct maple_near *near, *next;
	struct maple_set *set, *later;

	HASH_ITER (hh, sets->given, set, later) {
		HASH_DEL(sets->given, set);
		end(sets, set);
	}
	HASH_ITER (hh, sets->near, near, next) {
		while ((set = near->blocks)) {
			near->blocks = set->next;
			go_on(sets, set, false);
			end(sets, set);
		}
		if (near->set)
			end(sets, near->set);
		near->set = NULL;
		leave(sets, near);
	}
	assert(!sets->near && !sets->shapes);
}
