// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest: the commands, and the way to them. */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <maple/version.h>
#include "cli.h"

static int command_help(struct maple_settings *settings);

const struct maple_command maple_commands[] = {
	{ "run", MAPLE_CMD_RUN, "[options] [--] PROG [ARGS]",
	  "look for concurrency bugs in PROG", maple_command_run },
	{ "attach", MAPLE_CMD_ATTACH, "[options] PID",
	  "look for them in a program that runs already", maple_command_attach },
	{ "replay", MAPLE_CMD_REPLAY, "[options] FINDING",
	  "rerun what a finding recorded", maple_command_replay },
	{ "report", MAPLE_CMD_REPORT, "[options] [FINDING]",
	  "what was found, in full; without FINDING the list",
	  maple_command_report },
	{ "coverage", MAPLE_CMD_COVERAGE, "[options] [PROGRAM]",
	  "iRoots exposed, predicted, failed, and how they grew",
	  maple_command_coverage },
	{ "serve", MAPLE_CMD_SERVE, "[options]",
	  "what was found, and how coverage grows, in a browser",
	  maple_command_serve },
	{ "memo", MAPLE_CMD_MEMO,
	  "[options] list|forget WHAT...|merge FILE...|deliver|export",
	  "the memo database: list, forget, merge, deliver, export",
	  maple_command_memo },
	{ "doctor", MAPLE_CMD_DOCTOR, "[options] [-- PROG [ARGS]]",
	  "what works on this machine, and how to mend the rest",
	  maple_command_doctor },
	{ "log", MAPLE_CMD_LOG, "[options]",
	  "what campaigns, mapled and maple.ko have said", maple_command_log },
	{ "jobs", MAPLE_CMD_JOBS, "[options] [N...]",
	  "campaigns that go on without a terminal, run --detach",
	  maple_command_jobs },
	{ "help", MAPLE_CMD_NONE, "[COMMAND]", "help, also of one command",
	  command_help },
	{ NULL, 0, NULL, NULL, NULL },
};

static void print_help(FILE *out)
{
	fputs("mapletest finds concurrency bugs in multithreaded programs.\n\n"
	      "usage: mapletest COMMAND [options] ...\n\n"
	      "commands:\n",
	      out);
	for (const struct maple_command *c = maple_commands; c->name; c++)
		fprintf(out, "  %-22s %s\n", c->name, c->help);
	fputs("\noptions:\n", out);
	maple_options_help(out, MAPLE_CMD_NONE);
	fputs("\n'mapletest COMMAND --help' lists a command's options; "
	      "MAPLE_OPTIONS holds\ndefaults for them.\n"
	      "exit status: 0 clean, 66 a finding, 1 not reproduced, 2 usage, "
	      "77 skipped,\n125 maple could not do its work, 126 PROG cannot "
	      "be run, 127 it is not there\n",
	      out);
}

static void print_command_help(FILE *out, const struct maple_command *command)
{
	fprintf(out, "usage: mapletest %s %s\n\n%s\n\noptions:\n",
		command->name, command->arguments, command->help);
	maple_options_help(out, command->bit);
}

static const struct maple_command *find_command(const char *name)
{
	for (const struct maple_command *c = maple_commands; c->name; c++)
		if (!strcmp(name, c->name))
			return c;
	return NULL;
}

static int unknown_command(const char *word)
{
	const char *known[16] = { NULL };
	const char *near;

	for (size_t i = 0; maple_commands[i].name; i++)
		known[i] = maple_commands[i].name;
	near = maple_say_suggest(word, known);
	return maple_say_error(MAPLE_STATUS_USAGE,
			       "unknown command '%s'%s%s%s; see 'mapletest "
			       "help'",
			       word, near ? ", did you mean " : "",
			       near ? near : "", near ? "?" : "");
}

static int command_help(struct maple_settings *settings)
{
	const struct maple_command *command;

	if (!settings->argc || !strcmp(settings->argv[0], "help")) {
		print_help(stdout);
	} else {
		command = find_command(settings->argv[0]);
		if (!command)
			return unknown_command(settings->argv[0]);
		print_command_help(stdout, command);
	}
	return maple_out_close(stdout, MAPLE_STATUS_OK);
}

static int print_version(struct maple_settings *settings)
{
	int ret = maple_out_tables(settings, "the version");

	if (ret)
		return ret;
	if (!settings->format) {
		printf("mapletest %s\n", MAPLE_VERSION);
		return maple_out_close(stdout, MAPLE_STATUS_OK);
	}
	printf("{\"schema\":%d,\"version\":\"%s\",\"backends\":[",
	       MAPLE_REPORT_SCHEMA, MAPLE_VERSION);
	for (unsigned int i = 0; maple_campaign_backend(i); i++)
		printf("%s\"%s\"", i ? "," : "", maple_campaign_backend(i));
	printf("],\"formats\":[");
	for (int f = 0; f < MAPLE_REPORT_FORMATS; f++)
		printf("%s\"%s\"", f ? "," : "",
		       maple_report_format_name((enum maple_report_format)f));
	puts("]}");
	return maple_out_close(stdout, MAPLE_STATUS_OK);
}

/* What comes before a command: --version, --help, or nothing. */
static int no_command(struct maple_settings *settings, int argc, char **argv)
{
	int ret = maple_options_parse(settings, MAPLE_CMD_NONE, argc, argv);

	if (ret)
		return ret;
	if (settings->version)
		return print_version(settings);
	if (settings->help) {
		print_help(stdout);
		return maple_out_close(stdout, MAPLE_STATUS_OK);
	}
	if (settings->argc)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "the command comes first: mapletest "
				       "%s [options]",
				       settings->argv[0]);
	print_help(stderr);
	return MAPLE_STATUS_USAGE;
}

static int run_command(struct maple_settings *settings, int argc, char **argv)
{
	const struct maple_command *command = find_command(argv[1]);
	int ret;

	if (!command)
		return unknown_command(argv[1]);
	ret = maple_options_parse(settings, command->bit, argc - 1, argv + 1);
	if (ret)
		return ret;
	if (settings->help) {
		print_command_help(stdout, command);
		return maple_out_close(stdout, MAPLE_STATUS_OK);
	}
	settings->campaign.observer = maple_host_observer(settings);
	return settings->detach ? maple_detach_run(settings, command, argv)
				: command->main(settings);
}

static void no_reader(int signo)
{
}

int main(int argc, char **argv)
{
	struct maple_settings settings = { .campaign.confirm = 5,
					   .times = 1,
					   .max_jobs = MAPLE_MAX_JOBS };
	int ret;

	setlocale(LC_CTYPE, "");
	/*
	 * A reader that went away is a failed write, not our death. Caught,
	 * not ignored: exec would hand that on to the target.
	 */
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = no_reader }, NULL);
	maple_say_use(&settings);
	if (argc < 2 || argv[1][0] == '-')
		ret = no_command(&settings, argc, argv);
	else
		ret = run_command(&settings, argc, argv);
	maple_host_close(settings.campaign.host);
	maple_options_deinit(&settings);
	return ret;
}
