// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The replay command of a finding, with the options that it takes to be
 * judged and found again: they are the command line's, not the finding's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

#define NAME "mapletest"

/* @word as the shell reads it back. */
static void print_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

static void add(FILE *out, const char *command, const char *option,
		const char *value)
{
	if (!value || strstr(command, option))
		return;
	fprintf(out, " %s ", option);
	print_word(out, value);
}

/* maple_again_complete - adds to @finding's command what @settings say */
void maple_again_complete(const struct maple_settings *settings,
			  struct maple_finding *finding)
{
	const struct maple_campaign_options *o = &settings->campaign;
	const char *before = finding->replay;
	char *command = NULL;
	size_t size;
	FILE *out;

	if (!before)
		return;
	out = open_memstream(&command, &size);
	if (!out)
		return;
	/* As this program was called, so that the line works as it stands. */
	if (strchr(program_invocation_name, '/') &&
	    !strncmp(before, NAME, strlen(NAME))) {
		print_word(out, program_invocation_name);
		fputs(before + strlen(NAME), out);
	} else {
		fputs(before, out);
	}
	if (settings->db && strcmp(settings->db, ":memory:") != 0)
		add(out, before, "--db", settings->db);
	add(out, before, "--socket", settings->socket);
	add(out, before, "--oracle", o->oracle);
	add(out, before, "--expect-output", o->expect_output);
	add(out, before, "--setup", o->setup);
	add(out, before, "--teardown", o->teardown);
	if (fclose(out)) {
		free(command);
		return;
	}
	free(finding->replay);
	finding->replay = command;
}
