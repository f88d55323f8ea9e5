// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Violations in the memo: all that a campaign was told of, at its end, together
 * with what earlier campaigns of the user's knew of the same ones. So a plan
 * that once had the order is not lost to a campaign that saw it by chance.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "campaign/internal.h"

static const struct maple_finding *find(struct maple_finding *const *earlier,
					size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (earlier[i]->owner == geteuid() &&
		    !strcmp(earlier[i]->id, id))
			return earlier[i];
	return NULL;
}

/* What is reported is this campaign's alone; what is stored is the sum. */
static int store(struct maple_campaign *c, const struct maple_finding *f,
		 const struct maple_finding *earlier)
{
	struct maple_finding sum = *f;

	if (earlier) {
		sum.violation.runs += earlier->violation.runs;
		sum.violation.failed_runs += earlier->violation.failed_runs;
		sum.violation.forced_runs += earlier->violation.forced_runs;
	}
	if (earlier && !f->plan && earlier->plan) {
		sum.plan = earlier->plan;
		sum.seed = earlier->seed;
		sum.attempt = earlier->attempt;
		sum.backend = earlier->backend;
	}
	return maple_memo_finding_store(c->memo, c->memo_campaign, &sum, c->err);
}

static int store_all(struct maple_campaign *c,
		     struct maple_finding *const *earlier, size_t n)
{
	const struct maple_violations *all = &c->result->violations;
	int e = maple_memo_begin(c->memo, c->err);

	if (e)
		return e;
	for (unsigned int i = 0; i < all->n && !e; i++)
		e = store(c, all->at[i], find(earlier, n, all->at[i]->id));
	if (!e)
		return maple_memo_commit(c->memo, c->err);
	maple_memo_rollback(c->memo);
	return e;
}

/* maple_violations_keep - the campaign is over: what it was told goes into the memo */
int maple_violations_keep(struct maple_campaign *c)
{
	const struct maple_violations *all = &c->result->violations;
	struct maple_finding **earlier;
	size_t n, found;
	int e;

	assert(maple_lane_has_turn(c));
	if (!all->n || !c->memo_program || maple_memo_full(c->memo))
		return 0;
	e = maple_memo_findings(c->memo, c->memo_program, &earlier, &n, c->err);
	if (e)
		return e;
	found = maple_violations_part(earlier, n);
	e = store_all(c, earlier + found, n - found);
	maple_memo_findings_destroy(earlier, n);
	if (!e || !maple_memo_full(c->memo))
		return e;
	maple_campaign_notice(c,
			      "violations are in this report alone, and not all "
			      "of them kept: %s",
			      maple_memo_full(c->memo));
	return 0;
}
