// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Violations of atomic sets as text: what no finding is, for who asks. */
#include <string.h>
#include "report/clean.h"
#include "report/formats.h"
#include "report/words.h"

/* The functions of a unit, as far as its accesses tell: "get, set". */
static void print_unit(FILE *out, const struct maple_violation *v,
		       unsigned int role, const struct maple_report_style *style)
{
	const char *before = NULL, *thread = NULL;

	for (unsigned int i = 0; i < v->nmoments; i++)
		if (v->moments[i].role == role && v->moments[i].thread)
			thread = v->moments[i].thread;
	fprintf(out, "     %c, thread %s:", role ? 'Q' : 'P',
		thread ? maple_clean(thread, style->unicode).text : "?");
	for (unsigned int i = 0; i < v->nmoments; i++) {
		const struct maple_moment *m = &v->moments[i];
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

static void print_one(FILE *out, unsigned int number,
		      const struct maple_violation *v,
		      const struct maple_report_style *style)
{
	struct maple_clean set =
		maple_clean(v->set ? v->set : "?", style->unicode);

	fprintf(out, "\n%3u. %s: %s%s (pattern %u), in %u run%s", number,
		maple_violation_words(v->pattern), v->declared ? "set " : "",
		set.text, v->pattern, v->runs, v->runs == 1 ? "" : "s");
	if (v->failed_runs)
		fprintf(out, ", of which %u failed", v->failed_runs);
	putc('\n', out);
	print_unit(out, v, 0, style);
	print_unit(out, v, 1, style);
	for (unsigned int i = 0; i < v->nmoments; i++)
		print_step(out, &v->moments[i], style);
}

void maple_report_violations(FILE *out, const struct maple_violations *v,
			     const struct maple_report_style *style)
{
	if (!v->asked)
		return;
	fprintf(out,
		"%u violation%s of atomic sets in %llu runs: orders of two units"
		" that no serial one has; ",
		v->n, v->n == 1 ? "" : "s", (unsigned long long)v->runs);
	if (v->failures)
		fprintf(out, "%u of declared sets, which are failures\n",
			v->failures);
	else
		fputs("no failures by themselves\n", out);
	for (unsigned int i = 0; i < v->n; i++)
		print_one(out, i + 1, v->at[i], style);
	if (v->more)
		fprintf(out, "and %llu more, which are not told\n",
			(unsigned long long)v->more);
	if (v->cut && style->output)
		fprintf(out, "let go by a limit: %llu units or orders\n",
			(unsigned long long)v->cut);
}
