/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_CONDS_H
#define MAPLE_PREDICT_CONDS_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include "clock.h"
#include "predict/iroots.h"
#include "lockset.h"
#include "predict/cells/location.h"
#include "predict/predict.h"

struct maple_cond;

/* Signals and waits as events of iRoots, by condition. */
struct maple_conds {
	struct maple_cond *table;
	struct maple_clocks *clocks;
	struct maple_iroots *iroots;
	struct maple_predict_stats *stats;
	bool predicts, observes;
};

int maple_conds_event(struct maple_conds *conds, const struct maple_event *event,
		      struct maple_locks *locks, uint64_t released);
void maple_conds_deinit(struct maple_conds *conds);

#endif
