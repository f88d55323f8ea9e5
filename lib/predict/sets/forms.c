// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The four ways in which two units get into each other. */
#include "state.h"

static const struct maple_set_form forms[] = {
	{ 3, { 0, 1, 2 }, 2, 0 },
	{ 4, { 0, 1, 2, 3 }, 6, 12 },
	{ 4, { 0, 2, 1, 3 }, 6, 12 },
	{ 4, { 0, 2, 3, 1 }, 6, 12 },
};

/* maple_set_form - of @idiom; NULL: it is of no set */
const struct maple_set_form *maple_set_form(uint32_t idiom)
{
	return idiom >= MAPLE_SET_1 && idiom <= MAPLE_SET_4
		       ? &forms[idiom - MAPLE_SET_1]
		       : NULL;
}
