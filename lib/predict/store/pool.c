// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Memory for up to half a million small things of which none goes before the
 * others: they need no headers, and chunks are freed instead of things.
 */
#include <assert.h>
#include <stdlib.h>
#include "pool.h"

#define CHUNK  65536
#define HEADER 16 /* keeps what follows aligned */

/*
 * maple_pool_make - the next thing, all zero; NULL without memory
 * @size: a multiple of 8, much less than CHUNK, the same every time
 */
void *maple_pool_make(struct maple_pool *pool, size_t size)
{
	void **chunk;

	assert(size && !(size % 8) && size <= CHUNK - HEADER);
	if (!pool->chunk || pool->used + size > CHUNK) {
		chunk = calloc(1, CHUNK);
		if (!chunk)
			return NULL;
		*chunk = pool->chunk;
		pool->chunk = chunk;
		pool->used = HEADER;
	}
	pool->used += size;
	return (char *)pool->chunk + pool->used - size;
}

/* maple_pool_clear - frees all things at once */
void maple_pool_clear(struct maple_pool *pool)
{
	void **chunk;

	while ((chunk = pool->chunk)) {
		pool->chunk = *chunk;
		free(chunk);
	}
	pool->used = 0;
}
