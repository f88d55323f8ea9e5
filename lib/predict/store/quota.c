// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Counts of small keys, eight bytes each: half a million of them are asked
 * for with nearly every local pair, and have to stay in the CPU's cache.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "quota.h"

#define SLOTS_MIN 1024

/* Where to begin to look for @key. */
static uint32_t first_of(const struct maple_quotas *quotas, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15ull; /* 2^64 / golden ratio */

	return (uint32_t)(hash >> 32) & (quotas->room - 1);
}

/* The slot of @key: where it is, or the free one where it belongs. */
static uint64_t *place(const struct maple_quotas *quotas, uint64_t key)
{
	uint32_t mask = quotas->room - 1;
	uint32_t i = first_of(quotas, key);

	while (quotas->slot[i] && quotas->slot[i] >> 8 != key)
		i = (i + 1) & mask;
	return &quotas->slot[i];
}

/* maple_quotas_load - begins to load what maple_quotas_at() will look at */
void maple_quotas_load(const struct maple_quotas *quotas, uint64_t key)
{
	if (quotas->room)
		__builtin_prefetch(&quotas->slot[first_of(quotas, key)]);
}

static int grow(struct maple_quotas *quotas)
{
	struct maple_quotas more = {
		.n = quotas->n,
		.room = quotas->room ? quotas->room * 2 : SLOTS_MIN,
	};

	more.slot = calloc(more.room, sizeof(*more.slot));
	if (!more.slot)
		return -1;
	for (uint32_t i = 0; i < quotas->room; i++)
		if (quotas->slot[i])
			*place(&more, quotas->slot[i] >> 8) = quotas->slot[i];
	assert(more.n < more.room); /* a free one ends each search */
	free(quotas->slot);
	*quotas = more;
	return 0;
}

/*
 * maple_quotas_at - the quota of @key, made if there is none; NULL: no memory
 * @key: below 2^56, not 0
 *
 * Good until the next call. Its count, in the low byte, is the caller's.
 */
uint64_t *maple_quotas_at(struct maple_quotas *quotas, uint64_t key)
{
	uint64_t *slot;

	assert(key && !(key >> 56));
	if (2 * quotas->n >= quotas->room && grow(quotas))
		return NULL;
	slot = place(quotas, key);
	if (!*slot) {
		*slot = key << 8;
		quotas->n++;
	}
	return slot;
}

/* maple_quotas_clear - forgets all, but keeps the memory for others */
void maple_quotas_clear(struct maple_quotas *quotas)
{
	if (quotas->n)
		memset(quotas->slot, 0, quotas->room * sizeof(*quotas->slot));
	quotas->n = 0;
}

void maple_quotas_deinit(struct maple_quotas *quotas)
{
	free(quotas->slot);
	memset(quotas, 0, sizeof(*quotas));
}
