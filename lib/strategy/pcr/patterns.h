/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The patterns of a program: which there are, what became of each, and the
 * orders that are to be run for them.
 */
#ifndef MAPLE_STRATEGY_PATTERNS_H
#define MAPLE_STRATEGY_PATTERNS_H

#include "../../order/order.h"
#include "../strategy.h"

extern const char *const maple_pattern_classes[];

struct maple_patterns_key;

/* An order to be run. */
struct maple_patterns_order {
	struct maple_patterns_key *key;
	struct maple_switches list;
	uint32_t number; /* in the order in which they were found */
};

struct maple_patterns {
	struct maple_patterns_key *keys;
	struct maple_patterns_order *order;
	uint32_t norders, room, found;
	/* Of all solving so far. */
	uint64_t asked, refuted, unknown;
	double seconds;
};

/* What a run brought. */
struct maple_patterns_news {
	bool covered, predicted; /* some pattern, for the first time */
};

/*
 * maple_patterns_learn - what the @n events of a controlled run say, whose
 * threads have @names
 * @aim: that it was run for; or NULL
 * @harmless: what it showed did no harm
 * @until: by maple_clock_now(): no more is solved then
 */
int maple_patterns_learn(struct maple_patterns *p, struct maple_study *study,
			 const struct maple_event *event, uint32_t n,
			 const struct maple_policy_name *names, uint32_t nnames,
			 struct maple_patterns_key *aim, bool harmless,
			 double until, struct maple_patterns_news *news,
			 struct maple_error *err);

/* maple_patterns_next - takes the best order out; false: there is none */
bool maple_patterns_next(struct maple_patterns *p,
			 struct maple_patterns_order *order);

/* maple_patterns_tried - a run for @key was made, and seen whole */
void maple_patterns_tried(struct maple_patterns_key *key);
struct maple_goal *maple_patterns_goal(struct maple_patterns_key *key);
struct maple_patterns_key *maple_patterns_key_of(struct maple_goal *goal);

void maple_patterns_count(const struct maple_patterns *p,
			  struct maple_coverage *coverage);
void maple_patterns_deinit(struct maple_patterns *p);

#endif
