/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_CAUSES_H
#define MAPLE_PREDICT_CAUSES_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include "lockset.h"
#include "predict/predict.h"

struct maple_cause_thread;
struct maple_dependency;
struct maple_cause_write;
struct maple_hands;

/* What one thread can know of the others, by their event clocks. */
struct maple_causes {
	struct maple_cause_thread *thread[MAPLE_THREADS];
	struct maple_cause_write *writes; /* a cache; NULL: none yet */
	struct maple_predict_stats *stats;
};

/* An access, or many of one thread: from first to last, by its clock. */
struct maple_cause_span {
	uint32_t thread, first, last;
};

int maple_causes_access(struct maple_causes *causes,
			const struct maple_event *event,
			const struct maple_locks *locks);
void maple_causes_release(struct maple_causes *causes,
			  const struct maple_event *event);
int maple_causes_sync(struct maple_causes *causes,
		      const struct maple_event *event);
uint32_t maple_causes_upto(const struct maple_causes *causes, uint32_t thread,
			   uint32_t clock, uint32_t other, bool exclusive);
bool maple_causes_before(const struct maple_causes *causes,
			 const struct maple_cause_span *early,
			 const struct maple_cause_span *late, bool exclusive);
enum maple_against maple_causes_against(const struct maple_causes *causes,
					const struct maple_dependency *d);
void maple_causes_owner(const struct maple_causes *causes,
			struct maple_hands *hands,
			const struct maple_event *event);
bool maple_hands_round(const struct maple_hands *hands);
void maple_causes_deinit(struct maple_causes *causes);

#endif
