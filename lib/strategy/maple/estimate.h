/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_ESTIMATE_H
#define MAPLE_STRATEGY_ESTIMATE_H

#include <stdbool.h>
#include "candidate.h"

/* What a candidate is looked for to be: */
enum maple_estimate_for {
	MAPLE_ESTIMATE_TRY,    /* a run's first */
	MAPLE_ESTIMATE_BESIDE, /* one that comes along */
	MAPLE_ESTIMATE_AGAIN,  /* one that was exposed, forced once more */
};

/* What a candidate promises, the first difference decides; estimate.c. */
struct maple_estimate {
	bool rests;
	unsigned int rides;
	bool behind;
	unsigned int turns;
	int score;
	unsigned int order;
};

struct maple_estimate maple_estimate_of(const struct maple_candidates *all,
					const struct maple_candidate *c,
					enum maple_estimate_for purpose,
					enum maple_order order);
bool maple_estimate_before(const struct maple_estimate *a,
			   const struct maple_estimate *b);
bool maple_estimate_rests(const struct maple_candidates *all,
			  const struct maple_candidate *c,
			  enum maple_order order);
bool maple_estimate_variant(const struct maple_candidate *c, uint32_t which,
			    const struct maple_candidate *fresh);
unsigned int maple_estimate_turn(const struct maple_candidates *all,
				 struct maple_candidate *const *best,
				 enum maple_order order);
void maple_estimate_score(const struct maple_candidates *all,
			  struct maple_candidate *c,
			  const struct maple_registry *reg, uint32_t main_image);
void maple_estimate_tried(struct maple_candidates *all,
			  const struct maple_candidate *c, bool first,
			  bool exposed);

#endif
