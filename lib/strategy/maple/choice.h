/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_CHOICE_H
#define MAPLE_STRATEGY_CHOICE_H

#include "candidate.h"

/* How often a candidate is tried, and what comes first. */
struct maple_choice_limits {
	enum maple_order order;
	unsigned int attempts; /* with one input */
	unsigned int failures; /* over all inputs */
	bool serving; /* what a server does before it serves is left out */
};

struct maple_choice_limits
maple_choice_limits_of(const struct maple_campaign_options *options);
struct maple_candidate *
maple_choice_peek(const struct maple_candidates *all,
		  const struct maple_choice_limits *limits);
struct maple_candidate *
maple_choice_next(struct maple_candidates *all,
		  const struct maple_choice_limits *limits);
bool maple_choice_any(const struct maple_candidates *all,
		      const struct maple_choice_limits *limits);
bool maple_choice_waits(const struct maple_candidates *all,
			const struct maple_choice_limits *limits);
void maple_choice_looked(struct maple_candidate *c, bool missed);
struct maple_candidate *
maple_choice_again(const struct maple_candidates *all,
		   const struct maple_choice_limits *limits);
struct maple_candidate *
maple_choice_beside(const struct maple_candidates *all,
		    const struct maple_choice_limits *limits,
		    struct maple_candidate *const *chosen, unsigned int n);
bool maple_choice_allows(const struct maple_candidates *all,
			 struct maple_candidate *c,
			 const struct maple_choice_limits *limits);
void maple_choice_count(const struct maple_candidates *all,
			const struct maple_choice_limits *limits,
			struct maple_coverage *coverage);
uint64_t maple_choice_fresh(const struct maple_candidates *all,
			    const struct maple_choice_limits *limits);
uint64_t maple_choice_startup(const struct maple_candidates *all,
			      const struct maple_choice_limits *limits);
uint64_t maple_choice_resting(const struct maple_candidates *all,
			      const struct maple_choice_limits *limits);

#endif
