// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * maple: profile runs say what could happen, enforced runs make it happen; the
 * two take turns (algorithms.md 8).
 *
 * The first profile run has the older threads first. The others see different
 * things: on one CPU the first of several workers serves every request, unless
 * threads take turns. Change points come from the run before, so the first run
 * has none.
 *
 * It is a strategy of its own, and a part of the default one (../auto).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "classes.h"
#include "estimate.h"
#include "maple.h"

#define BATCH 8 /* enforced runs between two profile runs */
#define LOOKS 4 /* at exposed orders, after each profile run */

/*
 * What was exposed and is forced once more now; NULL: nothing. What a finding
 * differs by is looked for among orders that say more than one of its parts.
 * Of orders that have come again in each way, one between two profile runs:
 * another schedule is more likely to bring news.
 */
static struct maple_candidate *look_next(const struct maple_search *m)
{
	const struct maple_study *study = m->profiling.study;
	struct maple_candidate *k;

	if (m->profiling.limits.order == MAPLE_ORDER_PAPER || study->once ||
	    study->searching || m->looks >= LOOKS)
		return NULL;
	k = maple_choice_again(&m->profiling.candidates, &m->profiling.limits);
	return k && m->looks && k->looks >= MAPLE_PLAN_WAYS ? NULL : k;
}

static bool is_dry(const struct maple_search *m)
{
	return m->profiling.dry >= MAPLE_DRY_PROFILES;
}

/* Whether nothing is to be expected but news, with nothing to try. */
static bool is_over(const struct maple_search *m)
{
	return is_dry(m) && !maple_choice_waits(&m->profiling.candidates,
						&m->profiling.limits);
}

/* Whether some candidate is left that does not rest. */
static bool any_fresh(const struct maple_search *m)
{
	return maple_choice_fresh(&m->profiling.candidates,
				  &m->profiling.limits);
}

/* Whether it is the turn of a profile run, though there may be candidates. */
static bool profile_next(const struct maple_search *m)
{
	if (!m->profiling.runs && !m->profiling.seen)
		return true;
	if (is_dry(m))
		return false;
	if (m->profiling.limits.order == MAPLE_ORDER_PAPER)
		return true;
	if (!any_fresh(m))
		return !look_next(m);
	return m->since_profile >= BATCH && !m->profiling.underway;
}

static enum maple_schedule schedule_of(const struct maple_study *study,
				       unsigned int before)
{
	static const enum maple_schedule then[] = {
		MAPLE_SCHEDULE_TURNS,
		MAPLE_SCHEDULE_PCT,
		MAPLE_SCHEDULE_PCTLARGE,
	};
	enum maple_schedule schedule;

	if (!before)
		return MAPLE_SCHEDULE_OLDER;
	schedule = then[(before - 1) % (sizeof(then) / sizeof(*then))];
	return schedule == MAPLE_SCHEDULE_TURNS && !study->turns
		       ? MAPLE_SCHEDULE_PCT
		       : schedule;
}

static int profile(struct maple_search *m, struct maple_job *job,
		   struct maple_error *err)
{
	struct maple_profiling *p = &m->profiling;
	unsigned int before = p->runs + p->underway;

	assert(!job->nchanges);
	m->since_profile = m->looks = 0;
	if (p->study->once) {
		job->schedule = MAPLE_SCHEDULE_NATIVE;
	} else {
		job->schedule = schedule_of(p->study, before);
		if (before)
			maple_change_draw(p->study, &p->sample, job,
					  maple_change_depth(p->study));
	}
	return maple_profiling_begin(p, job, err);
}

/*
 * The candidate of which variant *@which is tried before all others that do not
 * rest; NULL: there is none
 */
static struct maple_candidate *variant_next(const struct maple_search *m,
					    uint32_t *which)
{
	const struct maple_profiling *p = &m->profiling;
	const struct maple_candidate *fresh = NULL;
	struct maple_candidate *k;

	k = maple_callers_next(&p->candidates, &p->limits, which);
	if (k && any_fresh(m))
		fresh = maple_choice_peek(&p->candidates, &p->limits);
	return k && maple_estimate_variant(k, *which, fresh) ? k : NULL;
}

/*
 * What is forced next; @which: and of it a variant, or 0. What rests comes
 * after the dry profile runs, and after all variants.
 */
static struct maple_candidate *candidate_next(struct maple_search *m,
					      uint32_t *which)
{
	struct maple_profiling *p = &m->profiling;
	struct maple_candidate *k = variant_next(m, which);

	if (k)
		return k;
	*which = 0;
	return is_dry(m) || any_fresh(m)
		       ? maple_choice_next(&p->candidates, &p->limits)
		       : NULL;
}

/*
 * maple_search_is_eager - whether the next run is the first try of an order by
 *                         other callers than those that it was harmless with
 */
bool maple_search_is_eager(const struct maple_search *m)
{
	const struct maple_candidate *k;
	uint32_t which = 0;

	if (m->profiling.study->alone || profile_next(m))
		return false;
	k = variant_next(m, &which);
	return k && !k->callers.variant[which - 1].tries;
}

/* maple_search_is_idle - nothing is left to try, but to look for news */
bool maple_search_is_idle(const struct maple_search *m)
{
	const struct maple_profiling *p = &m->profiling;

	return is_over(m) && (p->study->alone ||
			      !maple_choice_any(&p->candidates, &p->limits));
}

/* maple_search_begin - @job becomes a profile run, or an enforced one */
int maple_search_begin(struct maple_search *m, struct maple_job *job,
		       struct maple_error *err)
{
	struct maple_profiling *p = &m->profiling;
	struct maple_candidate *k;
	uint32_t which = 0;
	int e = 0;

	p->candidates.now = maple_clock_now();
	if (p->study->alone || profile_next(m))
		return profile(m, job, err);
	/* What another campaign tries, or has tried, is none of ours. */
	do {
		k = candidate_next(m, &which);
		if (k)
			e = maple_enforce_begin(p, job, k, which, err);
	} while (k && !e && !job->goal);
	if (k)
		return e;
	job->idle = is_over(m);
	/* Looks come between profile runs. */
	k = look_next(m);
	m->looks += k != NULL;
	return k ? maple_enforce_begin(p, job, k, 0, err)
		 : profile(m, job, err);
}

/* maple_search_ended - the run of @job, begun here, has ended */
int maple_search_ended(struct maple_search *m, struct maple_job *job,
		       const struct maple_job_end *end, struct maple_error *err)
{
	int e;

	if (job->kind != MAPLE_RUN_ENFORCE)
		return maple_profiling_ended(&m->profiling, job, end, err);
	m->since_profile++;
	e = maple_enforce_ended(&m->profiling, job, end, err);
	/* The same look once more is no further one. */
	if (m->looks && maple_candidate_of(job->goal)->missed)
		m->looks--;
	return e;
}

/* maple_search_drop - the run of @job, begun here, says nothing */
void maple_search_drop(struct maple_search *m, struct maple_job *job)
{
	if (job->kind != MAPLE_RUN_ENFORCE)
		maple_profiling_drop(&m->profiling, job);
	else
		maple_enforce_drop(job);
}

/* maple_search_standing - what is left */
void maple_search_standing(const struct maple_search *m,
			   struct maple_standing *standing)
{
	*standing = (struct maple_standing){
		.resting = maple_choice_resting(&m->profiling.candidates,
						&m->profiling.limits),
		.startup = maple_choice_startup(&m->profiling.candidates,
						&m->profiling.limits),
		.not_split = m->profiling.not_split,
		.unshared = m->profiling.sharing.left,
		.untried = !is_dry(m),
	};
}

/* ---- by itself ---- */

MAPLE_PROFILED(struct maple_search);

static int open_maple(const struct maple_strategy *strategy,
		      struct maple_study *study, void **self,
		      struct maple_error *err)
{
	struct maple_search *m = calloc(1, sizeof(*m));

	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_profiling_init(&m->profiling, study, true);
	*self = m;
	return 0;
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	*e = maple_search_begin(self, job, err);
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	return maple_search_ended(self, job, end, err);
}

static void drop(void *self, struct maple_job *job)
{
	maple_search_drop(self, job);
}

static void standing(const void *self, struct maple_standing *standing)
{
	maple_search_standing(self, standing);
}

const struct maple_strategy maple_strategy_maple = {
	.name = "maple",
	.classes = maple_classes,
	.needs = MAPLE_NEEDS_PRIORITIES,
	.forces = true,
	.open = open_maple,
	.next = next,
	.event = maple_profiled_event,
	.ended = ended,
	.drop = drop,
	.count = maple_profiled_count,
	.standing = standing,
	.around = maple_profiled_around,
	.sites = maple_profiled_sites,
	.close = maple_profiled_close,
};
