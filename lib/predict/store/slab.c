// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory for what a run's history is made of: millions of things of some
 * dozen bytes, of which as many go as come. They need no headers, what goes
 * is next to come while it is still in the CPU's cache, and once there are
 * many they are in huge pages, as far as the kernel has any.
 *
 * Chunks double from 4 KiB to 8 MiB, so what is unused of the newest is
 * bounded. Larger things than 1 KiB are rare and left to malloc().
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "slab.h"

#define CHUNK_MIN 4096
#define CHUNK_MAX (8u << 20)
#define PAGE	  4096

static_assert(MAPLE_SLAB_GRAIN * MAPLE_SLAB_CLASSES <=
		      CHUNK_MIN - MAPLE_SLAB_GRAIN,
	      "the largest fits the smallest chunk");

/* Asks for huge pages; without them it is only slower. */
static void advise(void *chunk, size_t size)
{
	uintptr_t from = ((uintptr_t)chunk + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t to = ((uintptr_t)chunk + size) & ~(uintptr_t)(PAGE - 1);

	madvise((void *)from, to - from, MADV_HUGEPAGE);
}

static int chunk_make(struct maple_slab *slab)
{
	size_t size = slab->chunk ? slab->size : CHUNK_MIN / 2;
	void **chunk;

	if (size < CHUNK_MAX)
		size *= 2;
	chunk = malloc(size);
	if (!chunk)
		return -1;
	if (size == CHUNK_MAX)
		advise(chunk, size);
	*chunk = slab->chunk;
	slab->chunk = chunk;
	slab->size = size;
	slab->used = MAPLE_SLAB_GRAIN;
	return 0;
}

/* maple_slab_get - @size bytes, at least 1; NULL without memory */
void *maple_slab_get(struct maple_slab *slab, size_t size)
{
	size_t class = (size - 1) / MAPLE_SLAB_GRAIN;
	void **at;

	assert(size);
	if (class >= MAPLE_SLAB_CLASSES)
		return malloc(size);
	at = slab->given_back[class];
	if (at) {
		slab->given_back[class] = *at;
		return at;
	}
	size = (class + 1) * MAPLE_SLAB_GRAIN;
	if ((!slab->chunk || slab->used + size > slab->size) && chunk_make(slab))
		return NULL;
	slab->used += size;
	assert(slab->used <= slab->size);
	return (char *)slab->chunk + slab->used - size;
}

/* maple_slab_zero - as maple_slab_get(), all zero */
void *maple_slab_zero(struct maple_slab *slab, size_t size)
{
	void *at = maple_slab_get(slab, size);

	return at ? memset(at, 0, size) : NULL;
}

/* maple_slab_put - gives back what was got, of the same size; NULL is fine */
void maple_slab_put(struct maple_slab *slab, void *at, size_t size)
{
	size_t class = (size - 1) / MAPLE_SLAB_GRAIN;

	if (!at)
		return;
	assert(size);
	if (class >= MAPLE_SLAB_CLASSES) {
		free(at);
		return;
	}
	*(void **)at = slab->given_back[class];
	slab->given_back[class] = at;
}

/*
 * maple_slab_room - room in *@array for one more than @n elements
 * @room: what it has
 * @small: what the array is at first, inside its owner; or NULL
 *
 * Eight is where pruning begins, and where most arrays stay.
 */
bool maple_slab_room(struct maple_slab *slab, void **array, uint32_t *room,
		     uint32_t n, size_t element, void *small)
{
	uint32_t more = *room ? *room * 2 : 2;
	void *grown;

	if (n < *room)
		return true;
	grown = maple_slab_get(slab, more * element);
	if (!grown)
		return false;
	if (n)
		memcpy(grown, *array, n * element);
	if (*array != small)
		maple_slab_put(slab, *array, *room * element);
	*array = grown;
	*room = more;
	return true;
}

/* maple_slab_deinit - frees all; what malloc() gave has to be put before */
void maple_slab_deinit(struct maple_slab *slab)
{
	void **chunk;

	while ((chunk = slab->chunk)) {
		slab->chunk = *chunk;
		free(chunk);
	}
}
