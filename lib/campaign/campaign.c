// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The campaign: baseline, then profile and enforce in turns until there is a
 * finding or nothing left to try (algorithms.md 8).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "campaign/subject/interrupt.h"
#include "host/host.h"

#define QUIET_LEAST  1.0  /* seconds without news before a campaign ends, */
#define QUIET_UNSEEN 10.0 /* ... where some thread has never run */
#define QUIET_MOST   10.0 /* ... though controlled runs are wanted */

static bool runs_used_up(const struct maple_campaign *c)
{
	const struct maple_runs *runs = &c->result->runs;

	return c->options->max_runs &&
	       maple_runs_made(runs) + c->lanes.underway >= c->options->max_runs;
}

/* ---- main loop ---- */

static int after_run(struct maple_campaign *c, struct maple_trial *trial)
{
	int e = 0;

	/* What has no verdict was stopped, and comes to nothing. */
	assert(!trial->stopped && !trial->judgement.unjudged);
	c->dry_runs = trial->job.news ? 0 : c->dry_runs + 1;
	if (trial->job.news)
		c->last_news = maple_clock_now();
	/* Before what the run gives rise to. */
	maple_campaign_progress(c, true);
	if (trial->judgement.failure)
		e = maple_findings_add(c, trial);
	return e;
}

static void run_ended(struct maple_campaign *c)
{
	assert(maple_lane_has_turn(c) && c->lanes.underway);
	c->lanes.underway--;
	pthread_cond_broadcast(&c->lanes.ended);
}

static void count_run(struct maple_campaign *c, const struct maple_job *job)
{
	struct maple_runs *runs = &c->result->runs;

	runs->profile += job->kind == MAPLE_RUN_PROFILE;
	runs->enforced += job->kind == MAPLE_RUN_ENFORCE;
	runs->controlled += job->kind == MAPLE_RUN_CONTROL;
	runs->again += job->again;
}

static void count_part(const struct maple_trial *trial)
{
	struct maple_part_runs *part = trial->part;

	assert(part && trial->told);
	part->runs++;
	part->news += trial->job.news;
	part->seconds += trial->run.seconds;
}

/* Carries out what the strategy has asked for. */
static int carry_out(struct maple_campaign *c, struct maple_trial *trial)
{
	static const enum maple_phase phases[] = {
		[MAPLE_RUN_PROFILE] = MAPLE_PHASE_PROFILE,
		[MAPLE_RUN_ENFORCE] = MAPLE_PHASE_ENFORCE,
		[MAPLE_RUN_CONTROL] = MAPLE_PHASE_CONTROL,
	};
	enum maple_phase phase = phases[trial->job.kind];
	int e;

	/* The baseline's runs, and those beside others, are not a strategy's. */
	assert(phase && trial->studied);
	if (phase == MAPLE_PHASE_PROFILE || c->phase != phase)
		maple_campaign_enter(c, phase);
	c->lanes.underway++;
	assert(c->lanes.underway <= c->lanes.n);
	e = maple_trial_run(c, trial);
	run_ended(c);
	if (e || trial->stopped)
		return e;
	count_run(c, &trial->job);
	count_part(trial);
	return after_run(c, trial);
}

/* Whether the campaign is over, and why. */
static bool over(struct maple_campaign *c)
{
	struct maple_campaign_result *r = c->result;

	if (c->lanes.winner || maple_findings_enough(c))
		r->stop = MAPLE_STOP_FOUND;
	else if (maple_campaign_gave_up(c))
		r->stop = MAPLE_STOP_GAVE_UP;
	else if (!maple_campaign_may_go_on(c))
		r->stop = r->interrupted ? MAPLE_STOP_ASKED : MAPLE_STOP_TIME;
	else if (runs_used_up(c))
		r->stop = MAPLE_STOP_RUNS;
	else
		return false;
	return true;
}

/*
 * Whether nothing new can be expected. That nothing is left to try says little:
 * what is rare comes up in another schedule. So half of the campaign has to
 * have passed without news. Of a thread that has never run nothing is known:
 * it gets longer to do so. So do controlled runs, as many as the strategy
 * wants, but for no longer than ten seconds: of a slow program they take hours.
 * Where nothing is forced, for want of priorities, they are all that is tried.
 */
static bool saturated(const struct maple_campaign *c,
		      const struct maple_job *job)
{
	double now = maple_clock_now(), dry = now - c->last_news;
	double least = maple_unseen_any(c) ? QUIET_UNSEEN : QUIET_LEAST;

	assert(c->last_news >= c->explored);
	if (job->wanted && (dry < QUIET_MOST || maple_campaign_untried(c)))
		return false;
	return dry >= least && dry >= (now - c->explored) / 2;
}

/*
 * One run, or a wait for the others to end; *@done: nothing is left to try. Of
 * an endless subject there always is.
 */
static int step(struct maple_campaign *c, bool *done)
{
	struct maple_trial trial;
	enum maple_next next;
	int e = maple_study_next(c, &trial, &next);

	if (!e && next == MAPLE_NEXT_RUN && trial.job.idle &&
	    !c->subject->endless && saturated(c, &trial.job))
		next = MAPLE_NEXT_DONE;
	if (!e && next == MAPLE_NEXT_RUN) {
		e = carry_out(c, &trial);
	} else if (!e) {
		*done = next == MAPLE_NEXT_DONE && !c->lanes.underway;
		/* What is under way may bring more. */
		if (!*done)
			maple_lane_wait(c);
	}
	maple_trial_deinit(&trial);
	return e;
}

/* What each lane does. */
static int explore(struct maple_campaign *c)
{
	bool done = false;
	int e = 0;

	while (!e && !over(c)) {
		if (maple_lane_waits(c->lanes.turn)) {
			maple_lane_wait(c);
			continue;
		}
		if (c->subject->gone && c->subject->gone(c, &e)) {
			c->result->stop = MAPLE_STOP_GONE;
			break;
		}
		/* With --exe the program is known from its first run on. */
		if (c->memo_program && !c->replayed) {
			e = maple_known_replay(c);
			continue;
		}
		e = step(c, &done);
		if (!e && done) {
			c->result->stop = MAPLE_STOP_SATURATED;
			break;
		}
	}
	return e;
}

/* maple_campaign_run_by - a campaign of @strategy's; NULL: of the options' */
int maple_campaign_run_by(const struct maple_strategy *strategy,
			  const struct maple_campaign_options *options,
			  struct maple_memo *memo,
			  struct maple_campaign_result **result,
			  struct maple_error *err)
{
	struct maple_campaign c = {
		.options = options,
		.strategy = strategy,
		.attached = options->attached,
		.memo = memo,
		.err = err,
		.began = maple_clock_now(),
		.returns = options->host ? options->host->returns : 0,
	};
	struct maple_error unused;
	int e;

	*result = NULL;
	if (!err)
		c.err = &unused;
	if (options->max_time > 0)
		c.deadline = c.began + options->max_time;
	c.result = calloc(1, sizeof(*c.result));
	if (!c.result)
		return maple_error_set(err, ENOMEM, "out of memory");
	c.result->violations.asked = options->violations ||
				     options->atomic_sets;
	c.result->violations.strict = options->strict_sets;
	maple_interrupt_begin();
	e = maple_campaign_open(&c);
	c.began =
		maple_clock_now(); /* waiting for a CPU takes no test's time */
	c.result->seed = c.seed;
	if (!e)
		e = c.subject->begin(&c);
	c.explored = c.last_news = maple_clock_now();
	if (!e)
		e = maple_lanes_run(&c, explore);
	assert(maple_lane_has_turn(&c) && !c.lanes.underway);
	if (!e) {
		c.phase = MAPLE_PHASE_DONE;
		e = maple_conclude(&c);
	}
	if (!e)
		maple_study_leave(&c);
	if (!e)
		maple_reached_keep(&c);
	if (!e)
		e = maple_violations_end(&c);
	if (c.memo_campaign) {
		char *parts = maple_campaign_parts(c.result);

		maple_memo_campaign_end(
			memo, c.memo_campaign,
			e ? "error" : maple_outcome_name(c.result->outcome),
			c.result->unobserved, parts, NULL);
		free(parts);
	}
	maple_campaign_close(&c);
	maple_interrupt_end();
	if (e) {
		maple_campaign_result_destroy(c.result);
		return e;
	}
	*result = c.result;
	return 0;
}

/* maple_campaign_run - see maple/campaign.h */
int maple_campaign_run(const struct maple_campaign_options *options,
		       struct maple_memo *memo,
		       struct maple_campaign_result **result,
		       struct maple_error *err)
{
	return maple_campaign_run_by(NULL, options, memo, result, err);
}
