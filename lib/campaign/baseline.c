// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The baseline: what the program does, and how long it takes, without us. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "internal.h"

#define HANG_LEAST 10.0 /* seconds */
#define HANG_TIMES 20.0 /* the baseline's duration */
#define UNKNOWN	   600	/* ... of which nothing is known yet */

/* How long a run may take, given how long the longest of the baseline took. */
static void limit(struct maple_campaign *c)
{
	c->timeout = c->options->timeout;
	if (c->timeout > 0)
		return;
	c->timeout = c->native_seconds * HANG_TIMES;
	if (c->native_seconds <= 0)
		c->timeout = UNKNOWN;
	else if (c->timeout < HANG_LEAST)
		c->timeout = HANG_LEAST;
}

static int baseline_run(struct maple_campaign *c, struct maple_trial *trial)
{
	int e;

	memset(trial, 0, sizeof(*trial));
	trial->kind = MAPLE_RUN_NATIVE;
	trial->memo_kind = "baseline";
	e = maple_trial_run(c, trial);
	if (!e && !trial->stopped)
		c->result->runs.baseline++;
	return e;
}

/*
 * A baseline that fails says nothing about interleavings: the user must know
 * and decide. Statuses that differ are no failure with --baseline-fails, only
 * what none of them showed is.
 */
static int refuse_baseline(struct maple_campaign *c, const char *what,
			   unsigned int failures)
{
	if (c->options->baseline_fails) {
		maple_campaign_notice(c,
				      "the baseline fails: %s (%u of %d "
				      "native runs); going on",
				      what, failures, MAPLE_BASELINE_RUNS);
		return 0;
	}
	return maple_error_set(c->err, EBADE,
			       "%s fails without maple: %s (%u of %d native "
			       "runs); mend that first, or go on with "
			       "--baseline-fails",
			       c->options->argv[0], what, failures,
			       MAPLE_BASELINE_RUNS);
}

/* maple_baseline - the native runs; sets what later runs are held against */
int maple_baseline(struct maple_campaign *c)
{
	struct maple_trial trial;
	char what[256] = "";
	unsigned int failures = 0;
	int i, e;

	maple_campaign_enter(c, MAPLE_PHASE_BASELINE);
	c->expected = -1;
	c->native_seconds = 0;
	limit(c);
	for (i = 0; i < MAPLE_BASELINE_RUNS && maple_campaign_may_go_on(c);
	     i++) {
		e = baseline_run(c, &trial);
		if (e) {
			maple_trial_deinit(&trial);
			return e;
		}
		if (trial.judgement.failure) {
			failures++;
			snprintf(what, sizeof(what), "%s", trial.judgement.what);
		}
		/* What hung says nothing about its time. */
		if (trial.run.end != MAPLE_END_HANG &&
		    trial.run.seconds > c->native_seconds)
			c->native_seconds = trial.run.seconds;
		limit(c);
		maple_trial_deinit(&trial);
		maple_campaign_progress(c, true);
	}
	if (c->expected < 0)
		c->expected = 0;
	if (c->expected > 0)
		maple_campaign_notice(c,
				      "exit status %d is taken for good: "
				      "the native runs end with it",
				      c->expected);
	return failures ? refuse_baseline(c, what, failures) : 0;
}
