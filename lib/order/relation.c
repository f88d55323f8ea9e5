// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How events stand to each other: bytes that they share, sections they are in. */
#include "model.h"

/* Of @bytes of a word those that @e touches. */
static uint8_t touched(const struct maple_order_model *m, uint32_t e,
		       uint32_t word, uint8_t bytes)
{
	const struct maple_order_event *event = &m->event[e];
	uint8_t of_it = 0;

	for (uint32_t i = 0; i < event->ntouch; i++)
		if (m->touch[event->touch + i].word == word)
			of_it |= m->touch[event->touch + i].bytes;
	return bytes & of_it;
}

bool maple_order_overlap(const struct maple_order_model *m, uint32_t a,
			 uint32_t b)
{
	return maple_order_meets(m, a, a, b);
}

bool maple_order_meets(const struct maple_order_model *m, uint32_t e,
		       uint32_t a, uint32_t b)
{
	const struct maple_order_event *event = &m->event[e];

	for (uint32_t i = 0; i < event->ntouch; i++) {
		const struct maple_order_touch *t = &m->touch[event->touch + i];
		uint8_t bytes = touched(m, a, t->word, t->bytes);

		if (bytes && touched(m, b, t->word, bytes))
			return true;
	}
	return false;
}

uint32_t maple_order_section(const struct maple_order_model *m, uint32_t e,
			     uint32_t after)
{
	const struct maple_order_event *event = &m->event[e];
	uint32_t lock;

	if (after == MAPLE_ORDER_NONE)
		lock = event->kind == MAPLE_EV_LOCK ? e : event->held;
	else
		lock = m->event[after].held;
	while (lock != MAPLE_ORDER_NONE &&
	       m->event[lock].mate != MAPLE_ORDER_NONE &&
	       m->event[lock].mate < e)
		lock = m->event[lock].held;
	return lock;
}
