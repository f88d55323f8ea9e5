/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What maple.ko has to know of the target's files to enforce a plan. */
#ifndef MAPLE_BACKEND_KERNEL_PLACING_H
#define MAPLE_BACKEND_KERNEL_PLACING_H

#include "control.h"
#include "backend/kernel/images.h"

struct maple_placing {
	const struct maple_kernel_images *images; /* put() has them */
	struct maple_probe_maker **maker;	  /* by index; ours to fill */
	uint32_t nmakers;

	/* Out. */
	uint64_t probes;
	uint64_t unreached; /* sites of the plan that have no probe */
};

int maple_placing_put(struct maple_placing *p,
		      const struct maple_kernel_images *images,
		      const struct maple_plan *plan,
		      struct maple_control *control, struct maple_error *err);
void maple_placing_deinit(struct maple_placing *p);

#endif
