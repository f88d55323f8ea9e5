// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest replay: reruns what a finding recorded. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static void on_notice(void *ctx, const char *text)
{
	maple_say_notice("%s", text);
}

static int load(struct maple_settings *settings, const char *id,
		struct maple_finding **finding)
{
	struct maple_memo *memo;
	int ret = maple_database_open(settings, MAPLE_MEMO_READONLY, &memo);

	if (ret)
		return ret;
	ret = maple_database_finding(memo, id, finding);
	maple_memo_close(memo);
	return ret;
}

/*
 * A replay runs the finding's command line in the finding's directory. What
 * somebody else has put there, he could have run as us; so he is named, and
 * what would be run. Who is root is asked as well, he above all.
 */
static int check_owner(const struct maple_settings *settings,
		       const struct maple_finding *finding)
{
	const struct passwd *user = getpwuid(finding->owner);
	char name[64];

	if (settings->foreign || finding->owner == geteuid())
		return 0;
	snprintf(name, sizeof(name), "%u", finding->owner);
	return maple_say_error(
		MAPLE_STATUS_FAILED,
		"finding %s is of user %.60s: a replay would run his '%.200s' "
		"in %.200s as you; if you trust that: mapletest replay "
		"--foreign %s:%s",
		finding->id, user ? user->pw_name : name,
		*finding->argv ? *finding->argv : "",
		finding->cwd ? finding->cwd : "your directory", name,
		finding->id);
}

/* Where else it was found, to be freed; NULL: here, or nobody knows. */
static char *find_elsewhere(const struct maple_finding *finding)
{
	struct maple_memo_machine *here = maple_memo_here();
	char *text = here ? maple_report_elsewhere(finding, here) : NULL;

	if (here)
		maple_memo_machines_destroy(here, 1);
	return text;
}

/* That it cannot be replayed, and where it could be. */
static int say_failed(int ret, const char *why, const char *elsewhere)
{
	int status = ret == -ENOENT ? MAPLE_STATUS_NOT_THERE
		     : ret == -ENOEXEC || ret == -EACCES
			     ? MAPLE_STATUS_CANNOT_RUN
			     : MAPLE_STATUS_FAILED;

	return maple_say_error(status, "%s%s%s", why,
			       elsewhere ? "; it was found elsewhere, " : "",
			       elsewhere ? elsewhere : "");
}

static int replay(const struct maple_settings *settings,
		  struct maple_finding *finding, FILE *out)
{
	char *elsewhere = find_elsewhere(finding);
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
		ret = say_failed(ret, *err.text ? err.text : strerror(-ret),
				 elsewhere);
	else if (elsewhere)
		maple_say_notice("finding %s was found elsewhere, %s%s",
				 finding->id, elsewhere,
				 report.fails || report.flip
					 ? ""
					 : ": it does not fail here");
	free(elsewhere);
	if (ret)
		return ret;
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
	if (settings->campaign.under && settings->format && !settings->output)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "--under has standard output: a report "
				       "in this format needs --output FILE");
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
		ret = check_owner(settings, finding);
		out = ret ? NULL
			  : maple_out_open(settings,
					   settings->format ? stdout : stderr);
		if (out)
			ret = maple_out_close(out,
					      replay(settings, finding, out));
		else if (!ret)
			ret = MAPLE_STATUS_FAILED;
		maple_finding_destroy(finding);
	}
	free(absolute);
	return ret;
}
