/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_HOLDING_H
#define MAPLE_CAMPAIGN_HOLDING_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>

struct maple_held {
	uint64_t lock;
	uint32_t site; /* the call that acquired it */
	uint16_t thread;
	uint32_t depth; /* acquired so often: a recursive mutex counts as far */
};

/* In a wait of which the events tell: of WAIT or BARRIER_IN. */
struct maple_resting {
	uint64_t addr;
	uint8_t kind; /* 0: none */
};

struct maple_holding {
	struct maple_held *held;
	uint32_t n, size;
	struct maple_resting resting[MAPLE_THREADS];
};

void maple_holding_event(struct maple_holding *h, const struct maple_event *e);
const struct maple_held *maple_holding_find(const struct maple_holding *h,
					    uint64_t futex, uint16_t but);
void maple_holding_deinit(struct maple_holding *h);

#endif
