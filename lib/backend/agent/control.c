// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What a controlled run is to do, and what it did, in the shared file: sites
 * have the agent's numbers there.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "agent.h"

static_assert(MAPLE_RUN_NET <= MAPLE_SHM_NET &&
		      MAPLE_REGISTRY_VARIABLE == MAPLE_SHM_VARIABLE,
	      "as the agent has it");
static_assert(MAPLE_POLICY_NAME == MAPLE_SHM_NAME, "names fit");

/*
 * maple_agent_control_share - false if the list names a call that the agent has
 * no number for
 */
bool maple_agent_control_share(struct maple_agent_backend *a,
			       const struct maple_run_order *order)
{
	const struct maple_run_control *control = order->control;
	struct maple_shm_control *shared = &a->shm->control;
	uint32_t i, n = control->nnames;

	/* run.c has refused what is longer. */
	assert(n <= MAPLE_THREADS && control->nlist <= MAPLE_POLICY_ENTRIES);
	assert(control->nnet <= MAPLE_RUN_NET);
	shared->order = control->order;
	if (control->values || (control->log && !order->budget))
		shared->log = UINT32_MAX;
	else
		shared->log = control->log ? order->budget : 0;
	shared->values = control->values;
	shared->reads = control->reads;
	shared->sleeps = a->base.options.sleeps;
	shared->nnames = n;
	shared->nweights = control->weight ? n : 0;
	shared->nlist = control->nlist;
	if (n)
		memcpy(shared->name, control->names, n * sizeof(*shared->name));
	for (i = 0; i < n; i++)
		shared->name[i].text[MAPLE_POLICY_NAME - 1] = '\0';
	if (control->weight)
		memcpy(shared->weight, control->weight,
		       n * sizeof(*shared->weight));
	for (i = 0; i < control->nlist; i++) {
		shared->list[i] = control->list[i];
		if (control->list[i].site == MAPLE_SITE_NONE)
			continue;
		shared->list[i].site =
			maple_agent_tables_inside(a, control->list[i].site);
		if (shared->list[i].site == MAPLE_SITE_NONE)
			return false;
	}
	shared->nnet = 0;
	for (i = 0; i < control->nnet; i++) {
		n = maple_agent_tables_inside(a, control->net[i]);
		if (n != MAPLE_SITE_NONE)
			shared->net[shared->nnet++] = n;
	}
	return true;
}

/*
 * maple_agent_control_has_sites - false for a list without one: such a run
 * stops nowhere, and has done as it was told
 */
bool maple_agent_control_has_sites(const struct maple_agent_backend *a)
{
	const struct maple_shm_control *shared = &a->shm->control;
	uint32_t i;

	if (shared->order.policy != MAPLE_POLICY_LIST)
		return true;
	for (i = 0; i < shared->nlist; i++)
		if (shared->list[i].site != MAPLE_SITE_NONE)
			return true;
	return false;
}

/* maple_agent_control_finish - the schedule that the run had */
void maple_agent_control_finish(struct maple_agent_backend *a,
				struct maple_run *run)
{
	const struct maple_shm_control *shared = &a->shm->control;
	uint32_t i, n = shared->ndecided;

	if (n > MAPLE_POLICY_ENTRIES)
		n = MAPLE_POLICY_ENTRIES;
	assert(!run->decided && !run->names);
	run->counts = shared->counts;
	run->decided = calloc(n + 1, sizeof(*run->decided));
	run->names = calloc(run->nthreads + 1, sizeof(*run->names));
	if (!run->decided || !run->names) {
		run->counts.over++;
		return;
	}
	run->nnames = run->nthreads;
	for (i = 0; i < run->nthreads; i++)
		memcpy(run->names[i].text, run->threads[i].name,
		       MAPLE_POLICY_NAME);
	run->ndecided = n;
	for (i = 0; i < n; i++) {
		run->decided[i] = shared->decided[i];
		run->decided[i].site =
			maple_agent_tables_number(a, shared->decided[i].site);
		run->decided[i].next_site = maple_agent_tables_number(
			a, shared->decided[i].next_site);
	}
}
