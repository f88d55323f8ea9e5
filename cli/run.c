// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest run: a campaign. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

struct run {
	const struct maple_settings *settings;
	struct maple_live live;
	FILE *out; /* the report's */
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
}

static void on_notice(void *ctx, const char *text)
{
	struct run *run = ctx;

	maple_live_clear(&run->live);
	maple_say_notice("%s", text);
}

static void on_wait(void *ctx, const char *text)
{
	const struct run *run = ctx;

	if (run->settings->quiet)
		fprintf(stderr, "mapletest: %s\n", text);
}

/* At once, so that a finding is on screen whatever comes later. */
static void on_finding(void *ctx, const struct maple_finding *finding)
{
	struct run *run = ctx;
	struct maple_report_style style =
		maple_out_style(run->out, run->settings);
	struct maple_finding copy = *finding;

	maple_live_clear(&run->live);
	maple_log_finding(finding);
	if (finding->replay)
		copy.replay = strdup(finding->replay);
	maple_again_complete(run->settings, &copy);
	maple_report_found(run->out, run->settings->format, &copy, &style, NULL);
	free(copy.replay);
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
		/* What was cut short has not been delivered. */
		return result->interrupted && !settings->campaign.attached
			       ? MAPLE_STATUS_FAILED
			       : MAPLE_STATUS_OK;
	case MAPLE_UNDELIVERED:
		break;
	}
	return settings->skip_unsupported && result->unsupported
		       ? MAPLE_STATUS_SKIPPED
		       : MAPLE_STATUS_FAILED;
}

static int campaign(struct run *run, struct maple_memo *memo)
{
	struct maple_campaign_options options = run->settings->campaign;
	struct maple_report report = { .source = MAPLE_REPORT_CAMPAIGN,
				       .argv = options.argv };
	struct maple_campaign_result *result;
	struct maple_error err = { "" };
	int ret;

	options.progress = on_progress;
	options.notice = on_notice;
	options.waits = on_wait;
	options.finding = on_finding;
	options.ctx = run;
	/* Where our object goes to stdout, nothing else may. */
	options.quiet_target = run->out == stdout;
	maple_report_begin(run->out, run->settings->format, &options, NULL);
	ret = maple_campaign_run(&options, memo, &result, &err);
	maple_live_clear(&run->live);
	if (ret)
		return maple_say_error(error_status(run->settings, ret), "%s",
				       *err.text ? err.text : strerror(-ret));
	for (unsigned int i = 0; i < result->nfindings; i++)
		maple_again_complete(run->settings, result->findings[i]);
	report.status = result_status(run->settings, result);
	report.result = result;
	ret = maple_out_report(run->out, run->settings, &report);
	maple_campaign_result_destroy(result);
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
	/* Else its absence would look like the program's. */
	if (expected && access(expected, R_OK))
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--expect-output '%s': %s", expected,
				       strerror(errno));
	return maple_run_campaign(settings);
}

/* maple_run_campaign - the campaign that @settings say, and its report */
int maple_run_campaign(struct maple_settings *settings)
{
	struct run run = { .settings = settings };
	struct maple_memo *memo;
	int ret = maple_suppress_open(settings);

	if (ret)
		return ret;
	run.out = maple_out_open(settings, settings->format ? stdout : stderr);
	if (!run.out)
		return MAPLE_STATUS_FAILED;
	maple_live_init(&run.live, settings->quiet ? NULL : stderr);
	ret = maple_database_open(settings, 0, &memo);
	if (!ret) {
		ret = campaign(&run, memo);
		maple_memo_close(memo);
		maple_suppress_tell(settings);
	}
	return maple_out_close(run.out, ret);
}
