// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Violations of atomic sets as text: what no finding is, for who asks. */
#include <stdlib.h>
#include <string.h>
#include "report/clean.h"
#include "report/formats.h"
#include "report/words.h"

/* The functions of a unit, as far as its accesses tell: "get, set". */
static void print_unit(FILE *out, const struct maple_finding *f,
		       unsigned int role, const struct maple_report_style *style)
{
	const char *before = NULL, *thread = NULL;

	for (unsigned int i = 0; i < f->nmoments; i++)
		if (f->moments[i].role == role && f->moments[i].thread)
			thread = f->moments[i].thread;
	fprintf(out, "     %c, thread %s:", role ? 'Q' : 'P',
		thread ? maple_clean(thread, style->unicode).text : "?");
	for (unsigned int i = 0; i < f->nmoments; i++) {
		const struct maple_moment *m = &f->moments[i];
		const char *function = m->place.function ? m->place.function
							 : "?";

		if (m->role != role || (before && !strcmp(before, function)))
			continue;
		fprintf(out, "%s %s", before ? "," : "",
			maple_clean(function, style->unicode).text);
		before = function;
	}
	putc('\n', out);
}

static void print_step(FILE *out, const struct maple_moment *m,
		       const struct maple_report_style *style)
{
	fprintf(out, "       %c %s ", m->role ? 'Q' : 'P',
		m->kind == 'R' ? "reads " : "writes");
	fputs(maple_clean(m->variable ? m->variable : "?", style->unicode).text,
	      out);
	fprintf(out, " at %s",
		maple_clean_place(&m->place, 0, style->unicode).text);
	if (m->callers)
		fprintf(out, ", called from %s",
			maple_clean(m->callers, style->unicode).text);
	putc('\n', out);
}

/*
 * maple_words_violation - which it is, and how often: "a stale update: x
 * (pattern 1), in 3 runs, of which 1 failed"; to be freed; NULL: no memory
 */
char *maple_words_violation(const struct maple_finding *f)
{
	const struct maple_violation *v = &f->violation;
	char failed[32] = "", *text;

	if (v->failed_runs)
		snprintf(failed, sizeof(failed), ", of which %u failed",
			 v->failed_runs);
	if (asprintf(&text, "%s: %s%s (pattern %u), in %u run%s%s",
		     maple_violation_words(v->pattern),
		     v->declared ? "set " : "", v->set ? v->set : "?",
		     v->pattern, v->runs, v->runs == 1 ? "" : "s", failed) < 0)
		return NULL;
	return text;
}

static void print_title(FILE *out, const struct maple_finding *f,
			const struct maple_report_style *style)
{
	char *words = maple_words_violation(f);

	fprintf(out, "%s\n", maple_clean(words, style->unicode).text);
	free(words);
}

static void print_body(FILE *out, const struct maple_finding *f,
		       const struct maple_report_style *style)
{
	print_unit(out, f, 0, style);
	print_unit(out, f, 1, style);
	for (unsigned int i = 0; i < f->nmoments; i++)
		print_step(out, &f->moments[i], style);
	if (f->violation.forced_runs)
		fprintf(out,
			"     confirmed: foreseen, and forced in %u run%s\n",
			f->violation.forced_runs,
			f->violation.forced_runs == 1 ? "" : "s");
	if (f->replay)
		fprintf(out, "     Replay: %s\n",
			maple_clean(f->replay, style->unicode).text);
}

/* maple_report_violation - one alone, in full */
void maple_report_violation(FILE *out, const struct maple_finding *f,
			    const struct maple_report_style *style)
{
	fprintf(out, "Violation %s of an atomic set, no failure by itself: ",
		maple_clean(f->id, style->unicode).text);
	print_title(out, f, style);
	if (f->suppressed)
		fprintf(out, "     suppressed by %s\n",
			maple_clean(f->suppressed, style->unicode).text);
	print_body(out, f, style);
}

/* Suppressed ones are counted, and not told. */
static void print_each(FILE *out, const struct maple_violations *v,
		       const struct maple_report_style *style)
{
	struct maple_violation_counts counts;
	unsigned int number = 0;

	maple_violations_count(v, &counts);
	for (unsigned int i = 0; i < v->n; i++) {
		if (v->at[i]->suppressed)
			continue;
		fprintf(out, "\n%3u. ", ++number);
		print_title(out, v->at[i], style);
		print_body(out, v->at[i], style);
	}
	if (counts.suppressed)
		fprintf(out, "and %u that %s suppressed\n", counts.suppressed,
			counts.suppressed == 1 ? "is" : "are");
}

void maple_report_violations(FILE *out, const struct maple_violations *v,
			     const struct maple_report_style *style)
{
	if (!v->asked)
		return;
	fprintf(out, "%u violation%s of atomic sets", v->n,
		v->n == 1 ? "" : "s");
	if (v->runs)
		fprintf(out, " in %llu runs", (unsigned long long)v->runs);
	fputs(": orders of two units that no serial one has; ", out);
	if (v->failures)
		fprintf(out, "%u of declared sets, which are failures\n",
			v->failures);
	else
		fputs("no failures by themselves\n", out);
	print_each(out, v, style);
	if (v->more)
		fprintf(out, "and %llu more, which are not told\n",
			(unsigned long long)v->more);
	if (v->cut && style->output)
		fprintf(out, "let go by a limit: %llu units or orders\n",
			(unsigned long long)v->cut);
}

void maple_report_violation_counts(FILE *out,
				   const struct maple_violation_counts *counts)
{
	fprintf(out,
		"violations of atomic sets: %u kept, %u confirmed by forcing, "
		"%u in runs that failed, %u suppressed\n",
		counts->kept, counts->forced, counts->failed,
		counts->suppressed);
	for (unsigned int i = 1; i <= MAPLE_SET_PATTERNS; i++)
		if (counts->of[i])
			fprintf(out, "  pattern %2u: %u, %u confirmed; %s\n", i,
				counts->of[i], counts->forced_of[i],
				maple_violation_words(i));
}
