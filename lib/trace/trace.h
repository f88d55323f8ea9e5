/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_TRACE_H
#define MAPLE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/event.h>

struct maple_shm;

/* What reading one run's ring came to. */
struct maple_trace_stats {
	uint64_t events;   /* handed out */
	uint64_t pending;  /* ... of them with MAPLE_EVF_PENDING */
	uint64_t unfilled; /* slots taken by a thread that died before filling */
	uint64_t bad;	   /* slots whose content is no event */
	uint64_t lost;	   /* dropped by the agent: ring full */
};

/* The reader's side of the ring; its fields are trace/ring.c's own. */
struct maple_trace_ring {
	struct maple_shm *shm;
	struct maple_event held; /* next to hand out, once its fate is known */
	bool holding;
	uint64_t next;	 /* to be taken; shm->tail follows, now and then */
	uint64_t head;	 /* the writer's end when last looked at */
	bool pinned;	 /* ... and whether all its threads share a CPU */
	uint32_t thread; /* the next whose late LOCKs are handed out */
	struct maple_trace_stats stats;
};

void maple_trace_ring_init(struct maple_trace_ring *ring, struct maple_shm *shm);
void maple_trace_ring_reset(struct maple_trace_ring *ring);
bool maple_trace_ring_next(struct maple_trace_ring *ring, bool ended,
			   struct maple_event *event);
void maple_trace_ring_stats(const struct maple_trace_ring *ring,
			    struct maple_trace_stats *stats);

#endif
