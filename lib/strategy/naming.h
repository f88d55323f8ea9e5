/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the locations of a run are called, so that other runs know them. */
#ifndef MAPLE_STRATEGY_NAMING_H
#define MAPLE_STRATEGY_NAMING_H

#include "strategy.h"

struct maple_locations;

/* maple_locations_create - of @run, whose events are @event; NULL: no memory */
struct maple_locations *maple_locations_create(const struct maple_run *run,
					       const struct maple_event *event);

/* maple_locations_go_on - up to before event @upto, forwards; -ENOMEM, or 0 */
int maple_locations_go_on(struct maple_locations *n, uint32_t upto);

/* maple_locations_of - the name of what is at @addr then, hashed */
uint64_t maple_locations_of(const struct maple_locations *n, uint64_t addr);

void maple_locations_destroy(struct maple_locations *n);

#endif
