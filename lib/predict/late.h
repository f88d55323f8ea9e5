/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The caller's limit in time: what is left when it is reached is cut. */
#ifndef MAPLE_PREDICT_LATE_H
#define MAPLE_PREDICT_LATE_H

#include <stdbool.h>

#define MAPLE_LATE_EVERY 16 /* asks only so often, for the clock's price */

struct maple_late {
	bool (*over)(void *ctx); /* or NULL: there is no limit */
	void *ctx;
	unsigned int asked;
	bool is;
};

static inline bool maple_late_is(struct maple_late *late)
{
	if (late->over && !late->is && late->asked++ % MAPLE_LATE_EVERY == 0)
		late->is = late->over(late->ctx);
	return late->is;
}

#endif
