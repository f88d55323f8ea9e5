/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_PAST_H
#define MAPLE_CAMPAIGN_PAST_H

#include "campaign/internal.h"

char *maple_past_tell(struct maple_campaign *c, struct maple_trial *trial,
		      uint16_t self);
bool maple_past_wanted(const struct maple_finding *f);
void maple_past_watch(struct maple_campaign *c, const struct maple_finding *f,
		      struct maple_plan *plan);

#endif
