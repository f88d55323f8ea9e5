/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_RECENT_H
#define MAPLE_PREDICT_RECENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/event.h>
#include "predict/predict.h"

#define MAPLE_RECENT_MAX 4096 /* records kept per thread */

static_assert(!(MAPLE_RECENT_MAX & (MAPLE_RECENT_MAX - 1)),
	      "the ring doubles up to it");

struct maple_entry;

/* An access that depended immediately on a record. */
struct maple_successor {
	uint64_t index; /* its record */
	uint32_t site;
	uint16_t thread;
	uint8_t kind, from; /* READ or WRITE where UPDATE was both */
};

/* One access of a thread to one cell. Others are named by index; 0: none. */
struct maple_record {
	uint64_t index;		/* ascending, from 1 */
	uint64_t location;	/* the cell's serial */
	uint64_t access;	/* index of the access's first record */
	uint64_t before;	/* of the thread on the location */
	uint64_t after;		/* ... */
	uint64_t newer, older;	/* among the latest on each location */
	uint64_t later, sooner; /* among those that have successors */
	uint32_t site;
	uint32_t clock;
	uint8_t kind;
	bool latest;
	uint32_t nsuccessors, room;
	struct maple_successor *successors;
	struct maple_entry *entry; /* predictor: of which this is the latest */
};

/* What a thread did last, in program order. */
struct maple_recent {
	struct maple_record *slot; /* by index modulo size */
	uint32_t size;		   /* a power of two, or 0 */
	uint64_t first, last;	   /* indices kept; none if first > last */
	uint64_t newest;	   /* head of the latest on each location */
	uint64_t sources;	   /* head of those with successors */
};

/* The windows of all threads. */
struct maple_window {
	struct maple_recent *thread[MAPLE_THREADS];
	uint32_t events; /* vw */
	struct maple_predict_stats *stats;
};

int maple_window_push(struct maple_window *window, uint32_t thread,
		      const struct maple_record *record, uint64_t *index);
void maple_window_leave(struct maple_window *window, uint32_t thread);
void maple_window_deinit(struct maple_window *window);
bool maple_recent_succeed(struct maple_recent *recent,
			  struct maple_record *record,
			  const struct maple_successor *successor);

static inline bool maple_record_is_memory(const struct maple_record *record)
{
	return maple_event_is_memory(record->kind);
}

static inline struct maple_record *
maple_recent_at(const struct maple_recent *recent, uint64_t index)
{
	return &recent->slot[index & (recent->size - 1)];
}

/* maple_recent_find - the record of @index, or NULL if it fell out */
static inline struct maple_record *
maple_recent_find(const struct maple_recent *recent, uint64_t index)
{
	if (index < recent->first || index > recent->last || !index)
		return NULL;
	return maple_recent_at(recent, index);
}

/* maple_window_find - a record of @thread, or NULL if it is not there */
static inline struct maple_record *
maple_window_find(const struct maple_window *window, uint32_t thread,
		  uint64_t index)
{
	const struct maple_recent *recent = window->thread[thread];

	return recent ? maple_recent_find(recent, index) : NULL;
}

/*
 * maple_recent_pair - whether @first and @last are a local pair: another
 *                     access each, closer than the window, neither's location
 *                     touched by the thread in between
 */
static inline bool maple_recent_pair(const struct maple_recent *recent,
				     const struct maple_record *first,
				     const struct maple_record *last,
				     uint32_t window)
{
	const struct maple_record *before;

	if (first->access >= last->access ||
	    last->clock - first->clock >= window ||
	    maple_record_is_memory(first) != maple_record_is_memory(last))
		return false;
	if (first->after && first->after < last->access)
		return false;
	if (last->before <= first->index)
		return true;
	before = maple_recent_find(recent, last->before);
	return before && before->access == first->access;
}

#endif
