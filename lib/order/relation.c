// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* How events stand to each other: bytes that they share, sections they are in. */
#include "model.h"

/* What is left of an event's touches, by word: one access may have many. */
struct walk {
	const struct maple_order_touch *at, *end;
};

static struct walk walk_over(const struct maple_order_model *m, uint32_t e)
{
	const struct maple_order_event *event = &m->event[e];
	const struct maple_order_touch *at = &m->touch[event->touch];

	return (struct walk){ at, at + event->ntouch };
}

/* To @word, or the next one behind it; false: there is none. */
static bool go_to(struct walk *w, uint32_t word)
{
	const struct maple_order_touch *end = w->end;

	while (w->at < end) {
		const struct maple_order_touch *half = w->at + (end - w->at) / 2;

		if (w->at->word >= word)
			break;
		if (half->word < word)
			w->at = half + 1;
		else
			end = half;
	}
	return w->at < w->end;
}

bool maple_order_meets(const struct maple_order_model *m, uint32_t e,
		       uint32_t a, uint32_t b)
{
	struct walk walk[] = { walk_over(m, e), walk_over(m, a),
			       walk_over(m, b) };
	uint32_t word = 0;

	for (;;) {
		unsigned int have = 0;
		uint8_t bytes = 0xff;

		for (int i = 0; i < 3; i++) {
			if (!go_to(&walk[i], word))
				return false;
			have = walk[i].at->word == word ? have + 1 : 1;
			word = walk[i].at->word;
			bytes &= walk[i].at->bytes;
		}
		if (have < 3)
			continue;
		if (bytes)
			return true;
		word++;
	}
}

bool maple_order_overlap(const struct maple_order_model *m, uint32_t a,
			 uint32_t b)
{
	return maple_order_meets(m, a, a, b);
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
