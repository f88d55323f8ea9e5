// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The baseline: what the program does, and how long it takes, without us.
 *
 * Status 0 is right, unless --expect-exit names another one. A program that
 * fails in all of its native runs is refused: that says nothing about
 * interleavings. One that fails in some of them has failed by itself, which is
 * a finding, if one without an order; the campaign goes on to look for that.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "campaign/internal.h"

#define HANG_LEAST 10.0 /* seconds */
#define HANG_TIMES 20.0 /* the baseline's duration */
#define UNKNOWN	   600	/* ... of which nothing is known yet */

struct baseline {
	struct maple_trial trial[MAPLE_BASELINE_RUNS];
	unsigned int n, failures;
};

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

static int run(struct maple_campaign *c, struct baseline *b)
{
	struct maple_trial *trial = &b->trial[b->n];
	int e;

	assert(b->n < MAPLE_BASELINE_RUNS);
	for (;;) {
		memset(trial, 0, sizeof(*trial));
		trial->job.kind = MAPLE_RUN_NATIVE;
		trial->job.schedule = MAPLE_SCHEDULE_NATIVE;
		trial->purpose = MAPLE_FOR_BASELINE;
		e = maple_trial_run(c, trial);
		if (e || !trial->judgement.unjudged ||
		    !maple_campaign_may_go_on(c))
			break;
		maple_trial_deinit(trial);
	}
	if (!e && maple_campaign_gave_up(c))
		e = maple_error_set(c->err, c->unsupported ? ENOTSUP : EBADE,
				    "%s cannot be judged without maple: %s",
				    c->options->argv[0], c->given_up);
	if (e || trial->stopped) {
		maple_trial_deinit(trial);
		return e;
	}
	b->n++;
	c->result->runs.baseline++;
	/* What hung says nothing about its time. */
	if (trial->run.end != MAPLE_END_HANG &&
	    trial->run.seconds > c->native_seconds)
		c->native_seconds = trial->run.seconds;
	if (trial->run.end != MAPLE_END_HANG &&
	    trial->run.cpu_seconds > c->native_cpu)
		c->native_cpu = trial->run.cpu_seconds;
	limit(c);
	maple_campaign_progress(c, true);
	return 0;
}

/* ---- which status is right ---- */

static bool has_status(const struct maple_trial *trial)
{
	return trial->run.end == MAPLE_END_ITSELF &&
	       WIFEXITED(trial->run.status) && !trial->run.signo;
}

/* "1", or "1 and 3". */
static unsigned int statuses(const struct baseline *b, char *text, size_t size)
{
	unsigned int different = 0, i, j;
	size_t used = 0;

	*text = '\0';
	for (i = 0; i < b->n; i++) {
		if (!has_status(&b->trial[i]))
			continue;
		for (j = 0; j < i; j++)
			if (has_status(&b->trial[j]) &&
			    b->trial[j].run.status == b->trial[i].run.status)
				break;
		if (j < i)
			continue;
		used += snprintf(text + used, size - used, "%s%d",
				 different++ ? " and " : "",
				 WEXITSTATUS(b->trial[i].run.status));
		assert(used < size); /* a status has three digits */
	}
	return different;
}

/* No run ended with 0, and nobody has said that this is right. */
static int refuse_status(struct maple_campaign *c, const struct baseline *b)
{
	char text[64];
	unsigned int different = statuses(b, text, sizeof(text));

	if (different == 1)
		return maple_error_set(
			c->err, EBADE,
			"%s ends with status %s without maple: if that is "
			"right, say --expect-exit %s, else mend it first",
			c->options->argv[0], text, text);
	return maple_error_set(c->err, EBADE,
			       "%s ends with status %s without maple: say with "
			       "--expect-exit which one is right",
			       c->options->argv[0], text);
}

/* What the runs are held against from here on; judges those that are over. */
static int choose_status(struct maple_campaign *c, struct baseline *b)
{
	unsigned int i;
	int first = -1;

	if (c->between) /* a server has none that is right */
		c->expected = 0;
	for (i = 0; i < b->n; i++) {
		if (!has_status(&b->trial[i]))
			continue;
		if (first < 0)
			first = WEXITSTATUS(b->trial[i].run.status);
		if (!WEXITSTATUS(b->trial[i].run.status))
			first = 0;
	}
	if (c->expected < 0 && first > 0 && !c->options->baseline_fails)
		return refuse_status(c, b);
	if (c->expected < 0)
		c->expected = first < 0 ? 0 : first;
	assert(c->expected >= 0);
	for (i = 0; i < b->n; i++) {
		if (!b->trial[i].judgement.failure && has_status(&b->trial[i]))
			maple_judge_status(c, &b->trial[i]);
		b->failures += b->trial[i].judgement.failure != 0;
	}
	return 0;
}

/* ---- what fails by itself ---- */

static const char *what_failed(const struct baseline *b)
{
	unsigned int i;

	for (i = 0; i < b->n; i++)
		if (b->trial[i].judgement.failure)
			return b->trial[i].judgement.what;
	return "nothing";
}

/* The user must know of it and decide. */
static int refuse(struct maple_campaign *c, const struct baseline *b)
{
	return maple_error_set(c->err, EBADE,
			       "%s fails without maple: %s (%u of %u native "
			       "runs); mend that first, or go on with "
			       "--baseline-fails",
			       c->options->argv[0], what_failed(b), b->failures,
			       b->n);
}

static int tell_by_itself(struct maple_campaign *c, struct baseline *b)
{
	struct maple_finding *finding;
	struct maple_trial *trial = b->trial;

	assert(b->failures && b->failures < b->n);
	while (!trial->judgement.failure)
		trial++;
	finding = maple_story_tell(c, trial);
	if (!finding)
		return maple_error_set(c->err, ENOMEM, "out of memory");
	finding->native_fails = b->failures;
	finding->native_runs = b->n;
	maple_campaign_notice(c,
			      "it fails by itself, %u of %u times: %s; going on "
			      "to look for the order that makes it fail",
			      b->failures, b->n, finding->what);
	return maple_findings_take(c, finding, trial);
}

static int judge(struct maple_campaign *c, struct baseline *b)
{
	int e = choose_status(c, b);

	assert(b->failures <= b->n);
	if (e || !b->failures)
		return e;
	if (c->options->baseline_fails) {
		maple_campaign_notice(c,
				      "the baseline fails: %s (%u of %u native "
				      "runs); going on",
				      what_failed(b), b->failures, b->n);
		return 0;
	}
	return b->failures < b->n ? tell_by_itself(c, b) : refuse(c, b);
}

/* maple_baseline - the native runs; sets what later runs are held against */
int maple_baseline(struct maple_campaign *c)
{
	struct baseline b = { .n = 0 };
	unsigned int i;
	int e = 0;

	assert(!c->result->runs.baseline && !c->run_number);
	maple_campaign_enter(c, MAPLE_PHASE_BASELINE);
	c->expected = (int)c->options->expect_exit - 1;
	c->native_seconds = 0;
	c->native_cpu = 0;
	limit(c);
	for (i = 0; i < MAPLE_BASELINE_RUNS && !e; i++)
		if (maple_campaign_may_go_on(c))
			e = run(c, &b);
	if (!e)
		e = judge(c, &b);
	for (i = 0; i < b.n; i++)
		maple_trial_deinit(&b.trial[i]);
	return e;
}
