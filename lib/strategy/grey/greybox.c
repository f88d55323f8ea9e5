// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The runs of grey. Some are predicted from, too, so that it is known what they
 * expose; to learn what was rare takes a tenth of that.
 *
 * What an earlier campaign has kept comes first, each prefix once: by that it
 * is learned what these lead to now. When the campaign ends, those that had no
 * run yet are kept again, and then what was rare in this one.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "greybox.h"

#define WHOLE	  8	/* runs that are predicted from, at first; */
#define WHOLE_ONE 16	/* ... then one of so many */
#define BUDGET	  10000 /* events that a site records */
#define FORGET	  4000	/* runs without a finding: what is rare leads nowhere */
#define NAME	  "grey"

/* The first run of all asks for them: the program is known by then. */
static void recall(struct maple_greybox *g, struct maple_study *study)
{
	if (!g->asked && study->recall)
		g->nrecalled = study->recall(study, NAME, &g->recalled);
	g->asked = true;
}

/* Whether there is one that had no run: @list is the caller's then. */
static bool take(struct maple_greybox *g, struct maple_switches *list)
{
	assert(g->used <= g->nrecalled);
	while (g->used < g->nrecalled) {
		*list = g->recalled[g->used];
		g->recalled[g->used++] = (struct maple_switches){ 0 };
		if (list->n)
			return true;
		maple_switches_deinit(list);
	}
	return false;
}

int maple_greybox_begin(struct maple_greybox *g, struct maple_profiling *p,
			struct maple_job *job, struct maple_error *err)
{
	const struct maple_study *study = p->study;
	struct maple_controlled how = {
		.keeps = true,
		.lean = g->begun >= WHOLE && g->begun % WHOLE_ONE,
	};
	struct maple_switches prefix;
	bool recalled;
	int e = 0;

	recall(g, p->study);
	recalled = take(g, &prefix);
	if (!recalled)
		e = maple_corpus_draw(&g->corpus,
				      study->random(study, job->seed + 1),
				      &prefix);
	if (e)
		return maple_error_set(err, ENOMEM, "out of memory");
	g->begun++;
	e = prefix.n ? maple_profiling_follow(p, job, &how, &prefix, err)
		     : maple_profiling_control(p, job, &how, MAPLE_POLICY_POS,
					       err);
	maple_switches_deinit(&prefix); /* cut to nothing */
	if (job->policy.policy == MAPLE_POLICY_LIST) {
		job->policy.behind = 1 + MAPLE_POLICY_POS;
		job->policy.blind = study->random(study, job->seed) & 1;
		job->policy.one_in = maple_expect_one_in(&p->expect);
	}
	job->reads = true;
	job->budget = BUDGET;
	job->aim = recalled ? g : NULL;
	return e;
}

/*
 * What was recalled for a run that never was, or was cut short, has had none. It
 * is kept, and not tried again here: the run may be cut short by what it does.
 */
void maple_greybox_drop(struct maple_greybox *g, struct maple_job *job)
{
	if (!job->aim)
		return;
	/* Its place, or that of one before it, has been empty since. */
	assert(g->cut < g->used && !g->recalled[g->cut].n);
	g->recalled[g->cut++] = job->switches;
	job->switches = (struct maple_switches){ 0 };
	job->aim = NULL;
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

void maple_greybox_leave(const struct maple_greybox *g,
			 struct maple_study *study)
{
	struct maple_switches list[MAPLE_MEMO_CORPUS_LISTS];
	size_t n = 0, first;

	if (!g->asked || !study->keep)
		return;
	/* Those that had a run are empty. */
	for (size_t i = 0; i < g->nrecalled && n < MAPLE_MEMO_CORPUS_LISTS; i++)
		if (g->recalled[i].n)
			list[n++] = g->recalled[i];
	assert(n <= MAPLE_MEMO_CORPUS_LISTS);
	first = n; /* of those that are ours */
	n += maple_corpus_rarest(&g->corpus, list + n,
				 MAPLE_MEMO_CORPUS_LISTS - n);
	if (n)
		study->keep(study, NAME, list, n);
	for (size_t i = first; i < n; i++)
		maple_switches_deinit(&list[i]);
}

void maple_greybox_deinit(struct maple_greybox *g)
{
	for (size_t i = 0; i < g->nrecalled; i++)
		maple_switches_deinit(&g->recalled[i]);
	free(g->recalled);
	maple_corpus_forget(&g->corpus);
}
