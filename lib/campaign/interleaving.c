// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What happened in which order: the plan's steps as the log of the run has
 * them. The automaton says in the log when a step has been executed.
 */
#include <stdlib.h>
#include <string.h>
#include "story.h"

#define NEAR 1024 /* events of a log between an access and its STEP */

const char maple_story_letter[] = {
	[MAPLE_EV_READ] = 'R',	 [MAPLE_EV_WRITE] = 'W',
	[MAPLE_EV_LOCK] = 'L',	 [MAPLE_EV_UNLOCK] = 'U',
	[MAPLE_EV_NOTIFY] = 'S', [MAPLE_EV_SLEEP] = 'C',
};

static bool is_step(const struct maple_plan_step *step,
		    const struct maple_event *e)
{
	if (e->site != step->site || !maple_event_is_access(e->kind))
		return false;
	return e->kind == step->kind || (e->kind == MAPLE_EV_UPDATE &&
					 maple_event_is_memory(step->kind));
}

/* The access that the STEP at @log[@i] is about: its thread's last one. */
static int64_t find_step(const struct maple_trial *trial, int64_t i)
{
	const struct maple_event *said = &trial->log[i];
	int64_t first = i > NEAR ? i - NEAR : 0;

	while (i-- > first)
		if (trial->log[i].thread == said->thread &&
		    is_step(&trial->plan.step[said->aux], &trial->log[i]))
			return i;
	return -1;
}

/*
 * Where in the log each step was executed, in the attempt that exposed the
 * iRoot, or else in the last one.
 */
static void find_steps(const struct maple_trial *trial,
		       int64_t at[MAPLE_PLAN_STEPS])
{
	const struct maple_event *e;

	for (int s = 0; s < MAPLE_PLAN_STEPS; s++)
		at[s] = -1;
	for (int64_t i = 0; i < (int64_t)trial->nlog; i++) {
		e = &trial->log[i];
		if (e->kind == MAPLE_EV_EXPOSED)
			break;
		if (e->kind == MAPLE_EV_GIVEUP)
			for (int s = 0; s < MAPLE_PLAN_STEPS; s++)
				at[s] = -1;
		if (e->kind == MAPLE_EV_STEP && e->aux < trial->plan.nsteps)
			at[e->aux] = find_step(trial, i);
	}
}

/*
 * maple_story_address - @site's address in @run; 0 if its image was not loaded
 */
uint64_t maple_story_address(const struct maple_campaign *c,
			     const struct maple_run *run, uint32_t site)
{
	struct maple_site_info info;
	unsigned int i;

	if (maple_registry_site(c->registry, site, &info))
		return 0;
	for (i = 0; i < run->nimages; i++)
		if (run->images[i].index == info.image)
			return run->images[i].bias + info.offset;
	return 0;
}

static void add_moment(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial,
		       const struct maple_plan_step *step,
		       const struct maple_event *e, int from)
{
	struct maple_moment *m = &f->moments[f->nmoments++];
	const struct maple_run *run = &trial->run;
	const struct maple_event *until = e;

	maple_registry_place(c->registry, step->site, &m->place);
	m->kind = maple_story_letter[step->kind];
	m->role = step->role;
	m->event = step->event;
	m->from = from;
	m->half = maple_plan_splits(&trial->plan, step->site);
	m->thread = strdup(e && e->thread < run->nthreads
				   ? run->threads[e->thread].name
				   : trial->plan.hint[step->role]);
	if (!e)
		return;
	/* What is not in the log itself never came to its end. */
	if (e < trial->log || e >= trial->log + trial->nlog)
		until = trial->log + trial->nlog;
	m->address = e->addr;
	m->variable = maple_story_variable(c, trial, e->addr, until);
}

/*
 * The lock that a thread of the deadlock waits for is that of the step that
 * acquired it; the thread is that of the same role's step.
 */
static bool blocked(const struct maple_trial *trial, unsigned int s,
		    const int64_t at[MAPLE_PLAN_STEPS], struct maple_event *e)
{
	const struct maple_plan *plan = &trial->plan;
	bool acquired = false, began = false;

	if (trial->run.end != MAPLE_END_DEADLOCK || at[s] >= 0 ||
	    plan->step[s].kind != MAPLE_EV_LOCK)
		return false;
	for (unsigned int i = 0; i < s; i++) {
		if (at[i] < 0)
			continue;
		if (plan->step[i].var == plan->step[s].var) {
			e->addr = trial->log[at[i]].addr;
			acquired = true;
		}
		if (plan->step[i].role == plan->step[s].role) {
			e->thread = trial->log[at[i]].thread;
			began = true;
		}
	}
	return acquired && began;
}

/* maple_story_order - fills in @f's moments: what happened in which order */
void maple_story_order(struct maple_campaign *c, struct maple_finding *f,
		       struct maple_trial *trial)
{
	const struct maple_plan *plan = &trial->plan;
	int64_t at[MAPLE_PLAN_STEPS];
	int moment[MAPLE_PLAN_STEPS];
	unsigned int s;

	f->moments = calloc(plan->nsteps, sizeof(*f->moments));
	if (!f->moments)
		return;
	find_steps(trial, at);
	for (s = 0; s < plan->nsteps; s++) {
		const struct maple_plan_step *step = &plan->step[s];
		/* The step that crashed never came to its end. */
		bool fatal =
			at[s] < 0 && trial->run.pc &&
			trial->run.pc ==
				maple_story_address(c, &trial->run, step->site);
		int from = step->dep >= 0 ? moment[step->dep] : -1;
		const struct maple_event *e = at[s] >= 0 ? &trial->log[at[s]]
							 : NULL;
		struct maple_event wait = { 0 };

		if (blocked(trial, s, at, &wait))
			e = &wait;
		moment[s] = -1;
		if (!e && !fatal)
			continue;
		moment[s] = f->nmoments;
		add_moment(c, f, trial, step, e, from);
	}
}
