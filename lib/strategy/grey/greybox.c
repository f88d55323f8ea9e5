// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The runs of grey. Some are predicted from, too, so that it is known what they
 * expose; to learn what was rare takes a tenth of that.
 */
#include <errno.h>
#include "greybox.h"

#define WHOLE	  8	/* runs that are predicted from, at first; */
#define WHOLE_ONE 16	/* ... then one of so many */
#define BUDGET	  10000 /* events that a site records */
#define FORGET	  4000	/* runs without a finding: what is rare leads nowhere */

int maple_greybox_begin(struct maple_greybox *g, struct maple_profiling *p,
			struct maple_job *job, struct maple_error *err)
{
	const struct maple_study *study = p->study;
	struct maple_controlled how = {
		.keeps = true,
		.lean = g->begun >= WHOLE && g->begun % WHOLE_ONE,
	};
	struct maple_switches prefix;
	int e = maple_corpus_draw(&g->corpus,
				  study->random(study, job->seed + 1), &prefix);

	if (e)
		return maple_error_set(err, ENOMEM, "out of memory");
	g->begun++;
	e = prefix.n ? maple_profiling_follow(p, job, &how, &prefix, err)
		     : maple_profiling_control(p, job, &how, MAPLE_POLICY_POS,
					       err);
	if (job->policy.policy == MAPLE_POLICY_LIST) {
		job->policy.behind = 1 + MAPLE_POLICY_POS;
		job->policy.blind = study->random(study, job->seed) & 1;
	}
	job->reads = true;
	job->budget = BUDGET;
	return e;
}

static int learn(struct maple_greybox *g, const struct maple_profiling *p,
		 const struct maple_job *job, const struct maple_run *run,
		 bool *news, struct maple_error *err)
{
	const struct maple_study *study = p->study;
	uint32_t n;

	if (maple_corpus_learn(&g->corpus, run, &p->kept,
			       study->random(study, job->seed + 2), &n))
		return maple_error_set(err, ENOMEM, "out of memory");
	*news = n > 0;
	return 0;
}

/* A run that failed is not gone back to: others are to be found. */
int maple_greybox_ended(struct maple_greybox *g, const struct maple_profiling *p,
			const struct maple_job *job,
			const struct maple_job_end *end, bool *news,
			struct maple_error *err)
{
	const struct maple_run *run = end->run;

	*news = false;
	g->vain = end->failed ? 0 : g->vain + 1;
	if (g->vain >= FORGET) {
		maple_corpus_forget(&g->corpus);
		g->vain = 0;
	}
	if (end->failed || end->absent || run->lost || !run->names ||
	    run->counts.over || run->counts.uncounted || !p->kept.n ||
	    p->kept.cut)
		return 0;
	return learn(g, p, job, run, news, err);
}

void maple_greybox_deinit(struct maple_greybox *g)
{
	maple_corpus_forget(&g->corpus);
}
