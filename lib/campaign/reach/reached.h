/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which sites were executed in any run of a campaign, to be kept for the map
 * of what tests do not reach (unreached.c).
 */
#ifndef MAPLE_CAMPAIGN_REACHED_H
#define MAPLE_CAMPAIGN_REACHED_H

#include <jansson.h>
#include <stdint.h>
#include <maple/event.h>

/* A bit for each number of a site. */
struct maple_reached {
	uint64_t *bits;
	uint32_t n; /* words */
};

struct maple_campaign;

void maple_reached_event(struct maple_reached *r,
			 const struct maple_event *event);
void maple_reached_join(struct maple_reached *all,
			const struct maple_reached *r);
void maple_reached_deinit(struct maple_reached *r);
void maple_reached_keep(struct maple_campaign *c);

/*
 * Offsets as text, ascending, each what it is further than the one before, in
 * hexadecimal: "11a0.6.2c". What is no such text has the offsets up to there.
 */
char *maple_reached_write(const uint32_t *offsets, uint32_t n, uint32_t most);
int maple_reached_read(const char *text, uint32_t **offsets, uint32_t *n);
int maple_reached_take(const json_t *all, const char *build_id,
		       uint32_t **offsets, uint32_t *n);
int maple_reached_compare(const void *a, const void *b);

#endif
