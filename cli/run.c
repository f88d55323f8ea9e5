// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest run: a campaign. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <maple/atomic_sets.h>
#include "cli.h"

#define TASK_SEED 0x9e3779b97f4a7c15 /* from one task's seed to the next */

struct run {
	const struct maple_settings *settings;
	struct maple_live live;
	FILE *out;		   /* the report's */
	struct maple_memo_job job; /* that it is, as soon as it has a number */
	char **noted; /* what campaigns of a suite have said, each once */
	unsigned int nnoted;
};

static void on_progress(void *ctx, const struct maple_progress *progress)
{
	struct run *run = ctx;

	if (progress->run_ended) {
		if (run->settings->format == MAPLE_REPORT_JSONL)
			maple_live_clear(&run->live);
		maple_report_progress(run->out, run->settings->format, progress,
				      NULL);
	}
	maple_live_show(&run->live, progress);
	maple_detach_progress(progress);
}

/* What is shown from now on is shown to nobody at a terminal. */
static void on_ready(void *ctx)
{
	((struct run *)ctx)->job = maple_detach_ready();
}

/* Whether another campaign of the suite has said it; from now on it has. */
static bool noted(struct run *run, const char *text)
{
	char **grown;

	for (unsigned int i = 0; i < run->nnoted; i++)
		if (!strcmp(run->noted[i], text))
			return true;
	grown = reallocarray(run->noted, run->nnoted + 1, sizeof(*grown));
	if (!grown)
		return false;
	run->noted = grown;
	grown[run->nnoted] = strdup(text);
	run->nnoted += grown[run->nnoted] != NULL;
	return false;
}

static void on_notice(void *ctx, const char *text)
{
	struct run *run = ctx;

	if (run->settings->each_test && noted(run, text))
		return;
	maple_live_clear(&run->live);
	maple_say_notice("%s", text);
}

static void on_wait(void *ctx, const char *text)
{
	const struct run *run = ctx;

	if (run->settings->quiet)
		maple_say_line(text);
}

/* At once, so that a finding is on screen whatever comes later. */
static void on_finding(void *ctx, const struct maple_finding *finding)
{
	struct run *run = ctx;
	struct maple_report_style style =
		maple_out_style(run->out, run->settings);
	struct maple_finding copy = *finding;

	maple_live_clear(&run->live);
	maple_log_finding(finding, &run->job);
	if (finding->replay)
		copy.replay = strdup(finding->replay);
	maple_again_complete(run->settings, &copy);
	maple_report_found(run->out, run->settings->format, &copy, &style, NULL);
	free(copy.replay);
}

static void complete(const struct maple_settings *settings,
		     struct maple_campaign_result *result)
{
	for (unsigned int i = 0; i < result->nfindings; i++)
		maple_again_complete(settings, result->findings[i]);
	for (unsigned int i = 0; i < result->violations.n; i++)
		maple_again_complete(settings, result->violations.at[i]);
}

/* The exit status for an error of maple_campaign_run(). */
static int error_status(const struct maple_settings *settings, int error)
{
	switch (-error) {
	case ENOENT:
		return MAPLE_STATUS_NOT_THERE;
	case ENOEXEC:
	case EACCES:
		return MAPLE_STATUS_CANNOT_RUN;
	case EPERM:
	case ENOTSUP:
	case ENOSYS:
		if (settings->skip_unsupported)
			return MAPLE_STATUS_SKIPPED;
		return MAPLE_STATUS_FAILED;
	default:
		return MAPLE_STATUS_FAILED;
	}
}

static int result_status(const struct maple_settings *settings,
			 const struct maple_campaign_result *result)
{
	switch (result->outcome) {
	case MAPLE_FOUND:
		return MAPLE_STATUS_FINDING;
	case MAPLE_CLEAN:
		return MAPLE_STATUS_OK;
	case MAPLE_UNDELIVERED:
		break;
	}
	return settings->skip_unsupported && result->unsupported
		       ? MAPLE_STATUS_SKIPPED
		       : MAPLE_STATUS_FAILED;
}

static struct maple_campaign_options options_of(struct run *run)
{
	struct maple_campaign_options options = run->settings->campaign;

	options.progress = on_progress;
	options.notice = on_notice;
	options.job = &run->job;
	options.ready = run->settings->detach ? on_ready : NULL;
	options.waits = on_wait;
	options.finding = on_finding;
	options.ctx = run;
	/* Where our object goes to stdout, nothing else may. */
	options.quiet_target = run->out == stdout;
	return options;
}

static int fail(const struct run *run, int error, const struct maple_error *err)
{
	return maple_say_error(error_status(run->settings, error), "%s",
			       *err->text ? err->text : strerror(-error));
}

static int campaign(struct run *run, struct maple_memo *memo)
{
	struct maple_campaign_options options = options_of(run);
	struct maple_report report = { .source = MAPLE_REPORT_CAMPAIGN,
				       .argv = options.argv };
	struct maple_campaign_result *result;
	struct maple_error err = { "" };
	int ret;

	maple_report_begin(run->out, run->settings->format, &options, NULL);
	ret = maple_campaign_run(&options, memo, &result, &err);
	maple_live_clear(&run->live);
	if (ret)
		return fail(run, ret, &err);
	complete(run->settings, result);
	report.status = result_status(run->settings, result);
	report.result = result;
	ret = maple_out_report(run->out, run->settings, &report);
	maple_campaign_result_destroy(result);
	return ret;
}

/* ---- --each-test ---- */

static void on_case(void *ctx, const struct maple_campaign_options *options,
		    const struct maple_suite_case *c)
{
	struct run *run = ctx;

	maple_live_clear(&run->live);
	maple_live_about(&run->live, c->name);
	maple_report_begin(run->out, run->settings->format, options, NULL);
}

static int suite_status(const struct maple_suite *suite)
{
	switch (maple_suite_sum(suite, NULL)) {
	case MAPLE_SUITE_CLEAN:
		return MAPLE_STATUS_OK;
	case MAPLE_SUITE_FOUND:
		return MAPLE_STATUS_FINDING;
	default:
		return MAPLE_STATUS_FAILED;
	}
}

static void complete_all(const struct maple_settings *settings,
			 const struct maple_suite *suite)
{
	for (unsigned int i = 0; i < suite->n; i++) {
		struct maple_campaign_result *r = suite->cases[i].result;

		if (r)
			complete(settings, r);
	}
}

/* --share: of the cases those that are this task's */
static int take_share(const struct maple_settings *settings,
		      struct maple_suite *suite, struct maple_error *err)
{
	unsigned int task = settings->share.task, of = settings->share.of;
	unsigned int all = suite->n;

	if (!of)
		return 0;
	maple_suite_share(suite, task, of);
	/* What tests nothing passes nothing. */
	if (!suite->n)
		return maple_error_set(err, ENOMSG,
				       "task %u of %u has no case, since there "
				       "are %u; start no more tasks than that",
				       task, of, all);
	maple_say_notice("task %u of %u: %u of them", task, of, suite->n);
	return 0;
}

static int test_suite(struct run *run, struct maple_memo *memo)
{
	const struct maple_settings *settings = run->settings;
	struct maple_campaign_options options = options_of(run);
	const char *list = *settings->each_test ? settings->each_test : NULL;
	struct maple_report report = { .source = MAPLE_REPORT_SUITE,
				       .argv = options.argv };
	struct maple_error err = { "" };
	struct maple_suite *suite;
	int ret = maple_suite_create(options.argv, list, &suite, &err);

	if (ret)
		return fail(run, ret, &err);
	maple_say_notice("%u cases (%s), %u disabled", suite->n,
			 suite->framework, suite->disabled);
	ret = take_share(settings, suite, &err);
	if (!ret)
		ret = maple_suite_run(suite, &options, memo, on_case, &err);
	maple_live_clear(&run->live);
	if (ret) {
		ret = fail(run, ret, &err);
	} else {
		complete_all(settings, suite);
		report.status = suite_status(suite);
		report.suite = suite;
		ret = maple_out_report(run->out, settings, &report);
	}
	maple_suite_destroy(suite);
	return ret;
}

int maple_command_run(struct maple_settings *settings)
{
	const char *expected = settings->campaign.expect_output;

	if (!settings->argc)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "which program? mapletest run [options] "
				       "[--] PROG [ARGS]");
	settings->campaign.argv = settings->argv;
	/* Tasks with one seed would all do the same. */
	if (settings->share.of && settings->campaign.seed)
		settings->campaign.seed +=
			(settings->share.task - 1) * TASK_SEED;
	/* Else its absence would look like the program's. */
	if (expected && access(expected, R_OK))
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--expect-output '%s': %s", expected,
				       strerror(errno));
	return maple_run_campaign(settings);
}

/* --atomic-sets: 0 or the exit status, the error said. */
static int open_sets(struct maple_settings *settings)
{
	struct maple_error err = { "" };

	if (!settings->atomic_sets && settings->campaign.strict_sets)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--strict-sets is about declared sets: "
				       "give them with --atomic-sets FILE");
	if (!settings->atomic_sets)
		return 0;
	if (maple_atomic_sets_read(settings->atomic_sets, &settings->sets, &err))
		return maple_say_error(MAPLE_STATUS_USAGE, "%s", err.text);
	settings->campaign.atomic_sets = settings->sets;
	return 0;
}

/* maple_run_campaign - the campaign that @settings say, and its report */
int maple_run_campaign(struct maple_settings *settings)
{
	struct run run = { .settings = settings };
	bool confined = settings->detach && settings->campaign.attached;
	struct maple_memo *memo;
	int ret = maple_suppress_open(settings);

	if (!ret)
		ret = open_sets(settings);
	if (ret)
		return ret;
	run.out = maple_out_open(settings, settings->format ? stdout : stderr);
	if (!run.out)
		return MAPLE_STATUS_FAILED;
	maple_live_init(&run.live, settings->quiet ? NULL : stderr);
	/* A log has lines, though this may be a terminal still. */
	run.live.live &= !settings->detach;
	/* All of root's own that there is to be opened is open. */
	if (settings->campaign.attached)
		ret = maple_attach_settle(settings);
	if (!ret && confined)
		maple_attach_prepare(settings);
	if (!ret)
		ret = maple_database_open(settings, 0, &memo);
	if (!ret) {
		maple_spools_open(memo);
		ret = settings->detach ? maple_host_register(settings) : 0;
		/* What comes next reads what its user has written. */
		if (!ret && confined)
			ret = maple_attach_enter(settings,
						 maple_memo_shares(memo));
		if (!ret)
			ret = settings->each_test ? test_suite(&run, memo)
						  : campaign(&run, memo);
		maple_spools_close(settings, memo);
		maple_suppress_tell(settings);
	}
	for (unsigned int i = 0; i < run.nnoted; i++)
		free(run.noted[i]);
	free(run.noted);
	return maple_out_close(run.out, ret);
}
