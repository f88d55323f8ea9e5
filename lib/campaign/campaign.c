// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The campaign: baseline, then profile and enforce in turns until there is a
 * finding or nothing left to try (algorithms.md 8).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "internal.h"
#include "interrupt.h"

static bool runs_used_up(const struct maple_campaign *c)
{
	const struct maple_runs *runs = &c->result->runs;

	return c->options->max_runs &&
	       runs->profile + runs->enforced + c->lanes.underway >=
		       c->options->max_runs;
}

/* ---- main loop ---- */

static int after_run(struct maple_campaign *c, struct maple_trial *trial,
		     bool news)
{
	int e = 0;

	c->dry_runs = news ? 0 : c->dry_runs + 1;
	if (news)
		c->last_news = maple_clock_now();
	/* Before what the run gives rise to. */
	maple_campaign_progress(c, true);
	if (trial->judgement.failure)
		e = maple_findings_add(c, trial);
	return e;
}

static void run_ended(struct maple_campaign *c)
{
	c->lanes.underway--;
	pthread_cond_broadcast(&c->lanes.ended);
}

static int profile(struct maple_campaign *c)
{
	struct maple_trial trial;
	bool news = false;
	int e;

	c->since_profile = c->looks = 0;
	maple_campaign_enter(c, MAPLE_PHASE_PROFILE);
	memset(&trial, 0, sizeof(trial));
	c->lanes.underway++;
	e = maple_profile_run(c, &trial, &news);
	run_ended(c);
	if (!e && !trial.stopped) {
		c->result->runs.profile++;
		c->dry_profiles = trial.new_candidates ? 0
						       : c->dry_profiles + 1;
		e = after_run(c, &trial, news);
	}
	maple_trial_deinit(&trial);
	return e;
}

static int enforce(struct maple_campaign *c, struct maple_candidate *candidate)
{
	struct maple_trial trial;
	bool news = false;
	int e;

	if (c->phase != MAPLE_PHASE_ENFORCE)
		maple_campaign_enter(c, MAPLE_PHASE_ENFORCE);
	memset(&trial, 0, sizeof(trial));
	c->lanes.underway++;
	candidate->busy = true;
	e = maple_enforce_run(c, candidate, &trial, &news);
	candidate->busy = false;
	run_ended(c);
	if (!e && !trial.stopped) {
		c->result->runs.enforced++;
		c->result->runs.again += trial.again;
		c->since_profile++;
		e = after_run(c, &trial, news);
	}
	maple_trial_deinit(&trial);
	return e;
}

/* Whether a joined program is gone; that may be a failure, too. */
static bool left_us(struct maple_campaign *c, int *error)
{
	struct maple_trial trial;
	bool over;

	memset(&trial, 0, sizeof(trial));
	over = maple_stretch_over(c, &trial);
	if (over && trial.judgement.failure)
		*error = maple_findings_add(c, &trial);
	maple_trial_deinit(&trial);
	return over;
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

/* What each lane does. */
static int explore(struct maple_campaign *c)
{
	struct maple_candidate *candidate;
	int e = 0;

	while (!e && !over(c)) {
		if (maple_lane_waits(c->lanes.turn)) {
			maple_lane_wait(c);
			continue;
		}
		if (c->attached && left_us(c, &e)) {
			c->result->stop = MAPLE_STOP_GONE;
			break;
		}
		/* With --exe the program is known from its first run on. */
		if (c->memo_program && !c->replayed) {
			e = maple_known_replay(c);
			continue;
		}
		switch (maple_strategy_next(c, &candidate)) {
		case MAPLE_PHASE_PROFILE:
			if (c->attached)
				maple_stretch_rest(c);
			e = profile(c);
			break;
		case MAPLE_PHASE_ENFORCE:
			e = enforce(c, candidate);
			break;
		default:
			if (!c->lanes.underway) {
				c->result->stop = MAPLE_STOP_SATURATED;
				return 0;
			}
			/* What is under way may bring more. */
			maple_lane_wait(c);
		}
	}
	return e;
}

/* A script's program is known when it has run. */
static int know_program(struct maple_campaign *c)
{
	char *path;
	uint32_t image;
	int e;

	if (c->attached || c->options->exe)
		return 0;
	path = realpath(c->program, NULL);
	if (!path)
		return maple_error_set(c->err, errno, "%s: %m", c->program);
	e = maple_registry_add(c->registry, path, &image, c->err);
	free(path);
	return e ? e : maple_profile_program(c, image);
}

/*
 * maple_campaign_run - see maple/campaign.h
 */
int maple_campaign_run(const struct maple_campaign_options *options,
		       struct maple_memo *memo,
		       struct maple_campaign_result **result,
		       struct maple_error *err)
{
	struct maple_campaign c = {
		.options = options,
		.attached = options->attached,
		.memo = memo,
		.err = err,
		.began = maple_clock_now(),
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
	maple_interrupt_begin();
	e = maple_campaign_open(&c);
	c.began =
		maple_clock_now(); /* waiting for a CPU takes no test's time */
	c.result->seed = c.seed;
	if (!e)
		e = c.attached ? maple_stretch_begin(&c) : maple_baseline(&c);
	if (!e)
		e = know_program(&c);
	c.explored = c.last_news = maple_clock_now();
	if (!e)
		e = maple_lanes_run(&c, explore);
	if (!e) {
		c.phase = MAPLE_PHASE_DONE;
		e = maple_conclude(&c);
	}
	if (c.memo_campaign)
		maple_memo_campaign_end(
			memo, c.memo_campaign,
			e ? "error" : maple_outcome_name(c.result->outcome),
			c.result->unobserved, NULL);
	maple_campaign_close(&c);
	maple_interrupt_end();
	if (e) {
		maple_campaign_result_destroy(c.result);
		return e;
	}
	*result = c.result;
	return 0;
}
