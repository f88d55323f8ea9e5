// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Shortening: which of the switches of a controlled run does its failure take?
 * What is tried is strategy/switches.c's to say.
 *
 * A run takes milliseconds: it is forked, and no stacks are taken. The last one
 * is told from, so it has them. What comes of MOST runs or SECONDS is taken as
 * it is: it fails, and may be longer than it has to be.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "campaign/internal.h"
#include "campaign/subject/interrupt.h"

#define MOST	50  /* runs */
#define SECONDS 1.0 /* after which none begins */

struct shortening {
	struct maple_campaign *c;
	const struct maple_trial *failed;
	unsigned int runs;
	double until;
	int error;
};

static bool may_go_on(void *ctx)
{
	const struct shortening *s = ctx;

	return !s->error && s->runs < MOST && maple_clock_now() < s->until &&
	       !maple_campaign_over(s->c) && !maple_interrupt_asked() &&
	       !maple_lane_lost(s->c->lanes.turn);
}

static bool alike(const struct maple_trial *a, const struct maple_trial *b)
{
	return a->judgement.failure == b->judgement.failure &&
	       a->judgement.signo == b->judgement.signo &&
	       a->judgement.status == b->judgement.status;
}

/* Runs @list for @purpose, as @trial, which is to be freed; whether it fails. */
static bool run(struct shortening *s, const struct maple_switches *list,
		enum maple_purpose purpose, struct maple_trial *trial)
{
	*trial = (struct maple_trial){
		.job.kind = MAPLE_RUN_CONTROL,
		.job.seed = s->failed->job.seed,
		.job.policy.policy = MAPLE_POLICY_LIST,
		.job.policy.blind = s->failed->job.policy.blind,
		.job.policy.real_time = s->failed->job.policy.real_time,
		.purpose = purpose,
		.part = s->failed->part,
		.rounds = s->failed->rounds,
	};
	if (maple_switches_copy(&trial->job.switches, list) ||
	    maple_job_leave(&trial->job, s->failed->job.alone,
			    s->failed->job.nalone))
		s->error = maple_error_set(s->c->err, ENOMEM, "out of memory");
	else
		s->error = maple_trial_run(s->c, trial);
	if (s->error || trial->stopped)
		return false;
	s->runs++;
	s->c->result->runs.confirm++;
	return alike(trial, s->failed);
}

static bool fails(void *ctx, const struct maple_switches *list)
{
	struct maple_trial trial;
	bool fails = run(ctx, list, MAPLE_FOR_SHORTENED, &trial);

	maple_trial_deinit(&trial);
	return fails;
}

/* Whether *@trial has become a run by all of its switches that ends otherwise. */
static bool came_to_an_end(struct shortening *s,
			   const struct maple_switches *had,
			   struct maple_trial *trial)
{
	struct maple_trial again;

	if (trial->judgement.failure != MAPLE_FAILURE_HANG)
		return false;
	run(s, had, MAPLE_FOR_ATTRIBUTE, &again);
	if (s->error || again.stopped || !again.judgement.failure ||
	    again.judgement.failure == MAPLE_FAILURE_HANG) {
		maple_trial_deinit(&again);
		return false;
	}
	maple_trial_deinit(trial);
	*trial = again;
	return true;
}

/*
 * maple_shorten - *@trial, a controlled run, has failed: by which switches?
 *
 * *@trial becomes a run of those alone that failed in the same way. If there is
 * none, it stays. If it hung, and ends in another failure by itself, it is that.
 */
int maple_shorten(struct maple_campaign *c, struct maple_trial *trial)
{
	struct shortening s = { .c = c, .failed = trial };
	struct maple_switches had = maple_trial_switches(trial), now;
	struct maple_trial last;

	assert(trial->job.kind == MAPLE_RUN_CONTROL);
	if (!had.nnames || c->options->no_confirm)
		return 0;
	if (came_to_an_end(&s, &had, trial))
		had = maple_trial_switches(trial);
	s.until = maple_clock_now() + SECONDS;
	if (maple_switches_copy(&now, &had) ||
	    maple_switches_shorten(&now, fails, may_go_on, &s))
		return maple_error_set(c->err, ENOMEM, "out of memory");
	assert(now.n <= had.n); /* it is to be shorter */
	if (!s.error && now.n < had.n && !maple_campaign_over(c)) {
		if (run(&s, &now, MAPLE_FOR_ATTRIBUTE, &last)) {
			maple_trial_deinit(trial);
			*trial = last;
		} else {
			maple_trial_deinit(&last);
		}
	}
	maple_switches_deinit(&now);
	return s.error;
}
