// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The summary page of a job: a heading for each case, and the finding in a
 * fence, where Markdown reads nothing. The fence is longer than any run of
 * backticks in it.
 */
#include <errno.h>
#include <string.h>
#include "report/tests/cases.h"
#include "report/formats.h"

static const char *const marks[] = {
	[MAPLE_CASE_PASSED] = "✅",
	[MAPLE_CASE_FAILED] = "❌",
	[MAPLE_CASE_BROKEN] = "⚠️",
	[MAPLE_CASE_SKIPPED] = "⏭️",
};

/* Every sign that Markdown or HTML could read. */
static void print_words(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]()#+-.!|~&<>", *text))
			fprintf(out, "&#%d;", *text);
		else
			putc(*text == '\n' ? ' ' : *text, out);
	}
}

static void print_fenced(FILE *out, const char *text)
{
	size_t most = 2, n;

	for (const char *p = text; *p; p += n ? n : 1) {
		n = strspn(p, "`");
		most = n > most ? n : most;
	}
	for (int end = 0; end < 2; end++) {
		for (size_t i = 0; i <= most; i++)
			putc('`', out);
		fprintf(out, "%s\n", end ? "" : "text");
		if (!end)
			fputs(text, out);
	}
	putc('\n', out);
}

int maple_report_markdown(FILE *out, const struct maple_report *report,
			  struct maple_error *err)
{
	struct maple_cases cases;

	if (maple_cases_init(&cases, report))
		return maple_error_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < cases.n; i++) {
		const struct maple_case *c = &cases.at[i];

		/* Of many cases a line is enough, where all is well. */
		if (report->suite && !*c->detail) {
			fprintf(out, "* %s ", marks[c->verdict]);
			print_words(out, c->name);
			fputs(": ", out);
			print_words(out, c->message);
			putc('\n', out);
			continue;
		}
		fprintf(out, "%s### %s ", report->suite ? "\n" : "",
			marks[c->verdict]);
		print_words(out, c->name);
		fputs("\n\n", out);
		print_words(out, c->message);
		fputs("\n\n", out);
		if (*c->detail)
			print_fenced(out, c->detail);
	}
	if (!cases.n && !report->suite)
		fputs("No findings are stored.\n\n", out);
	maple_cases_deinit(&cases);
	if (fflush(out) || ferror(out))
		return maple_error_set(err, EIO,
				       "the report could not be written: %m");
	return 0;
}
