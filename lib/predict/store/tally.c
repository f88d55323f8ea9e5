// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A hash table of small keys that grows, and is read in order of making. A
 * slot has some of the hash besides the item's index: a look into the items,
 * which are many more than the CPU's caches hold, is nearly always a hit.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/array.h"
#include "tally.h"

#define ROOM_MIN 256
#define TAG	 0xffffffff00000000ull

/* The slot of the key: where it is, or the free one where it belongs. */
static uint64_t *place(const struct maple_tally *tally, const uint64_t key[3],
		       uint64_t *tag)
{
	uint64_t hash = XXH3_64bits(key, 3 * sizeof(key[0]));
	uint32_t mask = 2 * tally->room - 1;
	uint32_t i = (uint32_t)hash & mask;
	uint64_t slot;

	*tag = hash & TAG;
	for (; (slot = tally->slot[i]); i = (i + 1) & mask)
		if ((slot & TAG) == *tag &&
		    !memcmp(tally->item[(uint32_t)slot - 1].key, key,
			    3 * sizeof(key[0])))
			break;
	return &tally->slot[i];
}

static int grow(struct maple_tally *tally)
{
	uint32_t room = tally->room ? tally->room * 2 : ROOM_MIN;
	uint64_t *slot, tag;

	if (!maple_array_resize(tally->item, room))
		return -1;
	slot = calloc(2 * (size_t)room, sizeof(*slot));
	if (!slot)
		return -1;
	free(tally->slot);
	tally->slot = slot;
	tally->room = room;
	assert(tally->n <= tally->room); /* a free one ends each search */
	for (uint32_t i = 0; i < tally->n; i++) {
		slot = place(tally, tally->item[i].key, &tag);
		*slot = tag | (i + 1);
	}
	return 0;
}

/* maple_tally_find - the item of a key, or NULL */
struct maple_tally_item *maple_tally_find(const struct maple_tally *tally,
					  uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t key[3] = { a, b, c };
	uint64_t tag;
	uint32_t at = tally->room ? (uint32_t)*place(tally, key, &tag) : 0;

	return at ? &tally->item[at - 1] : NULL;
}

/* maple_tally_at - the item of a key, made if there is none; NULL: no memory */
struct maple_tally_item *maple_tally_at(struct maple_tally *tally, uint64_t a,
					uint64_t b, uint64_t c)
{
	const uint64_t key[3] = { a, b, c };
	uint64_t *slot, tag;

	if (!tally->room && grow(tally))
		return NULL;
	slot = place(tally, key, &tag);
	if (*slot)
		return &tally->item[(uint32_t)*slot - 1];
	if (tally->n == tally->room) {
		if (grow(tally))
			return NULL;
		slot = place(tally, key, &tag);
	}
	assert(!*slot && tally->n < tally->room);
	memcpy(tally->item[tally->n].key, key, sizeof(key));
	tally->item[tally->n].count = 0;
	*slot = tag | ++tally->n;
	return &tally->item[tally->n - 1];
}

/* maple_tally_clear - forgets all items, but keeps their memory for others */
void maple_tally_clear(struct maple_tally *tally)
{
	if (tally->n)
		memset(tally->slot, 0,
		       2 * (size_t)tally->room * sizeof(*tally->slot));
	tally->n = 0;
}

void maple_tally_deinit(struct maple_tally *tally)
{
	free(tally->item);
	free(tally->slot);
	memset(tally, 0, sizeof(*tally));
}
