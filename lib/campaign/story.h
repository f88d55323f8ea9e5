/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_STORY_H
#define MAPLE_CAMPAIGN_STORY_H

#include "internal.h"

/* story.c */
const struct maple_frame *maple_story_top(const struct maple_campaign *c,
					  const struct maple_stack *stack);

/* interleaving.c */
extern const char maple_story_letter[]; /* by kind of event: 'R' ... 'C' */
uint64_t maple_story_address(const struct maple_campaign *c,
			     const struct maple_run *run, uint32_t site);
void maple_story_order(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial);

/* waits.c */
void maple_story_waits(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial);

/* variable.c */
char *maple_story_variable(struct maple_campaign *c, struct maple_trial *trial,
			   uint64_t addr, const struct maple_event *until);

#endif
