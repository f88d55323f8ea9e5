/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A memo that campaigns share, as far as claims go: what it says is set by row. */
#ifndef CLAIMS_RIG_H
#define CLAIMS_RIG_H

#include <string.h>
#include "study_rig.h"

#define ROWS 4096

static bool others[ROWS]; /* another campaign has it */
static struct maple_memo_state states[ROWS];
static unsigned int ours;			/* claims that we have */
static struct maple_goal *asked[ROWS], *wanted; /* for; wanted: the last one */

static int claim(struct maple_study *study, struct maple_goal *const *goals,
		 size_t n, struct maple_error *err)
{
	for (size_t i = 0; i < n; i++) {
		assert_false(goals[i]->claimed);
		assert_in_range(goals[i]->row, 1, ROWS - 1);
		wanted = asked[goals[i]->row] = goals[i];
		goals[i]->taken = others[goals[i]->row];
		goals[i]->claimed = !goals[i]->taken;
		ours += goals[i]->claimed;
		if (goals[i]->claimed)
			goals[i]->known = states[goals[i]->row];
	}
	return 0;
}

static int release(struct maple_study *study, struct maple_goal *const *goals,
		   size_t n, struct maple_error *err)
{
	for (size_t i = 0; i < n; i++) {
		ours -= goals[i]->claimed;
		goals[i]->claimed = false;
	}
	return 0;
}

/* All that was asked for in vain has been so long ago. */
static inline void wait_in_vain(void)
{
	for (unsigned int i = 0; i < ROWS; i++) {
		if (!asked[i] || !(asked[i]->since > 0))
			continue;
		asked[i]->since -= 100;
		asked[i]->elsewhere = 0;
	}
}

static void share_memo(void)
{
	memset(asked, 0, sizeof(asked));
	memset(others, 0, sizeof(others));
	memset(states, 0, sizeof(states));
	ours = 0;
	study.claim = claim;
	study.release = release;
}

#endif
