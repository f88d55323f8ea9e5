/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_EARLY_H
#define MAPLE_CAMPAIGN_EARLY_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>
#include <maple/event.h>

/* What @thread has of a lock, as far as it was seen. */
struct maple_early_lock {
	struct {
		uint64_t lock;
		uint64_t thread;
	} key;
	int32_t depth;	/* below 0: it held it before */
	uint32_t early; /* ... and so often */
	uint8_t flags;	/* of its UNLOCK */
	UT_hash_handle hh;
};

/* The events of a stretch, kept until its end. */
struct maple_early {
	uint32_t n, size;
	struct maple_event *event;
	struct maple_early_lock *locks;
	bool full; /* what comes is handed on at once */
	/* Who is told. */
	void (*tell)(void *ctx, const struct maple_event *event);
	void *ctx;
};

void maple_early_event(struct maple_early *early,
		       const struct maple_event *event);
void maple_early_tell(struct maple_early *early);
void maple_early_deinit(struct maple_early *early);

#endif
