/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_OBSERVER_H
#define MAPLE_PREDICT_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include "predict/cells/history.h"
#include "iroots.h"
#include "predict/cells/location.h"
#include "predict/before/lockset.h"
#include "predict.h"
#include "predict/pairs/recent.h"

#define MAPLE_PRECEDENTS 64 /* accesses on which one depends */

/* An access that may not have happened yet. */
struct maple_doubt {
	struct maple_event event;
	uint32_t cut; /* bytes behind it that are not looked at */
	bool unsure;  /* another's conflicting access came meanwhile */
};

/* A thread in a wait on a condition. */
struct maple_sleeper {
	bool asleep;
	bool locked;	/* it held mutex, which the wait let go of, ... */
	uint32_t since; /* ... from this clock of its own on, ... */
	uint32_t until; /* ... until it fell asleep */
	uint64_t mutex;
};

enum maple_fate {
	MAPLE_APPLY, /* it happened just here */
	MAPLE_HOLD,  /* it comes again, from maple_observer_settle() */
	MAPLE_SPOIL, /* its order is not known */
};

/* What the access at hand depends on, and as which of its kinds. */
struct maple_precedent {
	struct maple_seen from;
	uint8_t kind;
};

struct maple_observer {
	struct maple_iroots *iroots;
	struct maple_window *window;	 /* NULL: no compound idioms */
	const struct maple_locks *locks; /* of the access at hand's thread */
	uint64_t steps;			 /* left to look for them */
	uint32_t nprecedents;
	struct maple_precedent precedent[MAPLE_PRECEDENTS];
	struct maple_predict_stats *stats;
	uint32_t ndoubts, room;
	struct maple_doubt *doubts; /* at most one per thread */
	struct maple_sleeper sleeper[MAPLE_THREADS];
};

enum maple_fate maple_observer_judge(struct maple_observer *observer,
				     const struct maple_event *event,
				     uint32_t cut);
bool maple_observer_settle(struct maple_observer *observer, uint32_t thread,
			   struct maple_doubt *settled);
void maple_observer_forget(struct maple_observer *observer, uint64_t addr,
			   uint64_t size);
void maple_observer_apply(struct maple_observer *observer,
			  struct maple_cell *cell,
			  const struct maple_event *event,
			  const struct maple_locks *locks);
void maple_observer_release(struct maple_observer *observer,
			    const struct maple_event *event,
			    const struct maple_locks *locks);
void maple_observer_sleep(struct maple_observer *observer,
			  const struct maple_event *event);
void maple_observer_sequences_init(struct maple_observer *observer,
				   struct maple_window *window);
void maple_observer_sequences(struct maple_observer *observer,
			      const struct maple_seen *seen);
void maple_observer_spoil(struct maple_cell *cell);
void maple_observer_deinit(struct maple_observer *observer);

#endif
