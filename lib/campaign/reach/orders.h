/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which of two sites of the program runs have had first, the other one right
 * after it: what the memo's goals that were exposed, and its findings, say of
 * the map (unreached.c).
 */
#ifndef MAPLE_CAMPAIGN_ORDERS_H
#define MAPLE_CAMPAIGN_ORDERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum maple_orders_way {
	MAPLE_ORDERS_FORWARD = 1,
	MAPLE_ORDERS_BACKWARD = 2,
	MAPLE_ORDERS_BOTH = 3,
};

/* Of two offsets the first came first. */
struct maple_ordered {
	uint32_t first, second;
};

struct maple_orders {
	struct maple_ordered *at;
	size_t n, room;
	uint32_t *executed; /* offsets of all sites that were in an order */
	size_t nexecuted, executed_room;
};

/* maple_orders_take - @told: as of maple_memo_reached(). 0, or -ENOMEM */
int maple_orders_take(struct maple_orders *orders, const json_t *told);

/* maple_orders_sort - once all is taken, before it is asked for */
void maple_orders_sort(struct maple_orders *orders);

/*
 * maple_orders_seen - bits of enum maple_orders_way: FORWARD is @a before @b.
 * A site before itself, in another thread, is in both orders at once.
 */
unsigned int maple_orders_seen(const struct maple_orders *orders, uint32_t a,
			       uint32_t b);

void maple_orders_deinit(struct maple_orders *orders);

#endif
