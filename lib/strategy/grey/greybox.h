/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Runs that begin as one that showed something rare, and what they teach. */
#ifndef MAPLE_STRATEGY_GREYBOX_H
#define MAPLE_STRATEGY_GREYBOX_H

#include "corpus.h"

struct maple_greybox {
	struct maple_corpus corpus;
	uint64_t begun;
	uint64_t vain; /* runs that found nothing since the corpus was empty */
	/*
	 * Prefixes that an earlier campaign kept: the first @cut had runs that
	 * were cut short, those up to @used had theirs, and are not here.
	 */
	bool asked;
	size_t nrecalled, used, cut;
	struct maple_switches *recalled;
};

/* maple_greybox_begin - @job becomes a run, to be ended or dropped. 0, or -errno */
int maple_greybox_begin(struct maple_greybox *g, struct maple_profiling *p,
			struct maple_job *job, struct maple_error *err);

/*
 * maple_greybox_ended - the run of @job has ended, and @p, which kept its
 * events, has heard of it. Whoever began it: its reads have to have values
 * @news: whether it showed something first
 */
int maple_greybox_ended(struct maple_greybox *g, const struct maple_profiling *p,
			const struct maple_job *job,
			const struct maple_job_end *end, bool *news,
			struct maple_error *err);

void maple_greybox_drop(struct maple_greybox *g, struct maple_job *job);

/* maple_greybox_leave - keeps, for another campaign, what was rare */
void maple_greybox_leave(const struct maple_greybox *g,
			 struct maple_study *study);
void maple_greybox_deinit(struct maple_greybox *g);

#endif
