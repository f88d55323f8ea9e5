// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Locations are byte ranges, and two accesses are on the same location when
 * their ranges overlap. So memory is kept as cells: ranges whose bytes were
 * always accessed together. An access covers whole cells, because a cell that
 * it would cover in part is split first, and both halves go on with the same
 * history. Two accesses overlap exactly if they share a cell, and what is
 * decided cell by cell is decided byte by byte.
 *
 *   access 8 at 0    [        A        ]
 *   access 4 at 4    [   A    ][  A B  ]
 *
 * Cells live in blocks of 256 bytes and never cross one, so a large copy
 * costs a cell per block, not per byte.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "history.h"
#include "location.h"
#include "predict/store/table.h"

#define GRANULE	 8
#define GRANULES (MAPLE_BLOCK_BYTES / GRANULE)

struct maple_block {
	uint64_t number; /* address / MAPLE_BLOCK_BYTES */
	UT_hash_handle hh;
	struct maple_cell *cells;
	struct maple_cell *granule[GRANULES]; /* first cell that touches it */
};

void maple_space_init(struct maple_space *space, struct maple_slab *slab,
		      uint32_t max_cells, uint32_t max_entries,
		      struct maple_predict_stats *stats)
{
	memset(space, 0, sizeof(*space));
	space->slab = slab;
	space->max_cells = max_cells;
	space->max_entries = max_entries;
	space->stats = stats;
}

static struct maple_block *block_find(struct maple_space *space, uint64_t number)
{
	struct maple_block **cached, *block;

	cached = &space->cache[number % MAPLE_BLOCK_CACHE];
	if (*cached && (*cached)->number == number)
		return *cached;
	HASH_FIND(hh, space->table, &number, sizeof(number), block);
	if (block)
		*cached = block;
	return block;
}

static struct maple_block *block_make(struct maple_space *space, uint64_t number)
{
	struct maple_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	block->number = number;
	HASH_ADD(hh, space->table, number, sizeof(number), block);
	if (block->hh.tbl)
		return block;
	free(block);
	return NULL;
}

static void block_drop(struct maple_space *space, struct maple_block *block)
{
	struct maple_block **cached;

	cached = &space->cache[block->number % MAPLE_BLOCK_CACHE];
	if (*cached == block)
		*cached = NULL;
	HASH_DELETE(hh, space->table, block);
	free(block);
}

static void block_index(struct maple_block *block)
{
	struct maple_cell *cell;

	memset(block->granule, 0, sizeof(block->granule));
	for (cell = block->cells; cell; cell = cell->next)
		for (unsigned int g = cell->start / GRANULE;
		     g <= (cell->end - 1u) / GRANULE; g++)
			if (!block->granule[g])
				block->granule[g] = cell;
}

/* The first cell that ends behind @pos. */
static struct maple_cell *block_from(const struct maple_block *block,
				     unsigned int pos)
{
	struct maple_cell *cell = NULL;

	for (unsigned int g = pos / GRANULE; g < GRANULES && !cell; g++)
		cell = block->granule[g];
	while (cell && cell->end <= pos)
		cell = cell->next;
	return cell;
}

static struct maple_cell *cell_make(struct maple_space *space,
				    struct maple_block *block,
				    unsigned int start, unsigned int end)
{
	struct maple_cell **at = &block->cells, *cell;

	if (space->ncells >= space->max_cells)
		return NULL;
	cell = maple_slab_zero(space->slab, sizeof(*cell));
	if (!cell) {
		space->stats->no_memory++;
		return NULL;
	}
	while (*at && (*at)->start < start)
		at = &(*at)->next;
	cell->serial = ++space->serial;
	cell->start = (uint16_t)start;
	cell->end = (uint16_t)end;
	cell->next = *at;
	*at = cell;
	assert(start < end && end <= MAPLE_BLOCK_BYTES);
	space->ncells++;
	block_index(block);
	return cell;
}

static void cell_free(struct maple_space *space, struct maple_cell *cell)
{
	maple_entries_destroy(space, cell);
	assert(space->ncells);
	space->ncells--;
	space->gone++;
	maple_slab_put(space->slab, cell, sizeof(*cell));
}

/* Cuts @cell in two at @pos; returns the part from @pos on. */
static struct maple_cell *cell_split(struct maple_space *space,
				     struct maple_block *block,
				     struct maple_cell *cell, unsigned int pos)
{
	struct maple_cell *rest;

	assert(cell->start < pos && pos < cell->end);
	rest = cell_make(space, block, pos, cell->end);
	if (!rest)
		return NULL;
	if (maple_entries_clone(space, cell, rest)) {
		space->stats->no_memory++;
		cell->next = rest->next;
		cell_free(space, rest);
		block_index(block);
		return NULL;
	}
	rest->writer = cell->writer;
	rest->writes = cell->writes;
	rest->nsummaries = cell->nsummaries;
	rest->kinds = cell->kinds;
	rest->hands = cell->hands;
	cell->end = (uint16_t)pos;
	assert(cell->next == rest && maple_cell_is_sound(cell) &&
	       maple_cell_is_sound(rest));
	block_index(block);
	return rest;
}

/* The cell that begins at @pos and reaches to @end at most; NULL if none. */
static struct maple_cell *cell_at(struct maple_space *space,
				  struct maple_block *block, unsigned int pos,
				  unsigned int end)
{
	struct maple_cell *cell = block_from(block, pos);

	if (!cell || cell->start >= end)
		return cell_make(space, block, pos, end);
	if (cell->start > pos)
		return cell_make(space, block, pos, cell->start);
	if (cell->start < pos)
		cell = cell_split(space, block, cell, pos);
	if (cell && cell->end > end && !cell_split(space, block, cell, end))
		return NULL;
	return cell;
}

static int find_in_block(struct maple_space *space, struct maple_block *block,
			 unsigned int pos, unsigned int end, size_t *n)
{
	struct maple_cell *cell;

	while (pos < end) {
		if (!maple_array_reserve(space->found, *n, space->room))
			return -ENOMEM;
		cell = cell_at(space, block, pos, end);
		if (!cell) {
			space->stats->cut_locations++;
			return 0;
		}
		/* It covers the access from here on, and nothing else. */
		assert(cell->start == pos && cell->end > pos &&
		       cell->end <= end);
		space->found[(*n)++] = cell;
		pos = cell->end;
	}
	return 0;
}

/* maple_space_load - begins to load the block that @addr is in */
void maple_space_load(const struct maple_space *space, uint64_t addr)
{
	uint64_t number = addr / MAPLE_BLOCK_BYTES;
	const struct maple_block *block =
		space->cache[number % MAPLE_BLOCK_CACHE];

	if (!block)
		return;
	__builtin_prefetch(block);
	__builtin_prefetch(&block->granule[addr % MAPLE_BLOCK_BYTES / GRANULE]);
}

/*
 * maple_space_peek - the cell that an access to @addr will probably begin in
 *
 * Quick rather than right: NULL if there is none, or if it takes a search.
 */
const struct maple_cell *maple_space_peek(const struct maple_space *space,
					  uint64_t addr)
{
	uint64_t number = addr / MAPLE_BLOCK_BYTES;
	const struct maple_block *block =
		space->cache[number % MAPLE_BLOCK_CACHE];

	if (!block || block->number != number)
		return NULL;
	return block->granule[addr % MAPLE_BLOCK_BYTES / GRANULE];
}

/*
 * maple_space_find - the cells that make up [@addr, @addr + @size), split and
 *                    made as needed
 *
 * Returns how many now stand in space->found, fewer (and counts it) when
 * there can be no more cells, or -ENOMEM. They are good until the next call
 * of any maple_space function.
 */
int maple_space_find(struct maple_space *space, uint64_t addr, uint64_t size)
{
	uint64_t left = size;
	size_t n = 0;
	int ret;

	while (left) {
		unsigned int pos = addr % MAPLE_BLOCK_BYTES;
		unsigned int end = MAPLE_BLOCK_BYTES;
		uint64_t number = addr / MAPLE_BLOCK_BYTES;
		struct maple_block *block = block_find(space, number);

		if (left < end - pos)
			end = pos + (unsigned int)left;
		if (!block && space->ncells < space->max_cells)
			block = block_make(space, number);
		if (!block) {
			space->stats->cut_locations++;
			break;
		}
		ret = find_in_block(space, block, pos, end, &n);
		if (ret)
			return ret;
		left -= end - pos;
		addr += end - pos;
	}
	return (int)n;
}

static void close_in_block(struct maple_space *space, struct maple_block *block,
			   unsigned int pos, unsigned int end,
			   void (*close)(void *ctx, struct maple_cell *cell),
			   void *ctx)
{
	struct maple_cell *cell = block_from(block, pos), **at;

	/* Without room for a split the whole cell goes. */
	if (cell && cell->start < pos && cell_split(space, block, cell, pos))
		cell = cell->next;
	at = &block->cells;
	while (*at && *at != cell)
		at = &(*at)->next;
	assert(*at == cell);
	while ((cell = *at) && cell->start < end) {
		if (cell->end > end)
			cell_split(space, block, cell, end);
		close(ctx, cell);
		*at = cell->next;
		cell_free(space, cell);
	}
	if (block->cells)
		block_index(block);
	else
		block_drop(space, block);
}

/*
 * maple_space_close - forgets [@addr, @addr + @size), calling @close for each
 *                     cell just before it goes
 */
void maple_space_close(struct maple_space *space, uint64_t addr, uint64_t size,
		       void (*close)(void *ctx, struct maple_cell *cell),
		       void *ctx)
{
	struct maple_block *block, *next;
	uint64_t last, first = addr / MAPLE_BLOCK_BYTES, end;

	if (!size || !space->table)
		return;
	if (size - 1 > UINT64_MAX - addr)
		size = UINT64_MAX - addr + 1;
	end = addr + (size - 1);
	last = end / MAPLE_BLOCK_BYTES;
	if (last - first > HASH_COUNT(space->table)) {
		HASH_ITER (hh, space->table, block, next)
			if (block->number >= first && block->number <= last)
				close_in_block(
					space, block,
					block->number == first
						? addr % MAPLE_BLOCK_BYTES
						: 0,
					block->number == last
						? end % MAPLE_BLOCK_BYTES + 1
						: MAPLE_BLOCK_BYTES,
					close, ctx);
		return;
	}
	for (uint64_t i = first; i <= last; i++) {
		block = block_find(space, i);
		if (block)
			close_in_block(space, block,
				       i == first ? addr % MAPLE_BLOCK_BYTES : 0,
				       i == last ? end % MAPLE_BLOCK_BYTES + 1
						 : MAPLE_BLOCK_BYTES,
				       close, ctx);
	}
}

/*
 * maple_space_visit - calls @visit for each cell there is that overlaps
 *                     [@addr, @addr + @size), and perhaps for some near
 *                     it; makes and splits none
 */
void maple_space_visit(struct maple_space *space, uint64_t addr, uint64_t size,
		       void (*visit)(struct maple_cell *cell))
{
	struct maple_block *block, *next;

	/* More blocks than there are: whole ones will do. */
	if (size / MAPLE_BLOCK_BYTES > HASH_COUNT(space->table)) {
		uint64_t first = addr / MAPLE_BLOCK_BYTES;
		uint64_t last = (addr + (size - 1)) / MAPLE_BLOCK_BYTES;

		HASH_ITER (hh, space->table, block, next)
			for (struct maple_cell *cell = block->cells;
			     cell && block->number >= first &&
			     block->number <= last;
			     cell = cell->next)
				visit(cell);
		return;
	}
	while (size) {
		unsigned int pos = addr % MAPLE_BLOCK_BYTES;
		unsigned int end = MAPLE_BLOCK_BYTES;

		block = block_find(space, addr / MAPLE_BLOCK_BYTES);
		if (size < end - pos)
			end = pos + (unsigned int)size;
		if (block)
			for (struct maple_cell *cell = block_from(block, pos);
			     cell && cell->start < end; cell = cell->next)
				visit(cell);
		size -= end - pos;
		addr += end - pos;
	}
}

static bool shared_in_block(struct maple_space *space,
			    const struct maple_block *block, uint64_t addr,
			    uint64_t end, uint32_t thread, size_t *n)
{
	uint64_t base = block->number * MAPLE_BLOCK_BYTES;
	struct maple_cell *cell = block_from(
		block, addr > base ? (unsigned int)(addr - base) : 0);

	for (; cell && base + cell->start < end; cell = cell->next) {
		if (cell->mutex || !cell->nvisits ||
		    (cell->nvisits == 1 && cell->visit[0].thread == thread))
			continue;
		if (!maple_array_reserve(space->found, *n, space->room))
			return false;
		space->found[(*n)++] = cell;
	}
	return true;
}

/*
 * maple_space_shared - the cells there are in [@addr, @addr + @size) that a
 *                      thread other than @thread has touched; no locks
 *
 * Returns how many now stand in space->found, or -ENOMEM; they are good as
 * those of maple_space_find() are.
 */
int maple_space_shared(struct maple_space *space, uint64_t addr, uint64_t size,
		       uint32_t thread)
{
	uint64_t end = addr + size, at = addr / MAPLE_BLOCK_BYTES;
	struct maple_block *block, *next;
	bool room = true;
	size_t n = 0;

	assert(size <= UINT64_MAX - addr);
	if (!size || !space->table)
		return 0;
	if (size / MAPLE_BLOCK_BYTES > HASH_COUNT(space->table)) {
		HASH_ITER (hh, space->table, block, next)
			if (block->number >= at &&
			    block->number * MAPLE_BLOCK_BYTES < end)
				room &= shared_in_block(space, block, addr, end,
							thread, &n);
	} else {
		/* Not by address, which is 0 behind the last block there is. */
		for (; at <= (end - 1) / MAPLE_BLOCK_BYTES; at++) {
			block = block_find(space, at);
			if (block)
				room &= shared_in_block(space, block, addr, end,
							thread, &n);
		}
	}
	return room ? (int)n : -ENOMEM;
}

/* maple_space_walk - calls @visit for every cell, oldest blocks first */
void maple_space_walk(struct maple_space *space,
		      void (*visit)(void *ctx, struct maple_cell *cell),
		      void *ctx)
{
	struct maple_block *block, *next;

	HASH_ITER (hh, space->table, block, next)
		for (struct maple_cell *cell = block->cells; cell;
		     cell = cell->next)
			visit(ctx, cell);
}

void maple_space_deinit(struct maple_space *space)
{
	struct maple_block *block, *next;
	struct maple_cell *cell;

	HASH_ITER (hh, space->table, block, next) {
		while ((cell = block->cells)) {
			block->cells = cell->next;
			cell_free(space, cell);
		}
		block_drop(space, block);
	}
	free(space->found);
}
