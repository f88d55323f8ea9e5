// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* One function says errors, one says notices. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

static const struct maple_settings *current;

/* maple_say_use - whose --format, --output and --quiet hold from now on */
void maple_say_use(const struct maple_settings *settings)
{
	current = settings;
}

/* maple_say_line - names and paths in @text may be a stranger's */
void maple_say_line(const char *text)
{
	fputs("mapletest: ", stderr);
	maple_report_clean(stderr, text);
	putc('\n', stderr);
	maple_detach_line(text);
}

/*
 * maple_say_error - says an error; as an object too, where a machine reads
 *
 * Returns @status.
 */
int maple_say_error(int status, const char *fmt, ...)
{
	static bool said;
	struct maple_report report = { .source = MAPLE_REPORT_ERROR,
				       .status = status };
	char text[1024];
	va_list ap;
	FILE *out;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	maple_say_line(text);
	report.error = text;
	if (current)
		maple_detach_report(current, &report);
	/* The other forms are one document: what comes first is in it. */
	if (!current || current->format == MAPLE_REPORT_TEXT || said)
		return status;
	said = true;
	report.argv = current->campaign.argv;
	out = maple_out_open(current, stdout);
	if (!out)
		return status;
	maple_out_report(out, current, &report);
	if (out != stdout)
		fclose(out);
	return status;
}

/* maple_say_failed - says @err; returns the exit status for that */
int maple_say_failed(const struct maple_error *err)
{
	return maple_say_error(MAPLE_STATUS_FAILED, "%s", err->text);
}

void maple_say_notice(const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	if (current && current->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	maple_say_line(text);
}

#define WORD 32

/* Edits that make @a of @b; a transposition counts as two. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[WORD + 1];
	size_t n = strlen(b);

	if (n > WORD)
		return WORD;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; a[i - 1]; i++) {
		unsigned int corner = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned int best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

/* maple_say_suggest - the word of @known that @word may mean, or NULL */
const char *maple_say_suggest(const char *word, const char *const *known)
{
	const char *best = NULL;
	unsigned int least = 3;

	for (; *known; known++) {
		unsigned int d = distance(word, *known);

		if (d < least && d < strlen(*known)) {
			best = *known;
			least = d;
		}
	}
	return best;
}
