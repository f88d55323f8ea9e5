// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A hash table of small keys that grows, and is read in order of making. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "tally.h"

#define ROOM_MIN 1024

/* The slot of the key: where it is, or the free one where it belongs. */
static uint32_t *place(const struct maple_tally *tally, const uint64_t key[3])
{
	uint32_t mask = 2 * tally->room - 1;
	uint32_t i = (uint32_t)XXH3_64bits(key, 3 * sizeof(key[0])) & mask;

	while (tally->slot[i] && memcmp(tally->item[tally->slot[i] - 1].key,
					key, 3 * sizeof(key[0])))
		i = (i + 1) & mask;
	return &tally->slot[i];
}

static int grow(struct maple_tally *tally)
{
	uint32_t room = tally->room ? tally->room * 2 : ROOM_MIN;
	struct maple_tally_item *item;
	uint32_t *slot;

	item = reallocarray(tally->item, room, sizeof(*item));
	if (!item)
		return -1;
	tally->item = item;
	slot = calloc(2 * (size_t)room, sizeof(*slot));
	if (!slot)
		return -1;
	free(tally->slot);
	tally->slot = slot;
	tally->room = room;
	for (uint32_t i = 0; i < tally->n; i++)
		*place(tally, item[i].key) = i + 1;
	return 0;
}

/* maple_tally_find - the item of a key, or NULL */
struct maple_tally_item *maple_tally_find(const struct maple_tally *tally,
					  uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t key[3] = { a, b, c };
	uint32_t at = tally->room ? *place(tally, key) : 0;

	return at ? &tally->item[at - 1] : NULL;
}

/* maple_tally_at - the item of a key, made if there is none; NULL: no memory */
struct maple_tally_item *maple_tally_at(struct maple_tally *tally, uint64_t a,
					uint64_t b, uint64_t c)
{
	const uint64_t key[3] = { a, b, c };
	uint32_t *slot;

	if (!tally->room && grow(tally))
		return NULL;
	slot = place(tally, key);
	if (*slot)
		return &tally->item[*slot - 1];
	if (tally->n == tally->room) {
		if (grow(tally))
			return NULL;
		slot = place(tally, key);
	}
	memcpy(tally->item[tally->n].key, key, sizeof(key));
	tally->item[tally->n].count = 0;
	*slot = ++tally->n;
	return &tally->item[tally->n - 1];
}

/* maple_tally_clear - forgets all items and frees their memory */
void maple_tally_clear(struct maple_tally *tally)
{
	free(tally->item);
	free(tally->slot);
	memset(tally, 0, sizeof(*tally));
}
