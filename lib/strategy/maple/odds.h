/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_STRATEGY_ODDS_H
#define MAPLE_STRATEGY_ODDS_H

#include <stdbool.h>
#include <maple/iroot.h>
#include "../../predict/predict.h"

#define MAPLE_ODDS_CLASSES 24 /* of each idiom */

struct maple_odds_site;

/* Candidates tried, and of these exposed. */
struct maple_odds_count {
	unsigned int tried, exposed;
};

/* How candidates fared so far, in this campaign. */
struct maple_odds {
	struct maple_odds_count class[MAPLE_IDIOMS][MAPLE_ODDS_CLASSES];
	struct maple_odds_site *sites;
};

void maple_odds_tried(struct maple_odds *odds, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts, bool first,
		      bool exposed);
bool maple_odds_poor(const struct maple_odds *odds,
		     const struct maple_iroot *iroot,
		     const struct maple_predict_facts *facts);
void maple_odds_deinit(struct maple_odds *odds);

#endif
