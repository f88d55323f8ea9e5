/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_STORY_H
#define MAPLE_CAMPAIGN_STORY_H

#include "internal.h"

/* variable.c */
char *maple_story_variable(struct maple_campaign *c,
			   const struct maple_trial *trial, uint64_t addr,
			   const struct maple_event *until);

#endif
