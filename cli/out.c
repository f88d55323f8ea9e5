// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Where reports go, and how they may look there. */
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cli.h"

/*
 * maple_out_open - --output, or @fallback
 *
 * Returns NULL, the error said, if the file cannot be written.
 */
FILE *maple_out_open(const struct maple_settings *settings, FILE *fallback)
{
	static bool opened;
	FILE *out;

	if (!settings->output)
		return fallback;
	if (!strcmp(settings->output, "-"))
		return stdout;
	/* An error may come after a stream of lines has begun. */
	out = fopen(settings->output, opened ? "ae" : "we");
	opened = true;
	if (!out) {
		/* The error object cannot go there either. */
		fprintf(stderr, "mapletest: --output '%s': %s\n",
			settings->output, strerror(errno));
	}
	return out;
}

/* maple_out_close - @status, unless what was written did not get there */
int maple_out_close(FILE *out, int status)
{
	bool bad = fflush(out) || ferror(out);

	if (out != stdout && out != stderr)
		bad |= fclose(out) != 0;
	if (!bad)
		return status;
	fprintf(stderr, "mapletest: the report could not be written: %s\n",
		strerror(errno));
	return MAPLE_STATUS_FAILED;
}

static bool set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

unsigned int maple_out_columns(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return 80;
	return size.ws_col;
}

static bool terminal(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

/* maple_out_live - whether a line may be rewritten there */
bool maple_out_live(FILE *out)
{
	return terminal(out) && !set("CI") && !set("GITHUB_ACTIONS");
}

struct maple_report_style maple_out_style(FILE *out,
					  const struct maple_settings *s)
{
	return (struct maple_report_style){
		.colour = terminal(out) && !set("NO_COLOR"),
		.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.output = s->verbose,
		.width = maple_out_columns(out),
	};
}
