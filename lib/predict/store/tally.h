/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_PREDICT_TALLY_H
#define MAPLE_PREDICT_TALLY_H

#include <stdint.h>

struct maple_tally_item {
	uint64_t key[3];
	uint64_t count; /* 0 when made; the caller's */
};

/* Counts by key. Items stand in the order in which they were made. */
struct maple_tally {
	struct maple_tally_item *item;
	uint32_t n, room;
	uint64_t *slot; /* tag, index + 1 of an item; 2 * room of them */
};

struct maple_tally_item *maple_tally_find(const struct maple_tally *tally,
					  uint64_t a, uint64_t b, uint64_t c);
struct maple_tally_item *maple_tally_at(struct maple_tally *tally, uint64_t a,
					uint64_t b, uint64_t c);
void maple_tally_clear(struct maple_tally *tally);
void maple_tally_deinit(struct maple_tally *tally);

#endif
