/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the locations of a run are called, so that other runs know them. */
#ifndef MAPLE_STRATEGY_NAMING_H
#define MAPLE_STRATEGY_NAMING_H

#include "strategy.h"

struct maple_names;

/* maple_names_create - of @run, whose events are @event; NULL: no memory */
struct maple_names *maple_names_create(const struct maple_run *run,
				       const struct maple_event *event);

/* maple_names_go_on - up to before event @upto, forwards; -ENOMEM, or 0 */
int maple_names_go_on(struct maple_names *n, uint32_t upto);

/* maple_names_of - the name of what is at @addr then, hashed */
uint64_t maple_names_of(const struct maple_names *n, uint64_t addr);

void maple_names_destroy(struct maple_names *n);

#endif
