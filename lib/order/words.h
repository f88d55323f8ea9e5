/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a run did to memory, word by word. */
#ifndef MAPLE_ORDER_WORDS_H
#define MAPLE_ORDER_WORDS_H

#include "order.h"

#define MAPLE_ORDER_BYTES 8 /* of a word */

/* In place of a thread. */
#define MAPLE_ORDER_SEVERAL 0xfffffffeu

struct maple_order_seen {
	uint32_t thread; /* who touched it: one, or SEVERAL */
	uint32_t ended; /* the event that ended what lay there before; or NONE */
	bool written, unsure;
};

struct maple_order_touched {
	uint32_t event; /* of the run */
	uint32_t word;
	uint8_t bytes;
};

struct maple_order_reading {
	const struct maple_event *event; /* the run, */
	uint32_t n;			 /* ... as much of it as was read */
	struct maple_order_at *table;
	struct maple_order_seen *word;
	uint32_t nwords, word_room;
	struct maple_order_touched *touch; /* in the order of the run */
	uint32_t ntouch, touch_room;
	uint32_t nthreads;
	bool cut;
};

/* maple_order_read - fills in @r, of which event and n are set. -ENOMEM, or 0 */
int maple_order_read(struct maple_order_reading *r);
void maple_order_reading_deinit(struct maple_order_reading *r);

static inline bool maple_order_is_shared(const struct maple_order_seen *w)
{
	return w->thread == MAPLE_ORDER_SEVERAL && w->written;
}

#endif
