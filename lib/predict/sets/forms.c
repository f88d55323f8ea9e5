// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The four ways in which two units get into each other, and with which kinds
 * of accesses no serial order has that: the rows of algorithms.md 17.
 */
#include "state.h"

static const struct maple_set_form forms[] = {
	{ 3, { 0, 1, 2 }, 2, 0 },
	{ 4, { 0, 1, 2, 3 }, 6, 12 },
	{ 4, { 0, 2, 1, 3 }, 6, 12 },
	{ 4, { 0, 2, 3, 1 }, 6, 12 },
};

enum { R = MAPLE_EV_READ, W = MAPLE_EV_WRITE };

const struct maple_set_row maple_set_rows[MAPLE_SET_ROWS] = {
	{ MAPLE_SET_1, { R, W, W }, 1 },    /* a stale update */
	{ MAPLE_SET_1, { R, W, R }, 2 },    /* two values of one */
	{ MAPLE_SET_1, { W, R, W }, 3 },    /* an intermediate state */
	{ MAPLE_SET_1, { W, W, R }, 4 },    /* not one's own value */
	{ MAPLE_SET_1, { W, W, W }, 5 },    /* a write that is lost */
	{ MAPLE_SET_2, { W, W, W, W }, 6 }, /* an inconsistent state is left */
	{ MAPLE_SET_3, { W, W, W, W }, 6 },
	{ MAPLE_SET_4, { W, W, W, W }, 7 }, /* ... as well */
	{ MAPLE_SET_2, { W, R, R, W }, 8 }, /* ... or is seen */
	{ MAPLE_SET_3, { W, R, R, W }, 8 },
	{ MAPLE_SET_2, { R, W, W, R }, 9 },
	{ MAPLE_SET_3, { R, W, W, R }, 9 },
	{ MAPLE_SET_4, { R, W, W, R }, 10 }, /* R, W, R, W as executed */
	{ MAPLE_SET_4, { W, R, R, W }, 11 }, /* W, R, W, R as executed */
	{ MAPLE_SET_4, { R, W, R, W }, 12 }, /* R, R, W, W: write skew */
};

/* maple_set_form - of @idiom; NULL: it is of no set */
const struct maple_set_form *maple_set_form(uint32_t idiom)
{
	return idiom >= MAPLE_SET_1 && idiom <= MAPLE_SET_4
		       ? &forms[idiom - MAPLE_SET_1]
		       : NULL;
}

/* maple_sets_plain - see sets.h */
uint32_t maple_sets_plain(uint32_t idiom)
{
	switch (idiom) {
	case MAPLE_SET_1:
		return MAPLE_IDIOM_2;
	case MAPLE_SET_2:
		return MAPLE_IDIOM_4;
	default:
		return MAPLE_IDIOM_5;
	}
}
