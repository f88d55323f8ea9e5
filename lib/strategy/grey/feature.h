/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What is counted of a run: its immediate dependencies, with what was read. */
#ifndef MAPLE_STRATEGY_FEATURE_H
#define MAPLE_STRATEGY_FEATURE_H

#include "../../order/order.h"
#include "../strategy.h"

#define MAPLE_FEATURE_SMALL   16	/* values that are told apart */
#define MAPLE_FEATURE_LARGE   (1 << 16) /* any other one */
#define MAPLE_FEATURE_NOTHING (2 << 16) /* it only writes, or nobody looked */

/* Site @b depends on @a, at a location, and read a value there. */
struct maple_feature {
	uint64_t location; /* of b, by name, hashed */
	uint32_t a, b;
	int32_t value;
	uint32_t pad;
};

/* Gets each, with the event of the model that depends; false: no more. */
typedef bool (*maple_feature_sink)(void *ctx,
				   const struct maple_feature *feature,
				   uint32_t event);

/*
 * maple_features - tells @sink all features of a run, each as often as it was
 * there; -ENOMEM, or 0
 */
int maple_features(const struct maple_run *run, const struct maple_event *event,
		   const struct maple_order_model *model,
		   maple_feature_sink sink, void *ctx);

#endif
