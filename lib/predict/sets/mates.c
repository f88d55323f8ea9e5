// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which two sites one unit had, and how far apart: what a log of a forced run
 * does not tell, since a hook that holds threads stands on the stack as well.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "mates.h"

static size_t slot_of(const struct maple_mates *mates, uint64_t key)
{
	size_t at = (size_t)(key & (mates->room - 1));

	while (mates->key[at] && mates->key[at] != key)
		at = (at + 1) & (mates->room - 1);
	return at;
}

static bool grow(struct maple_mates *mates)
{
	struct maple_mates more = {
		.room = mates->room ? 2 * mates->room : 256,
		.n = mates->n,
	};

	more.key = calloc(more.room, sizeof(*more.key));
	if (!more.key)
		return false;
	for (size_t i = 0; i < mates->room; i++)
		if (mates->key[i])
			more.key[slot_of(&more, mates->key[i])] = mates->key[i];
	free(mates->key);
	*mates = more;
	return true;
}

/* maple_mates_note - @key is there, not 0; false: there is no room */
bool maple_mates_note(struct maple_mates *mates, uint64_t key)
{
	size_t at;

	if (2 * mates->n >= mates->room && !grow(mates))
		return false;
	at = slot_of(mates, key);
	if (mates->key[at])
		return true;
	if (mates->n >= MAPLE_MATES_MOST)
		return false;
	mates->key[at] = key;
	mates->n++;
	assert(mates->n < mates->room);
	return true;
}

static uint64_t key_of(const struct maple_touch *a, const struct maple_touch *b)
{
	uint64_t key = a->site | (uint64_t)b->site << 32;

	key = (key ^ key >> 29) * 0x9e3779b97f4a7c15ull;
	key ^= (b->addr - a->addr) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ key >> 31) * 0x94d049bb133111ebull;
	return (key ^ key >> 30) | 1;
}

/* maple_mates_add - one unit had @a before @b; false: there is no room */
bool maple_mates_add(struct maple_mates *mates, const struct maple_touch *a,
		     const struct maple_touch *b)
{
	return maple_mates_note(mates, key_of(a, b));
}

/* maple_mates_has - whether one unit had @a before @b */
bool maple_mates_has(const struct maple_mates *mates,
		     const struct maple_touch *a, const struct maple_touch *b)
{
	uint64_t key = key_of(a, b);

	return mates->room && mates->key[slot_of(mates, key)];
}

/* maple_mates_join - adds all of @more; false: there is no room for some */
bool maple_mates_join(struct maple_mates *mates, const struct maple_mates *more)
{
	bool all = true;

	for (size_t i = 0; i < more->room; i++)
		if (more->key[i])
			all &= maple_mates_note(mates, more->key[i]);
	return all;
}

void maple_mates_deinit(struct maple_mates *mates)
{
	free(mates->key);
	*mates = (struct maple_mates){ 0 };
}
