// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Stride scheduling: a run costs its share a stride of time, which is shorter
 * the more the share is worth; whose time comes first is next. A share that
 * wants no run for a while has nothing to catch up on.
 */
#include <assert.h>
#include "shares.h"

#define FLOOR	0.1  /* of its weight, that a share is worth without news */
#define DEAREST 100  /* times what a run takes, that is made up for */
#define FADING	0.95 /* of what runs count, after each further one */

static double worth(const struct maple_share *s)
{
	/* Unknown ones are expected to bring news. */
	double rate = (s->news + 1) / (s->runs + 1);

	assert(s->news <= s->runs);
	return s->blind ? s->weight : s->weight * (FLOOR + (1 - FLOOR) * rate);
}

void maple_share_init(struct maple_share *share, double weight)
{
	assert(weight > 0);
	*share = (struct maple_share){ .weight = weight, .at = 1 / weight };
}

unsigned int maple_shares_next(const struct maple_share *share, unsigned int n,
			       const bool *wants)
{
	unsigned int best = n;

	for (unsigned int i = 0; i < n; i++)
		if (wants[i] && (best == n || share[i].at < share[best].at))
			best = i;
	return best;
}

void maple_shares_begun(struct maple_share *share, unsigned int n,
			unsigned int i)
{
	double now = share[i].at;

	for (unsigned int k = 0; k < n; k++)
		if (share[k].at < now)
			share[k].at = now;
	share[i].at += 1 / worth(&share[i]);
}

void maple_shares_ended(struct maple_share *share, bool news, double cost)
{
	share->at += (cost < DEAREST ? cost - 1 : DEAREST - 1) / worth(share);
	share->runs = share->runs * FADING + 1;
	share->news = share->news * FADING + news;
}
