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
 * Controlled runs look for what no candidate describes, as many as enforced
 * ones, by turns: what either of the two finds takes twice as long at most. If
 * the first profile run brings few candidates, all of them come first. Where
 * none is left, controlled runs are by several policies: each has as many of
 * these runs as it brought news, and one more.
 */
#include <errno.h>
#include <stdlib.h>
#include "classes.h"
#include "maple.h"

#define BATCH 8	   /* enforced runs between two profile runs */
#define LOOKS 4	   /* at exposed orders, after each profile run */
#define QUIET 1000 /* controlled runs without news, before a campaign ends */
#define ROUND 4 /* of the runs that look for news, the first is a profile run */
#define MANY  10 /* candidates, to be tried by turns with controlled runs */
#define SHORT \
	0.1 /* seconds of a profile run, for controlled ones to be short */
#define FREE_SECONDS 1.0 /* that controlled runs have, whatever others took */

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

	if (m->profiling.limits.order == MAPLE_ORDER_PAPER ||
	    study->options->attached || study->searching || m->looks >= LOOKS)
		return NULL;
	k = maple_choice_again(&m->profiling.candidates, &m->profiling.limits);
	return k && m->looks && k->looks >= MAPLE_PLAN_WAYS ? NULL : k;
}

static bool is_dry(const struct maple_search *m)
{
	return m->profiling.dry >= MAPLE_DRY_PROFILES;
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
	if (!m->profiling.runs)
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

/*
 * Where nothing is left to try, what no candidate describes is looked for: by
 * controlled runs, which make schedules that priorities alone do not.
 */
static bool controls(const struct maple_search *m)
{
	return m->profiling.study->controls && is_dry(m) &&
	       m->profiling.limits.order != MAPLE_ORDER_PAPER;
}

/* Whose turn it is: the first one with the fewest runs for its news. */
static enum maple_policy_kind policy_next(struct maple_search *m)
{
	static const enum maple_policy_kind kinds[] = { MAPLE_POLICY_POS,
							MAPLE_POLICY_SURW,
							MAPLE_POLICY_PCT };
	enum maple_policy_kind best = kinds[0], k;

	for (unsigned int i = 1; i < sizeof(kinds) / sizeof(*kinds); i++) {
		k = kinds[i];
		if ((uint64_t)m->by[k].runs * (m->by[best].news + 1) <
		    (uint64_t)m->by[best].runs * (m->by[k].news + 1))
			best = k;
	}
	m->by[best].runs++;
	return best;
}

/*
 * Whether it is the turn of a controlled run, though there are candidates, or a
 * profile run is @due. One of a program that does much can take a campaign's
 * time, and some hang where others do not.
 */
static bool mixes(const struct maple_search *m, bool due)
{
	const struct maple_profiling *p = &m->profiling;

	return p->study->controls && !p->study->searching && !m->hung &&
	       m->profiled < SHORT && p->limits.order != MAPLE_ORDER_PAPER &&
	       !is_dry(m) && m->mixed < m->since_profile &&
	       (m->controlled < FREE_SECONDS || m->controlled < m->enforced) &&
	       (due || p->runs > 1 ||
		maple_choice_fresh(&p->candidates, &p->limits) > MANY);
}

/*
 * One of three is of an order that was solved for, if there is one; what all of
 * them do teaches what may be solved for next.
 */
static int control(struct maple_search *m, struct maple_job *job,
		   struct maple_error *err)
{
	int e;

	m->profiling.keeps = true;
	if (m->idle % 2 &&
	    maple_patterns_begin(&m->patterns, &m->profiling, job, err, &e))
		return e;
	return maple_profiling_control(&m->profiling, job, policy_next(m), err);
}

static int profile(struct maple_search *m, struct maple_job *job,
		   struct maple_error *err)
{
	struct maple_profiling *p = &m->profiling;
	unsigned int before = p->runs + p->underway;

	m->since_profile = m->mixed = 0;
	if (controls(m) && m->idle++ % ROUND)
		return control(m, job, err);
	m->looks = 0;
	if (p->study->options->attached) {
		job->schedule = MAPLE_SCHEDULE_NATIVE;
	} else {
		job->schedule = schedule_of(p->study, before);
		if (before)
			maple_change_draw(p->study, &p->sample, job,
					  maple_change_depth(p->study));
	}
	return maple_profiling_begin(p, job, err);
}

static enum maple_next next(void *self, struct maple_job *job,
			    struct maple_error *err, int *e)
{
	struct maple_search *m = self;
	struct maple_profiling *p = &m->profiling;
	struct maple_candidate *k = NULL;
	bool due = p->study->alone || profile_next(m);

	if (mixes(m, due)) {
		m->mixed++;
		p->keeps = false;
		*e = maple_profiling_control(p, job, MAPLE_POLICY_POS, err);
		return MAPLE_NEXT_RUN;
	}
	if (due) {
		*e = profile(m, job, err);
		return MAPLE_NEXT_RUN;
	}
	/* What rests comes after the dry profile runs, looks between these. */
	if (is_dry(m) || any_fresh(m))
		k = maple_choice_next(&p->candidates, &p->limits);
	if (!k) {
		job->idle = is_dry(m);
		job->wanted = controls(m) && m->quiet < QUIET ? QUIET - m->quiet
							      : 0;
		k = look_next(m);
		m->looks += k != NULL;
	}
	*e = k ? maple_enforce_begin(p, job, k, err) : profile(m, job, err);
	return MAPLE_NEXT_RUN;
}

static int ended(void *self, struct maple_job *job,
		 const struct maple_job_end *end, struct maple_error *err)
{
	struct maple_search *m = self;
	bool controlled = job->kind == MAPLE_RUN_CONTROL;
	unsigned int dry = m->profiling.dry;
	int e;

	if (controlled) {
		m->controlled += end->run->seconds;
		m->hung |= end->run->end == MAPLE_END_HANG ||
			   end->run->released;
	}
	if (job->kind == MAPLE_RUN_ENFORCE) {
		m->since_profile++;
		m->enforced += end->run->seconds;
		e = maple_enforce_ended(&m->profiling, job, end, err);
		/* The same look once more is no further one. */
		if (m->looks && maple_candidate_of(job->goal)->missed)
			m->looks--;
	} else {
		if (!controlled && end->run->seconds > m->profiled)
			m->profiled = end->run->seconds;
		e = maple_profiling_ended(&m->profiling, job, end, err);
		if (!e && controlled)
			e = maple_patterns_ended(&m->patterns, &m->profiling,
						 job, end, err);
		/* Few controlled runs bring candidates: that says nothing. */
		if (controlled && m->profiling.dry)
			m->profiling.dry = dry;
	}
	m->quiet = job->news ? 0 : m->quiet + controlled;
	if (controlled)
		m->by[job->policy.policy].news += job->news;
	return e;
}

static void drop(void *self, struct maple_job *job)
{
	struct maple_search *m = self;

	if (job->kind != MAPLE_RUN_ENFORCE)
		maple_profiling_drop(&m->profiling, job);
	else
		maple_enforce_drop(job);
}

static void standing(const void *self, struct maple_standing *standing)
{
	const struct maple_search *m = self;

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

static unsigned int around(const void *self, uint32_t site, uint32_t *list,
			   unsigned int most)
{
	const struct maple_search *m = self;

	return maple_profiling_around(&m->profiling, site, list, most);
}

static uint32_t sites(const void *self)
{
	const struct maple_search *m = self;

	return m->profiling.sharing.n;
}

static void close_maple(void *self)
{
	struct maple_search *m = self;

	maple_patterns_deinit(&m->patterns);
	maple_profiling_deinit(&m->profiling);
	free(m);
}

const struct maple_strategy maple_strategy_maple = {
	.name = "maple",
	.classes = maple_classes,
	.forces = true,
	.open = open_maple,
	.next = next,
	.event = maple_profiled_event,
	.ended = ended,
	.drop = drop,
	.count = maple_profiled_count,
	.standing = standing,
	.around = around,
	.sites = sites,
	.close = close_maple,
};
