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

/* One byte each: runs in which it was executed, since it is SHARED, and how. */
#define RUNS   15
#define HOT    16 /* OFTEN in one of them */
#define SHARED 32 /* another thread was seen at its memory, */
#define RACED  64 /* ... unordered with it */
#define BUSY   128

static uint8_t *state_of(struct maple_known *k, uint32_t number)
{
	uint32_t n = number + number / 2 + 1024;

	if (number < k->n)
		return &k->state[number];
	if (!maple_array_extend(k->state, k->n, n))
		return NULL;
	k->n = n;
	return &k->state[number];
}

/* @count: its hits */
static void learn(uint8_t *state, uint32_t site, uint32_t count,
		  const struct maple_predict *predict,
		  const struct maple_races *races)
{
	if (!(*state & SHARED) && maple_predict_shared(predict, site))
		*state = SHARED | (*state & (HOT | BUSY));
	if ((*state & RUNS) < LONE_RUNS && (races || !(*state & SHARED)))
		++*state;
	if (count >= OFTEN)
		*state |= HOT;
	if (count & MAPLE_HITS_MORE)
		*state |= BUSY;
	if (races && maple_races_has(races, site))
		*state |= RACED;
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
	for (int call = 0; call < 2; call++) {
		const struct maple_hits *hits = &sample->hits[call];

		for (uint32_t i = 0; i < hits->n; i++) {
			uint8_t *state = hits->count[i]
						 ? state_of(&s->known[call], i)
						 : NULL;

			if (state)
				learn(state, call ? i | MAPLE_SITE_CALL : i,
				      hits->count[i], predict, races);
		}
	}
}

static bool has(const struct maple_sharing *s, uint32_t site, uint8_t what)
{
	const struct maple_known *k = &s->known[!!(site & MAPLE_SITE_CALL)];
	uint32_t number = site & ~MAPLE_SITE_CALL;

	return number < k->n && k->state[number] & what;
}

/* maple_sharing_is_shared - whether some profile run saw @site on shared memory */
bool maple_sharing_is_shared(const struct maple_sharing *s, uint32_t site)
{
	return has(s, site, SHARED);
}

/* maple_sharing_raced - whether it raced in some run */
bool maple_sharing_raced(const struct maple_sharing *s, uint32_t site)
{
	return has(s, site, RACED);
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
 * maple_sharing_choose - what the run with @seed leaves alone: a profile run,
 * or one that is @controlled, of which only some is left alone
 *
 * Returns bytes by number, enum maple_alone, to be freed; @n: how many, 0 for
 * want of memory.
 */
uint8_t *maple_sharing_choose(struct maple_sharing *s,
			      const struct maple_study *study, uint64_t seed,
			      bool controlled, enum maple_leaves leaves,
			      uint32_t *n)
{
	const struct maple_known *sites = &s->known[0], *calls = &s->known[1];
	uint32_t most = sites->n > calls->n ? sites->n : calls->n;
	uint8_t *alone = calloc(most + 1u, 1);
	uint32_t i;

	s->left = 0;
	*n = alone ? most : 0;
	for (i = 0; i < *n && i < sites->n; i++) {
		if (!is_left(sites->state[i], study->random(study, seed ^ i),
			     controlled, leaves))
			continue;
		alone[i] |= MAPLE_ALONE_SITE;
		s->left++;
	}
	for (i = 0; i < *n && i < calls->n; i++)
		if (is_left(calls->state[i],
			    study->random(study, seed ^ i ^ MAPLE_SITE_CALL),
			    controlled, leaves))
			alone[i] |= MAPLE_ALONE_CALL;
	return alone;
}

/* maple_sharing_deinit - forgets all of it */
void maple_sharing_deinit(struct maple_sharing *s)
{
	free(s->known[0].state);
	free(s->known[1].state);
	memset(s, 0, sizeof(*s));
}
