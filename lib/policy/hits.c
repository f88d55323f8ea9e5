// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How often each thread was at each site. It is what entries of a schedule are
 * known by, so it is counted from a thread's first instruction on, whoever else
 * is alive. Each thread has a table of its own, which nobody else looks into.
 */
#include "state.h"

static uint32_t find(const struct maple_policy_hits *hits, uint32_t site)
{
	uint32_t at = site * 0x9e3779b1u >> 7 & hits->mask;

	while (hits->slot[at].used && hits->slot[at].site != site)
		at = (at + 1) & hits->mask;
	return at;
}

/* Twice as large; false: there is no memory, all stays as it is. */
static bool grow(struct maple_policy *p, struct maple_policy_hits *hits)
{
	struct maple_policy_hits more = { .mask = hits->mask * 2 + 1 };

	more.slot = p->setup.ops->memory((more.mask + 1) * sizeof(*more.slot));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i <= hits->mask; i++)
		if (hits->slot[i].used)
			more.slot[find(&more, hits->slot[i].site)] =
				hits->slot[i];
	hits->slot = more.slot;
	hits->mask = more.mask;
	return true;
}

/* maple_policy_hit - what is known of @site; NULL: there is no memory for it */
struct maple_policy_hit *maple_policy_hit(struct maple_policy *p,
					  struct maple_policy_hits *hits,
					  uint32_t site)
{
	struct maple_policy_hit *hit;

	if (!hits->mask) {
		hits->slot = hits->first;
		hits->mask = 2 * MAPLE_POLICY_FIRST - 1;
	}
	hit = &hits->slot[find(hits, site)];
	if (hit->used)
		return hit;
	if (hits->n > hits->mask / 2) {
		if (!grow(p, hits))
			return NULL;
		hit = &hits->slot[find(hits, site)];
	}
	hits->n++;
	hit->used = true;
	hit->site = site;
	hit->entry = MAPLE_POLICY_NONE;
	return hit;
}
