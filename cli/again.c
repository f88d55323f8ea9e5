// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The replay command of a finding, with the options that it takes to be
 * judged and found again: they are the command line's, not the finding's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"

static void add(FILE *out, const char *option, const char *value)
{
	if (!value)
		return;
	fprintf(out, " %s ", option);
	maple_report_word(out, value);
}

/* maple_again_complete - @finding's command line, for a reader of @settings */
void maple_again_complete(const struct maple_settings *settings,
			  struct maple_finding *finding)
{
	const struct maple_campaign_options *o = &settings->campaign;
	char *command = NULL;
	size_t size;
	FILE *out;

	if (!finding->replay)
		return;
	out = open_memstream(&command, &size);
	if (!out)
		return;
	/* As this program was called, so that the line works as it stands. */
	if (strchr(program_invocation_name, '/'))
		maple_report_word(out, program_invocation_name);
	else
		fputs("mapletest", out);
	fputs(" replay ", out);
	if (finding->owner != geteuid())
		fprintf(out, "--foreign %u:", finding->owner);
	fputs(finding->id, out);
	if (settings->db && strcmp(settings->db, ":memory:") != 0)
		add(out, "--db", settings->db);
	add(out, "--socket", settings->socket);
	add(out, "--oracle", o->oracle);
	add(out, "--expect-output", o->expect_output);
	add(out, "--setup", o->setup);
	add(out, "--teardown", o->teardown);
	if (fclose(out)) {
		free(command);
		return;
	}
	free(finding->replay);
	finding->replay = command;
}
