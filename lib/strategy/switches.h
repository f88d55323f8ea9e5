/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_SWITCHES_H
#define MAPLE_STRATEGY_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include "../policy/policy.h"

/* A schedule with the names of its threads; both are owned. */
struct maple_switches {
	uint32_t n, nnames;
	struct maple_policy_switch *entry;
	struct maple_policy_name *name;
};

int maple_switches_copy(struct maple_switches *to,
			const struct maple_switches *from);
void maple_switches_deinit(struct maple_switches *s);
bool maple_switches_chose(const struct maple_policy_switch *entry);
void maple_switches_drop_last(struct maple_switches *s);
int maple_switches_shorten(struct maple_switches *s,
			   bool (*fails)(void *ctx,
					 const struct maple_switches *list),
			   bool (*may_go_on)(void *ctx), void *ctx);

#endif
