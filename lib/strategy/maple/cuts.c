// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What the caps of observer and predictor let go, added up over runs. */
#include <stddef.h>
#include "profile.h"

#define CUT(name)                                                       \
	{                                                               \
#name, offsetof(struct maple_predict_stats, cut_##name) \
	}

static const struct {
	const char *name;
	size_t at;
} cuts[MAPLE_CUTS] = {
	[MAPLE_CUT_LOCATIONS] = CUT(locations),
	[MAPLE_CUT_BYTES] = CUT(bytes),
	[MAPLE_CUT_SUMMARIES] = CUT(summaries),
	[MAPLE_CUT_SPANS] = CUT(spans),
	[MAPLE_CUT_SYNCS] = CUT(syncs),
	[MAPLE_CUT_IROOTS] = CUT(iroots),
	[MAPLE_CUT_GUARDS] = CUT(guards),
	[MAPLE_CUT_RECENT] = CUT(recent),
	[MAPLE_CUT_WALKS] = CUT(walks),
	[MAPLE_CUT_PAIRS] = CUT(pairs),
	[MAPLE_CUT_STRETCHES] = CUT(stretches),
	[MAPLE_CUT_EDGES] = CUT(edges),
	[MAPLE_CUT_CORRELATIONS] = CUT(correlations),
	[MAPLE_CUT_SEQUENCES] = CUT(sequences),
	[MAPLE_CUT_CAUSES] = CUT(causes),
};

const char *maple_cut_name(enum maple_cut cut)
{
	return cuts[cut].name;
}

/* maple_prediction_add - @p's run is over */
void maple_prediction_add(struct maple_prediction *prediction,
			  const struct maple_predict *p)
{
	struct maple_predict_stats stats;

	maple_predict_stats(p, &stats);
	prediction->events += stats.events;
	for (unsigned int i = 0; i < MAPLE_CUTS; i++)
		prediction->cut[i] +=
			*(const uint64_t *)((const char *)&stats + cuts[i].at);
}
