// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites are worth observing, and standing at. A site that was executed in
 * several profile runs and never met memory that another thread touched is left
 * alone in most of the later ones, and looked at again now and then, because
 * another schedule may lead it to shared memory. (Enforced runs observe nothing
 * but the sites of their plan.) The original Maple learns the same over its
 * runs; unlike there, nothing is lost before a location becomes shared.
 *
 * In controlled runs such a site is a point each time. There one that is
 * executed often is left alone after the first profile run, and nearly always:
 * profile runs tell if that was wrong. So is one on shared memory, executed
 * often in several runs, that raced in none: whoever stood there would decide
 * nothing that who stands at a lock does not.
 *
 * On: what the predictor saw in each profile run. Not for: what is shared by
 * the kernel or by another process.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile.h"

#define LONE_RUNS   2	 /* runs of it before a site is left alone */
#define SAMPLED_ONE 4	 /* one run in so many looks at it all the same */
#define OFTEN	    30	 /* times in a run */
#define OFTEN_ONE   32	 /* the same of controlled runs, for what is OFTEN, */
#define BUSY_ONE    1024 /* ... or used up its budget */

/* One byte a site: runs in which it was executed, since it is SHARED, and how. */
#define RUNS   15
#define HOT    16 /* OFTEN in one of them */
#define SHARED 32 /* another thread was seen at its memory, */
#define RACED  64 /* ... unordered with it */
#define BUSY   128

static uint8_t *state_of(struct maple_sharing *s, uint32_t site)
{
	uint32_t n = site + site / 2 + 1024;

	if (site < s->n)
		return &s->state[site];
	if (!maple_array_extend(s->state, s->n, n))
		return NULL;
	s->n = n;
	return &s->state[site];
}

/*
 * maple_sharing_learn - what the run that just ended says
 * @races: NULL: not all of it was seen
 */
void maple_sharing_learn(struct maple_sharing *s,
			 const struct maple_sample *sample,
			 const struct maple_predict *predict,
			 const struct maple_races *races)
{
	const struct maple_hits *hits = &sample->hits[0];
	uint8_t *state;
	uint32_t i;

	for (i = 0; i < hits->n; i++) {
		if (!hits->count[i])
			continue;
		state = state_of(s, i);
		if (!state)
			return;
		if (!(*state & SHARED) && maple_predict_shared(predict, i))
			*state = SHARED | (*state & (HOT | BUSY));
		if ((*state & RUNS) < LONE_RUNS && (races || !(*state & SHARED)))
			++*state;
		if (hits->count[i] >= OFTEN)
			*state |= HOT;
		if (hits->count[i] & MAPLE_HITS_MORE)
			*state |= BUSY;
		if (races && maple_races_has(races, i))
			*state |= RACED;
	}
}

/* maple_sharing_is_shared - whether some profile run saw @site on shared memory */
bool maple_sharing_is_shared(const struct maple_sharing *s, uint32_t site)
{
	return site < s->n && s->state[site] & SHARED;
}

static bool is_left(uint8_t state, uint64_t drawn, bool controlled,
		    enum maple_leaves leaves)
{
	bool known = (state & RUNS) == LONE_RUNS;

	if (controlled && leaves == MAPLE_LEAVES_NONE)
		return false;
	if (state & SHARED &&
	    (!controlled || state & RACED || !known ||
	     (leaves != MAPLE_LEAVES_ORDERED && !(state & BUSY))))
		return false;
	if (controlled && state & HOT)
		return drawn % (state & BUSY ? BUSY_ONE : OFTEN_ONE);
	if (state & SHARED || (controlled && leaves == MAPLE_LEAVES_OFTEN))
		return false;
	return known && drawn % SAMPLED_ONE;
}

/*
 * maple_sharing_choose - which sites the run with @seed leaves alone: a profile
 *                        run, or one that is @controlled, of which only some
 *                        sites are left alone
 *
 * Returns bytes by site number, to be freed; @n: how many, 0 for want of
 * memory.
 */
uint8_t *maple_sharing_choose(struct maple_sharing *s,
			      const struct maple_study *study, uint64_t seed,
			      bool controlled, enum maple_leaves leaves,
			      uint32_t *n)
{
	uint8_t *alone = malloc(s->n + 1);
	uint32_t i;

	s->left = 0;
	*n = alone ? s->n : 0;
	for (i = 0; i < *n; i++) {
		alone[i] = is_left(s->state[i], study->random(study, seed ^ i),
				   controlled, leaves);
		s->left += alone[i];
	}
	return alone;
}

/* maple_sharing_deinit - forgets all of it */
void maple_sharing_deinit(struct maple_sharing *s)
{
	free(s->state);
	memset(s, 0, sizeof(*s));
}
