/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_LOCATION_H
#define MAPLE_PREDICT_LOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "predict/predict.h"
#include "predict/store/slab.h"

#define MAPLE_BLOCK_BYTES 256
#define MAPLE_BLOCK_CACHE 4096

struct maple_entry;

/* An access as the observer remembers it. */
struct maple_seen {
	uint32_t site;
	uint16_t thread;
	uint8_t kind;	/* enum maple_event_kind; 0: none */
	uint8_t shared; /* read side of a rwlock */
	uint32_t clock;
	uint64_t record; /* in its thread's window; 0: none */
};

/* That a thread touched a cell: all that others' accesses ask every time. */
struct maple_visit {
	struct maple_entry *entry;
	struct maple_seen read; /* observer: its last read since ... */
	uint32_t read_at;	/* ... this count of the cell's writes */
	uint16_t thread;
	uint8_t kinds; /* of its summaries ever, as bits */
};

/* Who has it, and how it came from one thread to another (causes.c). */
struct maple_hands {
	uint32_t clock, site; /* of the latest access; clock 0: none yet */
	uint16_t thread;
	uint8_t handed; /* so often the next one knew of it; at most twice */
	bool loose;	/* once the next one did not */
};

/* Bytes that were never accessed but all together. */
struct maple_cell {
	uint16_t start, end; /* in its block */
	uint16_t nvisits, room;
	struct maple_visit *visit; /* one per thread, latest first */
	uint64_t serial;	   /* which no other cell ever has */
	struct maple_cell *next;   /* in its block, ascending */
	uint32_t writes;	   /* reads noted at this count are valid */
	uint32_t nsummaries;	   /* over all visits */
	struct maple_seen writer;  /* the last one */
	bool mutex;		   /* a lock's first byte, never data */
	uint8_t kinds;		   /* of all summaries ever, as bits */
	struct maple_hands hands;
	struct maple_visit first; /* where visit points at first */
};

struct maple_block;

struct maple_space {
	struct maple_slab *slab;
	struct maple_block *table;
	struct maple_block *cache[MAPLE_BLOCK_CACHE];
	uint64_t serial;
	uint64_t gone; /* cells, so far */
	uint32_t ncells, max_cells;
	uint32_t nentries, max_entries; /* over all cells */
	struct maple_predict_stats *stats;
	struct maple_cell **found; /* what maple_space_find() answers */
	size_t room;
};

void maple_space_init(struct maple_space *space, struct maple_slab *slab,
		      uint32_t max_cells, uint32_t max_entries,
		      struct maple_predict_stats *stats);
int maple_space_find(struct maple_space *space, uint64_t addr, uint64_t size);
int maple_space_shared(struct maple_space *space, uint64_t addr, uint64_t size,
		       uint32_t thread);
void maple_space_load(const struct maple_space *space, uint64_t addr);
const struct maple_cell *maple_space_peek(const struct maple_space *space,
					  uint64_t addr);
void maple_space_close(struct maple_space *space, uint64_t addr, uint64_t size,
		       void (*close)(void *ctx, struct maple_cell *cell),
		       void *ctx);
void maple_space_visit(struct maple_space *space, uint64_t addr, uint64_t size,
		       void (*visit)(struct maple_cell *cell));
void maple_space_walk(struct maple_space *space,
		      void (*visit)(void *ctx, struct maple_cell *cell),
		      void *ctx);
void maple_space_deinit(struct maple_space *space);

#endif
