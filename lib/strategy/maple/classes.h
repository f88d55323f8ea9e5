/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_CLASSES_H
#define MAPLE_STRATEGY_CLASSES_H

#include <maple/iroot.h>
#include "../goal.h"

extern const char *const maple_classes[];

void maple_goal_of_iroot(const struct maple_iroot *iroot,
			 struct maple_goal *goal);
struct maple_class_count *maple_class_counts(struct maple_coverage *coverage,
					     unsigned int idiom);

#endif
