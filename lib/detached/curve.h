/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DETACHED_CURVE_H
#define MAPLE_DETACHED_CURVE_H

#include <stddef.h>
#include <maple/detached.h>

#define MAPLE_CURVE_POINTS 100 /* that are kept at most; even */

/* How what is known grew while a job ran. Zero is an empty one. */
struct maple_job_curve {
	unsigned int n;
	unsigned int apart; /* runs between two points, at least; but the last */
	struct maple_detached_point point[MAPLE_CURVE_POINTS];
};

void maple_curve_add(struct maple_job_curve *curve,
		     const struct maple_detached_point *point);
int maple_curve_write(int fd, const struct maple_job_curve *curve);
int maple_curve_read(int fd, struct maple_detached_point **points, size_t *n);

#endif
