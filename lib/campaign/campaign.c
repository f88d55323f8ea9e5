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

/* ---- findings ---- */

static bool seen_again(struct maple_finding **findings, unsigned int n,
		       const struct maple_finding *f)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!strcmp(findings[i]->id, f->id)) {
			findings[i]->times_seen++;
			return true;
		}
	return false;
}

static bool known(struct maple_campaign *c, const struct maple_finding *f)
{
	struct maple_campaign_result *r = c->result;
	unsigned int i;

	for (i = 0; i < c->lanes.n; i++)
		if (c->lanes.lane[i].confirming &&
		    seen_again(&c->lanes.lane[i].confirming, 1, f))
			return true;
	return seen_again(r->findings, r->nfindings, f) ||
	       seen_again(r->suppressed, r->nsuppressed, f);
}

/* Takes @finding over, into the memo and to the end of @list. */
static int keep(struct maple_campaign *c, struct maple_finding *finding,
		struct maple_finding ***list, unsigned int *n)
{
	struct maple_finding **grown;
	int e = maple_memo_finding_store(c->memo, c->memo_campaign, finding,
					 c->err);

	grown = realloc(*list, (*n + 1) * sizeof(*grown));
	if (grown)
		*list = grown;
	if (e || !grown) {
		maple_finding_destroy(finding);
		return e ? e : maple_error_set(c->err, ENOMEM, "out of memory");
	}
	grown[(*n)++] = finding;
	return 0;
}

/* A finding that is known to the user is kept and counted, nothing more. */
static int suppress(struct maple_campaign *c, struct maple_finding *finding,
		    const char *by)
{
	struct maple_campaign_result *r = c->result;

	finding->suppressed = strdup(by);
	if (!finding->suppressed) {
		maple_finding_destroy(finding);
		return maple_error_set(c->err, ENOMEM, "out of memory");
	}
	maple_campaign_notice(c, "suppressed by %s: %s", by, finding->title);
	return keep(c, finding, &r->suppressed, &r->nsuppressed);
}

static int confirm_and_keep(struct maple_campaign *c,
			    struct maple_finding *finding,
			    struct maple_trial *trial)
{
	struct maple_campaign_result *r = c->result;
	struct maple_lane *lane = c->lanes.turn;
	enum maple_phase phase = c->phase;
	int e;

	if (!c->options->keep_going)
		maple_lane_win(c);
	if (!r->first_finding_runs) {
		r->first_finding_runs = r->runs.profile + r->runs.enforced;
		r->first_finding_seconds = maple_clock_now() - c->began;
	}
	/* What is stored now survives us; the control is added below. */
	e = maple_memo_finding_store(c->memo, c->memo_campaign, finding, c->err);
	if (!e && !c->options->no_confirm && !c->attached) {
		maple_campaign_enter(c, MAPLE_PHASE_CONFIRM);
		lane->confirming = finding;
		e = maple_confirm(c, finding, trial);
		lane->confirming = NULL;
		c->phase = phase;
	}
	if (e) {
		maple_finding_destroy(finding);
		return e;
	}
	e = keep(c, finding, &r->findings, &r->nfindings);
	if (!e && c->options->finding)
		c->options->finding(c->options->ctx, finding);
	return e;
}

static int found(struct maple_campaign *c, struct maple_trial *trial)
{
	struct maple_finding *finding;
	const char *by;
	int e = maple_confirm_attribute(c, trial);

	if (e || maple_lane_lost(c->lanes.turn))
		return e;
	finding = maple_story_tell(c, trial);
	if (!finding)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	if (known(c, finding)) {
		maple_finding_destroy(finding);
		return 0;
	}
	e = maple_confirm_names(c, trial, &finding);
	/* Another lane's finding may have come first meanwhile. */
	if (e || maple_lane_lost(c->lanes.turn) || known(c, finding)) {
		maple_finding_destroy(finding);
		return e;
	}
	by = maple_suppressions_match(c->options->suppressions, finding);
	return by ? suppress(c, finding, by)
		  : confirm_and_keep(c, finding, trial);
}

/* ---- main loop ---- */

static int after_run(struct maple_campaign *c, struct maple_trial *trial,
		     bool news)
{
	int e = 0;

	c->dry_runs = news ? 0 : c->dry_runs + 1;
	/* Before what the run gives rise to. */
	maple_campaign_progress(c, true);
	if (trial->judgement.failure)
		e = found(c, trial);
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

	c->since_profile = 0;
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
		*error = found(c, &trial);
	maple_trial_deinit(&trial);
	return over;
}

/* What each lane does. */
static int explore(struct maple_campaign *c)
{
	struct maple_candidate *candidate;
	int e = 0;

	while (!e && maple_campaign_may_go_on(c) && !runs_used_up(c) &&
	       !c->lanes.winner) {
		if (c->attached && left_us(c, &e))
			break;
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
				c->result->exhausted = true;
				return 0;
			}
			/* What is under way may bring more. */
			maple_lane_wait(c);
		}
	}
	return e;
}

/* ---- the end ---- */

static void conclude(struct maple_campaign *c)
{
	struct maple_campaign_result *r = c->result;
	const char *why = NULL;

	r->seconds = maple_clock_now() - c->began;
	r->dry_runs = c->dry_runs;
	r->candidates_left = maple_strategy_left(c);
	r->candidates_resting = r->candidates_left - maple_strategy_fresh(c);
	r->delivery.left_out = maple_profile_left_out(c);
	if (r->nfindings) {
		r->outcome = MAPLE_FOUND;
		return;
	}
	if (c->attached)
		why = maple_stretch_undelivered(c);
	else if (!r->runs.profile)
		why = r->interrupted ? "interrupted before the first run"
				     : "the time was over before the first "
				       "run after the baseline: raise "
				       "--max-time";
	else if (!c->observed)
		why = c->why_not;
	else if (!c->threads_seen)
		why = "the program never had a second thread: there is no "
		      "interleaving to test";
	else if (r->runs.enforced && !c->enforced)
		why = c->why_not;
	r->outcome = why ? MAPLE_UNDELIVERED : MAPLE_CLEAN;
	r->undelivered = why ? strdup(why) : NULL;
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
	c.result = calloc(1, sizeof(*c.result));
	if (!c.result)
		return maple_error_set(err, ENOMEM, "out of memory");
	maple_interrupt_begin();
	e = maple_campaign_open(&c);
	c.began = maple_clock_now(); /* waiting for a CPU is no test time */
	c.result->seed = c.seed;
	if (!e)
		e = c.attached ? maple_stretch_begin(&c) : maple_baseline(&c);
	if (!e)
		e = maple_lanes_run(&c, explore);
	if (!e) {
		c.phase = MAPLE_PHASE_DONE;
		conclude(&c);
	}
	if (c.memo_campaign)
		maple_memo_campaign_end(
			memo, c.memo_campaign,
			e ? "error" : maple_outcome_name(c.result->outcome),
			NULL);
	maple_campaign_close(&c);
	maple_interrupt_end();
	if (e) {
		maple_campaign_result_destroy(c.result);
		return e;
	}
	*result = c.result;
	return 0;
}

/* maple_campaign_result_destroy - see maple/campaign.h */
void maple_campaign_result_destroy(struct maple_campaign_result *result)
{
	unsigned int i;

	if (!result)
		return;
	for (i = 0; i < result->nfindings; i++)
		maple_finding_destroy(result->findings[i]);
	for (i = 0; i < result->nsuppressed; i++)
		maple_finding_destroy(result->suppressed[i]);
	free(result->findings);
	free(result->suppressed);
	free(result->delivery.left_out);
	free(result->undelivered);
	free(result);
}
