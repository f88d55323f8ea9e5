/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_BELONGS_H
#define MAPLE_CAMPAIGN_BELONGS_H

#include <stdbool.h>
#include <stddef.h>
#include "predict/sets/witness.h"

struct maple_campaign;
struct maple_run;

/* What is known of the sites that runs have executed; by ascending site. */
struct maple_belongs {
	struct maple_belonging *at;
	size_t n, room;
	bool checked; /* that the program has what was declared */
};

int maple_belongs_check(struct maple_campaign *c, const struct maple_run *run);
void maple_belongs_learn(struct maple_campaign *c,
			 const struct maple_witness *witness);
void maple_belongs_deinit(struct maple_belongs *belongs);

#endif
