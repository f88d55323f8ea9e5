// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A test program's cases as text: a line each, and the sum. */
#include <string.h>
#include <maple/report.h>
#include "report/clean.h"
#include "report/words.h"

#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define NORMAL "\033[0m"

static void print_case(FILE *out, const struct maple_suite_case *c,
		       const struct maple_report_style *style)
{
	enum maple_suite_verdict verdict = maple_suite_judge(c);
	const struct maple_campaign_result *r = c->result;

	fprintf(out, "%s%-15s%s %s",
		style->colour && verdict == MAPLE_SUITE_FOUND ? RED : "",
		maple_suite_verdict_name(verdict),
		style->colour && verdict == MAPLE_SUITE_FOUND ? NORMAL : "",
		maple_clean(c->name, style->unicode).text);
	if (r)
		fprintf(out, " (%u runs, %.1f s)",
			r->runs.baseline + r->runs.profile + r->runs.enforced +
				r->runs.controlled + r->runs.confirm,
			r->seconds);
	if (verdict == MAPLE_SUITE_UNTESTED)
		fprintf(out, ": %s",
			maple_clean(maple_suite_why(c), style->unicode).text);
	if (verdict == MAPLE_SUITE_FOUND)
		fprintf(out, ": %s",
			maple_clean(r->findings[0]->title, style->unicode).text);
	putc('\n', out);
}

void maple_report_suite(FILE *out, const struct maple_suite *suite,
			const struct maple_report_style *style)
{
	unsigned int count[MAPLE_SUITE_VERDICTS];
	const char *before = ": ", *weaker = NULL;

	maple_suite_sum(suite, count);
	for (unsigned int i = 0; i < suite->n; i++)
		if (!style->quiet ||
		    maple_suite_judge(&suite->cases[i]) != MAPLE_SUITE_CLEAN)
			print_case(out, &suite->cases[i], style);
	fprintf(out, "%s%u case%s (%s) in %.1f s", style->colour ? BOLD : "",
		suite->n, suite->n == 1 ? "" : "s", suite->framework,
		suite->seconds);
	for (unsigned int i = 0; i < MAPLE_SUITE_VERDICTS; i++) {
		if (!count[i])
			continue;
		fprintf(out, "%s%s: %u", before, maple_suite_verdict_name(i),
			count[i]);
		before = ", ";
	}
	if (suite->disabled)
		fprintf(out, "; %u disabled, left out", suite->disabled);
	fprintf(out, "%s\n", style->colour ? NORMAL : "");
	for (unsigned int i = 0; i < suite->n && !weaker; i++)
		if (suite->cases[i].result)
			weaker = maple_words_weaker(suite->cases[i].result);
	if (weaker)
		fprintf(out, "%s\n", weaker);
}
