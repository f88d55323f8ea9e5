// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The systems there are, the default first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "maple/classes.h"
#include "strategy.h"

static const struct maple_strategy *const all[] = {
	&maple_strategy_auto,	     &maple_strategy_maple,
	&maple_strategy_native,	     &maple_strategy_pctlarge,
	&maple_strategy_randdelay,   &maple_strategy_rw,
	&maple_strategy_pos,	     &maple_strategy_surw,
	&maple_strategy_pct,	     &maple_strategy_pctvb,
	&maple_strategy_pcr,	     &maple_strategy_rank,
	&maple_strategy_chess,	     &maple_strategy_delay,
	&maple_strategy_rankchecker, &maple_strategy_grey,
	&maple_strategy_maptest,     &maple_strategy_meet,
};

#define ALL (sizeof(all) / sizeof(*all))

/* maple_strategy_name - see maple/campaign.h */
const char *maple_strategy_name(unsigned int i)
{
	return i < ALL ? all[i]->name : NULL;
}

/* maple_strategy_find - by name, NULL: the default; NULL if there is none */
const struct maple_strategy *maple_strategy_find(const char *name)
{
	for (unsigned int i = 0; i < ALL; i++)
		if (!name || !strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

int maple_job_leave(struct maple_job *job, const uint8_t *alone, uint32_t n)
{
	if (!alone)
		return 0;
	job->alone = malloc(n + 1);
	if (!job->alone)
		return -ENOMEM;
	job->nalone = n;
	memcpy(job->alone, alone, n);
	return 0;
}

void maple_job_keep(struct maple_job *job, uint32_t site)
{
	uint32_t number = site & ~MAPLE_SITE_CALL;

	if (number < job->nalone)
		job->alone[number] &= ~(site & MAPLE_SITE_CALL
						? MAPLE_ALONE_CALL
						: MAPLE_ALONE_SITE);
}

/* maple_goal_of_plan - the goal that @plan is for; -EBADMSG: there is none */
int maple_goal_of_plan(const struct maple_plan *plan, struct maple_goal *goal)
{
	struct maple_iroot iroot;
	int e = maple_plan_iroot(plan, &iroot);

	memset(goal, 0, sizeof(*goal));
	if (!e)
		maple_goal_of_iroot(&iroot, goal);
	return e;
}
