// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * RW, the random walk: at each point each candidate is as likely as any other.
 * It finds what needs few choices in short runs, hands over at every other
 * point, and is so slow where there are many.
 */
#include "state.h"

static uint32_t pick(struct maple_policy *p, uint32_t t,
		     enum maple_policy_what what)
{
	return p->candidate[maple_policy_below(&p->random, p->ncandidates)];
}

const struct maple_policy_kind_ops maple_policy_walk = { .pick = pick };
