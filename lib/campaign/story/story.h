/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_STORY_H
#define MAPLE_CAMPAIGN_STORY_H

#include "image/source/variable.h"
#include "campaign/internal.h"

/* story.c */
const struct maple_frame *maple_story_top(const struct maple_campaign *c,
					  const struct maple_stack *stack);
const char *maple_story_place(const struct maple_place *place, char *buf,
			      size_t size);

char *maple_story_print(struct maple_campaign *c, uint32_t site, uint32_t kind);
void maple_story_again(struct maple_campaign *c, struct maple_finding *f,
		       const struct maple_trial *trial);

/* interleaving.c */
extern const char maple_story_letter[]; /* by kind of event: 'R' ... 'C' */
uint64_t maple_story_address(const struct maple_campaign *c,
			     const struct maple_run *run, uint32_t site);
void maple_story_order(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial);
char *maple_story_callers(const struct maple_campaign *c, uint32_t context);

/* What a moment is told from. */
struct maple_making {
	uint32_t site;
	uint8_t kind; /* of an event of an iRoot */
	bool half, frees;
	enum maple_reach reach;
	unsigned int role;
	const char *thread;
	/* Its event, or NULL; until when, if that is not of the log, or NULL. */
	const struct maple_event *e, *until;
	uint64_t was; /* what stood there before, where e is VALUED */
};

void maple_story_moment(struct maple_campaign *c, struct maple_trial *trial,
			const struct maple_making *making,
			struct maple_moment *moment);
void maple_story_share_names(struct maple_moment *moments, unsigned int n,
			     const struct maple_plan *plan);

/* crossing.c */
void maple_story_switches(struct maple_campaign *c, struct maple_finding *f,
			  struct maple_trial *trial);
char *maple_story_switch(struct maple_campaign *c,
			 const struct maple_switches *list, uint32_t at);

/* meeting.c */
void maple_story_meeting(struct maple_campaign *c, struct maple_finding *f,
			 const struct maple_trial *trial);

/* waits.c */
bool maple_story_waiting(const struct maple_stack *stack);
void maple_story_waits(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial);

/* variable.c */

/* What is asked: of an address, of an instruction, or of both. */
struct maple_asked {
	uint64_t addr; /* 0: not known */
	uint32_t size;
	uint32_t site;			 /* MAPLE_SITE_NONE: not known */
	const struct maple_event *until; /* of the log: when */
};

struct maple_naming {
	char *name;   /* NULL: nothing is known */
	char *origin; /* ... besides: where its memory came from; or NULL */
	bool typed;   /* variable is set */
	struct maple_variable variable;
};

void maple_story_name(struct maple_campaign *c, struct maple_trial *trial,
		      const struct maple_asked *asked, struct maple_naming *n);
void maple_naming_deinit(struct maple_naming *n);
char *maple_story_variable(struct maple_campaign *c, struct maple_trial *trial,
			   uint64_t addr, const struct maple_event *until);

#endif
