// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Violations in the memo: one that is new, or that a run was made to have for
 * the first time, with the run that had it; in how many runs it was now and
 * then, and at the end. So a campaign that is killed leaves what it was told.
 * They are added to what is there: other campaigns know the same ones, and a
 * plan that once had the order is not lost to one that saw it by chance.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/internal.h"

#define COUNTS 10.0 /* seconds between two times that all runs are written */

/* What the memo has of @f; *@earlier is NULL: nothing. */
static int recall(struct maple_campaign *c, const struct maple_finding *f,
		  struct maple_finding **earlier)
{
	int e = maple_memo_finding_load(c->memo, f->id, (int64_t)geteuid(),
					earlier, c->err);

	if (e)
		*earlier = NULL;
	else if (strcmp((*earlier)->id, f->id) != 0) {
		maple_finding_destroy(*earlier);
		*earlier = NULL;
	}
	return e == -ENOENT ? 0 : e;
}

/* What is reported is this campaign's alone; what is stored is the sum. */
static int store(struct maple_campaign *c, struct maple_told *told)
{
	struct maple_finding *f = told->finding, sum = *f, *earlier;
	struct maple_violation *v = &sum.violation;
	int e = recall(c, f, &earlier);

	if (e)
		return e;
	if (earlier) {
		const struct maple_violation *was = &earlier->violation;
		const struct maple_told_written *own = &told->written;

		assert(own->runs <= v->runs);
		v->runs += was->runs - own->runs;
		v->failed_runs += was->failed_runs - own->failed_runs;
		v->forced_runs += was->forced_runs - own->forced_runs;
	}
	if (earlier && !f->plan && earlier->plan) {
		sum.plan = earlier->plan;
		sum.seed = earlier->seed;
		sum.attempt = earlier->attempt;
		sum.backend = earlier->backend;
	}
	e = maple_memo_finding_store(c->memo, c->memo_campaign, &sum, c->err);
	maple_finding_destroy(earlier);
	told->written = (struct maple_told_written){ f->violation.runs,
						     f->violation.failed_runs,
						     f->violation.forced_runs,
						     f->plan != NULL };
	return e;
}

/* Whether the memo is to hear of it: at once, or with @all that has changed. */
static bool is_due(const struct maple_told *told, bool all)
{
	const struct maple_finding *f = told->finding;

	if (!f || told->written.runs == f->violation.runs)
		return false;
	return all || !told->written.runs || (f->plan && !told->written.plan);
}

/*
 * maple_violations_keep - what a run, which the open transaction is about, has
 * told goes into the memo; or, when the campaign is @over, all that it lacks
 */
int maple_violations_keep(struct maple_campaign *c, bool over)
{
	double now = maple_clock_now();
	bool all = over || now - c->violated.counted >= COUNTS;
	int e = 0;

	assert(maple_lane_has_turn(c));
	if (!c->violated.told || !c->memo_program || maple_memo_full(c->memo))
		return 0;
	if (all)
		c->violated.counted = now;
	for (struct maple_told *t = c->violated.told; t && !e; t = t->hh.next)
		if (is_due(t, all))
			e = store(c, t);
	if (!e || !maple_memo_full(c->memo))
		return e;
	maple_campaign_notice(c,
			      "violations are in this report alone, and not all "
			      "of them kept: %s",
			      maple_memo_full(c->memo));
	return 0;
}

/* maple_violations_end - the campaign is over: the memo has all of them */
int maple_violations_end(struct maple_campaign *c)
{
	int e;

	if (!c->violated.told)
		return 0;
	e = maple_memo_begin(c->memo, c->err);
	if (e)
		return e;
	e = maple_violations_keep(c, true);
	if (!e)
		return maple_memo_commit(c->memo, c->err);
	maple_memo_rollback(c->memo);
	return e;
}
