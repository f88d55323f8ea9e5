// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A location goes by its name (strategy/naming.c). Of small values each is a
 * feature of its own: they are states, counts, and ends of lists.
 */
#include <errno.h>
#include <string.h>
#include "../naming.h"
#include "feature.h"

static int32_t value_of(const struct maple_event *e)
{
	unsigned int unused = 64 - 8 * e->size;
	int64_t value;

	if (!maple_event_is_memory(e->kind) || e->kind == MAPLE_EV_WRITE ||
	    !(e->flags & MAPLE_EVF_VALUED) || !e->size || e->size > 8)
		return MAPLE_FEATURE_NOTHING;
	value = (int64_t)(e->value << unused) >> unused;
	return value < -MAPLE_FEATURE_SMALL || value > MAPLE_FEATURE_SMALL
		       ? MAPLE_FEATURE_LARGE
		       : (int32_t)value;
}

int maple_features(const struct maple_run *run, const struct maple_event *event,
		   const struct maple_order_model *model,
		   maple_feature_sink sink, void *ctx)
{
	struct maple_locations *n = maple_locations_create(run, event);
	struct maple_order_dependencies d;
	int e = maple_order_depend(model, &d);

	if (!n && !e)
		e = -ENOMEM;
	for (uint32_t i = 0; i < d.n && !e; i++) {
		uint32_t to = d.on[i].to;
		struct maple_order_origin a =
			maple_order_origin(model, d.on[i].from);
		struct maple_order_origin b = maple_order_origin(model, to);
		const struct maple_event *at = &event[b.event];
		struct maple_feature feature;

		e = maple_locations_go_on(n, b.event);
		if (e)
			break;
		memset(&feature, 0, sizeof(feature));
		feature.location = maple_locations_of(n, at->addr);
		feature.a = event[a.event].site;
		feature.b = at->site;
		feature.value = value_of(at);
		if (!sink(ctx, &feature, to))
			break;
	}
	maple_locations_destroy(n);
	maple_order_depend_deinit(&d);
	return e;
}
