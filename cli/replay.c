// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest replay: reruns what a finding recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static void on_notice(void *ctx, const char *text)
{
	maple_say_notice("%s", text);
}

static int load(struct maple_settings *settings, const char *id,
		struct maple_finding **finding)
{
	struct maple_error err = { "" };
	struct maple_memo *memo;
	int ret = maple_database_open(settings, MAPLE_MEMO_READONLY, &memo);

	if (ret)
		return ret;
	if (maple_memo_finding_load(memo, id, finding, &err))
		ret = maple_say_error(MAPLE_STATUS_FAILED, "%s", err.text);
	maple_memo_close(memo);
	return ret;
}

static int replay(const struct maple_settings *settings,
		  struct maple_finding *finding, FILE *out)
{
	struct maple_campaign_options options = settings->campaign;
	struct maple_finding *const one[] = { finding };
	struct maple_report report = { .source = MAPLE_REPORT_REPLAY,
				       .argv = finding->argv,
				       .findings = one,
				       .nfindings = 1,
				       .times = settings->times,
				       .flip = settings->flip };
	struct maple_error err = { "" };
	int ret;

	options.argv = finding->argv;
	options.exe = finding->exe;
	options.input = finding->input;
	options.seed = finding->seed;
	options.notice = on_notice;
	options.quiet_target = out == stdout;
	ret = maple_campaign_replay(&options, finding, report.times,
				    report.flip, &report.fails, &err);
	if (ret)
		return maple_say_error(ret == -ENOENT ? MAPLE_STATUS_NOT_THERE
				       : ret == -ENOEXEC || ret == -EACCES
					       ? MAPLE_STATUS_CANNOT_RUN
					       : MAPLE_STATUS_FAILED,
				       "%s",
				       *err.text ? err.text : strerror(-ret));
	report.status = report.fails ? MAPLE_STATUS_OK
				     : MAPLE_STATUS_NOT_REPRODUCED;
	return maple_out_report(out, settings, &report);
}

int maple_command_replay(struct maple_settings *settings)
{
	struct maple_finding *finding;
	const char *expected = settings->campaign.expect_output;
	char *absolute = NULL;
	FILE *out;
	int ret;

	if (settings->argc != 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "which finding? mapletest replay "
				       "FINDING; 'mapletest report' lists "
				       "them");
	if (!settings->times)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--times wants a number from 1 on");
	/* The replay runs in the finding's directory. */
	if (expected) {
		absolute = realpath(expected, NULL);
		if (!absolute)
			return maple_say_error(MAPLE_STATUS_USAGE,
					       "--expect-output '%s': %s",
					       expected, strerror(errno));
		settings->campaign.expect_output = absolute;
	}
	ret = load(settings, settings->argv[0], &finding);
	if (!ret) {
		out = maple_out_open(settings,
				     settings->format ? stdout : stderr);
		ret = out ? maple_out_close(out, replay(settings, finding, out))
			  : MAPLE_STATUS_FAILED;
		maple_finding_destroy(finding);
	}
	free(absolute);
	return ret;
}
