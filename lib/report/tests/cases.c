// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A report as test cases, for the forms that test runners read: a campaign is
 * one case, a stored finding is one, a probe is one, a case of a suite is one.
 * The verdict is the exit status's, so that a form cannot say other than the
 * tool does. With --violations each violation of an atomic set is a case as
 * well, which is skipped: it is told, and nothing passes or fails by it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "cases.h"
#include "report/clean.h"
#include "report/formats.h"
#include "report/words.h"

#define FINDING 66
#define SKIPPED 77
#define LINE	400 /* of a message */

static enum maple_case_verdict verdict(int status)
{
	switch (status) {
	case 0:
		return MAPLE_CASE_PASSED;
	case FINDING:
		return MAPLE_CASE_FAILED;
	case SKIPPED:
		return MAPLE_CASE_SKIPPED;
	default:
		return MAPLE_CASE_BROKEN;
	}
}

/*
 * maple_cases_command - a program and its arguments as one line, to be freed
 *
 * For people: NULL is "mapletest", and NULL is returned without memory.
 */
char *maple_cases_command(char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!argv || !*argv)
		fputs("mapletest", out);
	for (int i = 0; argv && argv[i]; i++)
		fprintf(out, "%s%s", i ? " " : "",
			maple_clean(argv[i], true).text);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* A finding in full, or several. */
static char *describe(struct maple_finding *const *findings, size_t n)
{
	static const struct maple_report_style style = { .unicode = true,
							 .output = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (i)
			putc('\n', out);
		maple_report_text(out, findings[i], &style);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Those of declared sets, with --strict-sets; or one, @alone. */
static char *describe_violations(const struct maple_violations *v,
				 const struct maple_finding *alone)
{
	static const struct maple_report_style style = { .unicode = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (alone)
		maple_report_violation(out, alone, &style);
	else
		maple_report_violations(out, v, &style);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Fills in the strings; a NULL among them shows in maple_cases_init(). */
__attribute__((format(printf, 3, 4))) static void
say(struct maple_case *c, char *detail, const char *fmt, ...)
{
	char text[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	c->message = strdup(maple_clean(text, true).text);
	c->detail = detail;
}

/* With what is known of it from earlier campaigns. */
static void say_finding(struct maple_case *c, char *detail, const char *more)
{
	char *history = maple_words_history(c->finding);
	bool any = history && *history;

	say(c, detail, "maple: %s%s%s%s%s", c->finding->title, any ? " (" : "",
	    any ? history : "", any ? ")" : "", more);
	free(history);
}

/* Of a campaign that was carried out; its name is not filled in. */
static void add_result(struct maple_case *c,
		       const struct maple_campaign_result *result)
{
	unsigned int n = result->nfindings;
	char more[32] = "";
	const char *weaker = maple_words_weaker(result);
	uint64_t exposed = maple_coverage_sum(&result->coverage).exposed;

	c->result = result;
	c->seconds = result->seconds;
	if (n > 1)
		snprintf(more, sizeof(more), ", and %u more", n - 1);
	if (n) {
		c->finding = result->findings[0];
		c->type = maple_failure_name(c->finding->kind);
		say_finding(c, describe(result->findings, n), more);
	} else if (result->violations.failures) {
		c->type = "violation";
		say(c, describe_violations(&result->violations, NULL),
		    "maple: %u violations of declared atomic sets",
		    result->violations.failures);
	} else if (result->undelivered) {
		c->type = "undelivered";
		say(c, strdup(""), "nothing was tested: %s",
		    result->undelivered);
	} else if (c->verdict != MAPLE_CASE_PASSED) {
		c->type = "interrupted";
		say(c, strdup(""), "interrupted before it had a finding");
	} else {
		say(c, describe(result->suppressed, result->nsuppressed),
		    "no finding; %llu %ss exposed, %llu candidates left, "
		    "%s; %u fixed%s%s",
		    (unsigned long long)exposed,
		    maple_coverage_noun(&result->coverage),
		    (unsigned long long)result->candidates_left,
		    maple_stop_name(result->stop), result->nfixed,
		    weaker ? "; " : "", weaker ? weaker : "");
	}
}

static void add_campaign(struct maple_case *c, const struct maple_report *r)
{
	c->name = maple_cases_command(r->argv);
	add_result(c, r->result);
}

/* What never has a second thread has nothing that could be tested. */
static void add_suite(struct maple_case *c, const struct maple_suite_case *of)
{
	static const enum maple_case_verdict verdicts[MAPLE_SUITE_VERDICTS] = {
		[MAPLE_SUITE_CLEAN] = MAPLE_CASE_PASSED,
		[MAPLE_SUITE_FOUND] = MAPLE_CASE_FAILED,
		[MAPLE_SUITE_SINGLE] = MAPLE_CASE_SKIPPED,
		[MAPLE_SUITE_UNTESTED] = MAPLE_CASE_BROKEN,
	};
	enum maple_suite_verdict verdict = maple_suite_judge(of);

	c->verdict = verdicts[verdict];
	c->name = strdup(maple_clean(of->name, true).text);
	if (verdict == MAPLE_SUITE_CLEAN || verdict == MAPLE_SUITE_FOUND) {
		add_result(c, of->result);
		return;
	}
	c->result = of->result;
	c->seconds = of->result ? of->result->seconds : 0;
	c->type = maple_suite_verdict_name(verdict);
	say(c, strdup(""), "%s: %s", c->type, maple_suite_why(of));
}

/* "PROGRAM: TITLE (ID)" */
static void name_by(struct maple_case *c, const struct maple_finding *f)
{
	char *program = maple_cases_command(f->argv);

	c->finding = f;
	c->type = maple_failure_name(f->kind);
	if (!program || asprintf(&c->name, "%s: %s (%s)", program,
				 maple_clean(f->title, true).text,
				 maple_clean(f->id, true).text) < 0)
		c->name = NULL;
	free(program);
}

static void add_finding(struct maple_case *c, struct maple_finding *const *f)
{
	name_by(c, *f);
	c->verdict = (*f)->suppressed ? MAPLE_CASE_SKIPPED
		     : (*f)->fixed_at ? MAPLE_CASE_PASSED
				      : MAPLE_CASE_FAILED;
	if ((*f)->suppressed)
		say(c, describe(f, 1), "suppressed by %s", (*f)->suppressed);
	else
		say_finding(c, describe(f, 1), "");
}

static void add_violation(struct maple_case *c, const struct maple_finding *f)
{
	char *words = maple_words_violation(f);

	name_by(c, f);
	c->note = true;
	c->verdict = MAPLE_CASE_SKIPPED;
	if (words)
		say(c, describe_violations(NULL, f),
		    "maple: violation of an atomic set: %s", words);
	free(words);
}

static void add_replay(struct maple_case *c, const struct maple_report *r)
{
	const struct maple_finding *f = *r->findings;

	/* Not to reproduce is a failed test, not a broken one. */
	if (r->status == 1)
		c->verdict = MAPLE_CASE_FAILED;
	c->finding = f;
	c->type = "not reproduced";
	if (asprintf(&c->name, "replay of %s", maple_clean(f->id, true).text) <
	    0)
		c->name = NULL;
	say(c, describe(r->findings, 1), "%s: %s %u/%u %s",
	    maple_clean(f->title, true).text, r->flip ? "reversed" : "forced",
	    r->fails, r->times, maple_words_replayed(f));
}

static void add_probe(struct maple_case *c, const struct maple_probe *p)
{
	c->verdict = p->state == MAPLE_PROBE_MISSING ? MAPLE_CASE_BROKEN
						     : MAPLE_CASE_PASSED;
	c->type = "missing";
	c->name = strdup(maple_clean(p->name, true).text);
	say(c, strdup(""), "%s%s%s", p->text, *p->mend ? "; to mend: " : "",
	    p->mend);
}

static unsigned int count(const struct maple_report *r)
{
	switch (r->source) {
	case MAPLE_REPORT_FINDINGS:
		return (unsigned int)r->nfindings;
	case MAPLE_REPORT_PROBES:
		return r->nprobes;
	case MAPLE_REPORT_SUITE:
		return r->suite->n;
	default:
		return 1;
	}
}

static void add(struct maple_case *c, const struct maple_report *r,
		unsigned int i)
{
	c->verdict = verdict(r->status);
	switch (r->source) {
	case MAPLE_REPORT_CAMPAIGN:
		add_campaign(c, r);
		break;
	case MAPLE_REPORT_FINDINGS:
		add_finding(c, &r->findings[i]);
		break;
	case MAPLE_REPORT_REPLAY:
		add_replay(c, r);
		break;
	case MAPLE_REPORT_PROBES:
		add_probe(c, &r->probes[i]);
		break;
	case MAPLE_REPORT_SUITE:
		add_suite(c, &r->suite->cases[i]);
		break;
	case MAPLE_REPORT_ERROR:
		c->name = maple_cases_command(r->argv);
		c->type = "error";
		say(c, strdup(""), "%s", r->error);
		break;
	}
}

/* Room for another one; NULL: there is none. */
static struct maple_case *next(struct maple_cases *cases)
{
	return maple_array_reserve(cases->at, cases->n, cases->room)
		       ? memset(&cases->at[cases->n], 0, sizeof(*cases->at))
		       : NULL;
}

/* It is filled in. */
static bool take(struct maple_cases *cases)
{
	const struct maple_case *c = &cases->at[cases->n++];

	cases->count[c->verdict]++;
	cases->seconds += c->seconds;
	return c->name && c->message && c->detail;
}

/* None that is suppressed. */
static bool take_violations(struct maple_cases *cases,
			    const struct maple_violations *v)
{
	bool all = true;

	for (unsigned int i = 0; v && i < v->n && all; i++) {
		const struct maple_finding *f = v->at[i];
		struct maple_case *c;

		if (f->suppressed)
			continue;
		c = next(cases);
		if (!c)
			return false;
		add_violation(c, f);
		all = take(cases);
	}
	return all;
}

/* Those that case @i of @r is followed by; NULL: none. */
static const struct maple_violations *
violations_of(const struct maple_report *r, unsigned int i)
{
	const struct maple_campaign_result *of =
		r->suite ? r->suite->cases[i].result : r->result;

	return of ? &of->violations : NULL;
}

/*
 * maple_cases_init - @report as cases
 *
 * They point into @report. Returns -ENOMEM, @cases then is empty.
 */
int maple_cases_init(struct maple_cases *cases,
		     const struct maple_report *report)
{
	bool all = true;

	*cases = (struct maple_cases){ 0 };
	for (unsigned int i = 0; i < count(report) && all; i++) {
		struct maple_case *c = next(cases);

		if (c)
			add(c, report, i);
		all = c && take(cases) &&
		      take_violations(cases, violations_of(report, i));
	}
	all = all && take_violations(cases, report->violations);
	if (!all)
		maple_cases_deinit(cases);
	return all ? 0 : -ENOMEM;
}

void maple_cases_deinit(struct maple_cases *cases)
{
	for (unsigned int i = 0; i < cases->n; i++) {
		free(cases->at[i].name);
		free(cases->at[i].message);
		free(cases->at[i].detail);
	}
	free(cases->at);
	*cases = (struct maple_cases){ 0 };
}
