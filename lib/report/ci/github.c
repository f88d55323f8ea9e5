// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Workflow commands of GitHub Actions: an annotation at the source line, and
 * the whole as a group of the log. The runner looks for commands in every
 * line, so the text, which has names of the target in it, stands between
 * stop-commands and a word that nobody can guess.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "report/tests/cases.h"
#include "report/clean.h"
#include "report/formats.h"
#include "report/source.h"
#include "report/words.h"

/* Nothing for a terminal's eyes either: people read the log in one. */
static void print_escaped(FILE *out, const char *text, const char *special)
{
	char c[5];
	size_t n;

	for (; (n = maple_clean_char(text, c, true)); text += n) {
		if (*text == '\n')
			fputs("%0A", out);
		else if (strchr(special, *c))
			fprintf(out, "%%%02X", (unsigned char)*c);
		else
			fputs(c, out);
	}
}

static void print_property(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=", name);
	print_escaped(out, value, "%:,");
}

static void print_annotation(FILE *out, const struct maple_report *report,
			     const struct maple_case *c)
{
	static const char *const levels[] = {
		[MAPLE_CASE_PASSED] = "notice",
		[MAPLE_CASE_FAILED] = "error",
		[MAPLE_CASE_BROKEN] = "error",
		[MAPLE_CASE_SKIPPED] = "warning",
	};
	const struct maple_finding *f = c->finding;
	const struct maple_place *place =
		f ? maple_source_primary(report->root, f) : NULL;
	struct maple_source source;
	char *sentences;

	fprintf(out, "::%s ", c->note ? "notice" : levels[c->verdict]);
	if (place && maple_source_find(report->root, place, &source) &&
	    source.below) {
		print_property(out, "file", source.path);
		fprintf(out, ",line=%u,", place->line);
	}
	print_property(out, "title", f ? c->message : c->name);
	fputs("::", out);
	sentences = c->note ? strdup(c->detail)
		    : f	    ? maple_words_finding(f)
			    : NULL;
	print_escaped(out, sentences ? sentences : c->message, "%");
	free(sentences);
	putc('\n', out);
}

static int print_group(FILE *out, const struct maple_case *c,
		       struct maple_error *err)
{
	uint64_t word[2];

	if (getrandom(word, sizeof(word), 0) != sizeof(word))
		return maple_error_set(err, EIO, "no random numbers: %m");
	fputs("::group::", out);
	print_escaped(out, c->message, "%");
	fprintf(out, "\n::stop-commands::%016" PRIx64 "%016" PRIx64 "\n",
		word[0], word[1]);
	fputs(c->detail, out);
	fprintf(out, "::%016" PRIx64 "%016" PRIx64 "::\n::endgroup::\n",
		word[0], word[1]);
	return 0;
}

static void print_sum(FILE *out, const struct maple_suite *suite)
{
	unsigned int count[MAPLE_SUITE_VERDICTS];

	maple_suite_sum(suite, count);
	fputs("::notice title=mapletest::", out);
	for (unsigned int i = 0; i < MAPLE_SUITE_VERDICTS; i++)
		fprintf(out, "%s%s: %u", i ? ", " : "",
			maple_suite_verdict_name(i), count[i]);
	fprintf(out, ", disabled: %u\n", suite->disabled);
}

static int write_github(FILE *out, const struct maple_report *report,
			const struct maple_report_style *style,
			struct maple_error *err)
{
	struct maple_cases cases;
	int ret = 0;

	if (maple_cases_init(&cases, report))
		return maple_error_set(err, ENOMEM, "out of memory");
	for (unsigned int i = 0; i < cases.n && !ret; i++) {
		const struct maple_case *c = &cases.at[i];

		/* Of many cases the sum is enough, where all is well. */
		if (report->suite && !c->note &&
		    c->verdict != MAPLE_CASE_FAILED &&
		    c->verdict != MAPLE_CASE_BROKEN)
			continue;
		print_annotation(out, report, c);
		if (*c->detail && !c->note)
			ret = print_group(out, c, err);
	}
	if (report->suite)
		print_sum(out, report->suite);
	else if (!cases.n)
		fputs("::notice title=mapletest::no findings are stored\n", out);
	maple_cases_deinit(&cases);
	return ret;
}

const struct maple_format maple_format_github = { .name = "github",
						  .write = write_github };
