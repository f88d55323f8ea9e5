/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What a strategy knows of a campaign that does nothing but ask it. */
#ifndef STUDY_RIG_H
#define STUDY_RIG_H

#include "strategy/strategy.h"

static struct maple_campaign_options options;
static struct maple_prediction prediction;

static uint64_t number(const struct maple_study *study, uint64_t salt)
{
	return salt * 0x9e3779b97f4a7c15ull + 7;
}

static bool never(void *ctx)
{
	return false;
}

static int learn(struct maple_study *study, struct maple_goal *const *goals,
		 size_t n, struct maple_error *err)
{
	static int64_t rows;

	for (size_t i = 0; i < n; i++)
		if (!goals[i]->row)
			goals[i]->row = ++rows;
	return 0;
}

static int mark(struct maple_study *study, const struct maple_goal *goal,
		enum maple_memo_mark what, struct maple_error *err)
{
	return 0;
}

static struct maple_study study = {
	.options = &options,
	.lanes = 1,
	.controls = true,
	.prediction = &prediction,
	.random = number,
	.over = never,
	.learn = learn,
	.mark = mark,
};

#endif
