/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Which sites race: races.c. */
#ifndef MAPLE_PREDICT_RACES_H
#define MAPLE_PREDICT_RACES_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>

struct maple_races;

/* maple_races_create - for one run; NULL: no memory */
struct maple_races *maple_races_create(void);
void maple_races_destroy(struct maple_races *races);

/* maple_races_event - the run's events, in order */
void maple_races_event(struct maple_races *races,
		       const struct maple_event *event);

/*
 * maple_races_has - whether an access of @site, and one of another thread to
 * the same memory, one of which writes, were left unordered by all
 * synchronisation of the run, locks as well; without memory: nobody knows, true
 */
bool maple_races_has(const struct maple_races *races, uint32_t site);

/*
 * maple_races_own - how far @thread's own clock is now; maple_races_passed -
 * whether @other, now, comes after what @thread did when its was @own. For whom
 * some event was told before
 */
uint32_t maple_races_own(const struct maple_races *races, uint16_t thread);
bool maple_races_passed(const struct maple_races *races, uint16_t thread,
			uint32_t own, uint16_t other);

#endif
