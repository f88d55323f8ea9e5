/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_CAMPAIGN_ODDS_H
#define MAPLE_CAMPAIGN_ODDS_H

#include <stdbool.h>
#include <maple/iroot.h>
#include "../predict/predict.h"

#define MAPLE_ODDS_KINDS 16 /* classes of an idiom */

/* How candidates of one kind fared so far, in this campaign. */
struct maple_odds {
	struct maple_odds_class {
		unsigned int tried, exposed;
	} class[MAPLE_IDIOMS][MAPLE_ODDS_KINDS];
};

void maple_odds_tried(struct maple_odds *odds, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts, bool first,
		      bool exposed);
bool maple_odds_poor(const struct maple_odds *odds,
		     const struct maple_iroot *iroot,
		     const struct maple_predict_facts *facts);

#endif
