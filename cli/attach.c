// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest attach: a campaign on a program that runs. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static pid_t parse_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	return *end || errno || pid <= 0 || pid > INT_MAX ? 0 : (pid_t)pid;
}

static int open_status(const struct maple_settings *settings, int error)
{
	return settings->skip_unsupported &&
			       (error == -EPERM || error == -ENOTSUP)
		       ? MAPLE_STATUS_SKIPPED
		       : MAPLE_STATUS_FAILED;
}

int maple_command_attach(struct maple_settings *settings)
{
	struct maple_error err = { "" };
	struct maple_attached *attached;
	pid_t pid;
	int ret;

	if (settings->argc != 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "which process? mapletest attach "
				       "[options] PID");
	pid = parse_pid(settings->argv[0]);
	if (!pid)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "'%s' is no process number: `pidof "
				       "PROGRAM` knows it",
				       settings->argv[0]);
	ret = maple_attach_open(pid, &attached, &err);
	if (ret)
		return maple_say_error(open_status(settings, ret), "%s",
				       err.text);
	settings->campaign.attached = attached;
	settings->campaign.argv = maple_attach_argv(attached);
	ret = maple_run_campaign(settings);
	maple_attach_close(attached);
	return ret;
}
