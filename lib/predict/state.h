/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_STATE_H
#define MAPLE_PREDICT_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include "predict/before/causes.h"
#include "predict/before/clock.h"
#include "predict/before/conds.h"
#include "predict/cells/history.h"
#include "iroots.h"
#include "late.h"
#include "predict/cells/location.h"
#include "predict/before/lockset.h"
#include "observer.h"
#include "predict/pairs/pairs.h"
#include "predict.h"
#include "predict/pairs/recent.h"
#include "sites.h"

#define MAPLE_AHEAD  8 /* events that wait for what they need */
#define MAPLE_RECENT 4 /* cells of one access that learn its class */

struct maple_predict_thread {
	struct maple_locks locks;
	struct maple_sitemap executed; /* struct maple_executions */
	struct maple_executions *last; /* of the site executed last */
	uint32_t curious; /* accesses from which to look for local pairs */
	bool walks;	  /* ... as from the one at hand */
	bool fresh;	  /* ... and which brought some */
	struct maple_entry *recent[MAPLE_RECENT];
	uint64_t stack, stack_size;
};

/* Events that wait, by number. */
struct maple_ahead {
	uint64_t in, out;
	uint64_t gone; /* cells of the space: the line's were there then */
	struct maple_waiting {
		struct maple_event event;
		const struct maple_cell *cell; /* what it will probably touch */
	} line[MAPLE_AHEAD];
};

struct maple_predict {
	struct maple_predict_options options;
	struct maple_late late;
	struct maple_predict_sink sink;
	struct maple_predict_stats stats;
	struct maple_clocks clocks;
	struct maple_causes causes;
	struct maple_conds conds;
	struct maple_slab slab;
	struct maple_space space;
	struct maple_history history;
	struct maple_window window;
	struct maple_observer observer;
	struct maple_iroots iroots;
	struct maple_pairs pairs;
	struct maple_sites sites;
	uint64_t sections;
	bool compound; /* some idiom of more than one dependency is wanted */
	struct maple_ahead ahead;
	bool served; /* a connection has been accepted, */
	bool serves; /* ... and nobody has told the server to end since */
	bool finished;
	int error; /* while closing cells */
	struct maple_predict_thread *thread[MAPLE_THREADS];
};

int maple_predict_take(struct maple_predict *p, struct maple_event *event);
int maple_predict_drain(struct maple_predict *p);
void maple_predict_close(void *ctx, struct maple_cell *cell);

#endif
