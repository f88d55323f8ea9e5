/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Whose turn it is, of several that want runs: each has runs in proportion to
 * its weight and to the news that its last ones brought, and none is left out.
 */
#ifndef MAPLE_STRATEGY_SHARES_H
#define MAPLE_STRATEGY_SHARES_H

#include <stdbool.h>

struct maple_share {
	double weight;
	bool blind;	   /* draws: what its last runs brought says nothing */
	double runs, news; /* those further back count less */
	double at;	   /* when it has its next run, in the time of turns */
};

void maple_share_init(struct maple_share *share, double weight);

/* maple_shares_next - the one of @n whose turn it is; @n: nobody @wants one */
unsigned int maple_shares_next(const struct maple_share *share, unsigned int n,
			       const bool *wants);

/* maple_shares_begun - the @i-th of @n has a run, as all that want one know */
void maple_shares_begun(struct maple_share *share, unsigned int n,
			unsigned int i);

/*
 * maple_shares_ended - ... which brought @news, or did not
 * @cost: how long it took, over what runs take
 */
void maple_shares_ended(struct maple_share *share, bool news, double cost);

#endif
