// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SEEK: a random walk that looks for one pattern of accesses. Who stands before
 * a step that is not due is held as long as anybody else may go on; else all
 * are as likely as each other. Who did the first step is the one thread, and
 * any other may be the other. Whether the program comes to the steps, whether
 * locks allow this order, and what comes in between is chance.
 */
#include "state.h"

static uint32_t site_of(const struct maple_policy *p, uint32_t step)
{
	return p->setup.order->change[step] >> 1;
}

/* Whether @t may do the step that is next. */
static bool is_its(const struct maple_policy *p, uint32_t t)
{
	bool other = p->setup.order->change[p->change] & 1;

	return !p->change || (t != p->intended) == other;
}

static bool is_held(const struct maple_policy *p, uint32_t t)
{
	uint32_t site = p->thread[t].op.site, n = p->setup.order->nchanges;

	if (p->change < n && site_of(p, p->change) == site)
		return !is_its(p, t);
	for (uint32_t i = p->change; i < n; i++)
		if (site_of(p, i) == site)
			return true;
	return false;
}

static uint32_t pick(struct maple_policy *p, uint32_t t,
		     enum maple_policy_what what)
{
	uint32_t n = 0, all = p->ncandidates;

	for (uint32_t i = 0; i < all; i++)
		if (!is_held(p, p->candidate[i]))
			p->candidate[n++] = p->candidate[i];
	/* Nobody was moved if all are held. */
	return p->candidate[maple_policy_below(&p->random, n ? n : all)];
}

static void execute(struct maple_policy *p, uint32_t t)
{
	if (p->change >= p->setup.order->nchanges ||
	    site_of(p, p->change) != p->thread[t].op.site || !is_its(p, t))
		return;
	if (!p->change)
		p->intended = t;
	p->change++;
}

const struct maple_policy_kind_ops maple_policy_seek = {
	.pick = pick,
	.execute = execute,
};
