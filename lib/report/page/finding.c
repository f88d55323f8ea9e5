// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A finding on the page, in the order in which people read one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "report/tests/cases.h"
#include "report/clean.h"
#include "page.h"
#include "report/source.h"
#include "report/words.h"
#include "report/xml.h"

#define DOTS 20 /* runs of a control that are drawn */

/* maple_page_title - what it is, and what was executed; a violation is quiet */
void maple_page_title(FILE *out, const struct maple_report *report,
		      const struct maple_finding *f)
{
	bool quiet = f->kind == MAPLE_FAILURE_VIOLATION;
	char *command = maple_cases_command(f->argv);

	fputs("<div class=\"title\">", out);
	maple_page_element(out, "span", quiet ? "badge quiet" : "badge", "%s",
			   maple_failure_name(f->kind));
	if (f->suppressed)
		maple_page_element(out, "span", "badge quiet",
				   "suppressed by %s", f->suppressed);
	/* Alone it has given the page its title. */
	if (!report->in_full)
		maple_page_element(out, "h2", NULL, "%s", f->title);
	fputs("</div>\n", out);
	maple_page_element(out, "code", NULL, "%s", command ? command : "?");
	putc('\n', out);
	free(command);
}

/* The thread that failed, and where. */
static void print_happened(FILE *out, const struct maple_report *report,
			   const struct maple_finding *f)
{
	const struct maple_place *place = NULL;
	const char *thread = NULL;
	char where[512];

	for (unsigned int i = 0; i < f->nstacks && !place; i++) {
		if (!f->stacks[i].failed)
			continue;
		thread = f->stacks[i].thread;
		place = maple_source_frame(report->root, &f->stacks[i]);
	}
	fputs("<div class=\"happened\">", out);
	maple_xml_text(out, f->what ? f->what : maple_failure_name(f->kind));
	if (place)
		maple_page_element(
			out, "span", NULL, "thread %s in %s, %s",
			thread ? thread : "?",
			place->function ? place->function : "?",
			maple_page_where(report, place, where, sizeof(where)));
	fputs("</div>\n", out);
}

/* Every thread of the cycle holds what the one before it waits for. */
static void print_cycle(FILE *out, const struct maple_report *report,
			const struct maple_finding *f)
{
	unsigned int n = f->nedges;
	char since[512], waits[512];

	if (!n)
		return;
	fputs("<ul class=\"cycle\">\n", out);
	for (unsigned int i = 0; i < n; i++) {
		const struct maple_edge *has = &f->edges[(i + n - 1) % n];
		const struct maple_edge *wants = &f->edges[i];

		maple_page_element(
			out, "li", NULL,
			"thread %s holds %s (%s) and waits for %s (%s), held "
			"by %s",
			wants->thread ? wants->thread : "?",
			has->variable ? has->variable : "?",
			maple_page_where(report, &has->since, since,
					 sizeof(since)),
			wants->variable ? wants->variable : "?",
			maple_page_where(report, &wants->place, waits,
					 sizeof(waits)),
			n == 1		? "itself"
			: wants->holder ? wants->holder
					: "?");
		putc('\n', out);
	}
	fputs("</ul>\n", out);
}

static void print_runs(FILE *out, const char *name, unsigned int fails,
		       unsigned int runs)
{
	unsigned int dots = runs < DOTS ? runs : DOTS;

	maple_page_element(out, "dt", NULL, "%s", name);
	maple_page_element(out, "dd", "sum", "%u of %u fail", fails, runs);
	fputs("<dd>", out);
	for (unsigned int i = 0; i < dots; i++)
		fprintf(out, "<span class=\"dot%s\"></span>",
			(uint64_t)i * runs < (uint64_t)fails * dots ? " fails"
								    : "");
	fputs("</dd>\n", out);
}

static void print_control(FILE *out, const struct maple_finding *f)
{
	char text[MAPLE_WORDS_CONTROL];

	maple_page_element(out, "h3", NULL, "Control");
	if (f->attached || !f->forced_runs) {
		maple_words_control(f, text, sizeof(text));
		maple_page_element(out, "p", "note", "%s", text);
		return;
	}
	fputs("<dl class=\"control\">\n", out);
	print_runs(out,
		   f->class		    ? "this order forced"
		   : maple_finding_meets(f) ? "at the same moment"
					    : "replayed",
		   f->forced_fails, f->forced_runs);
	if (f->class)
		print_runs(out, "reversed", f->flipped_fails, f->flipped_runs);
	else if (f->switches && f->flipped_runs)
		print_runs(out,
			   maple_finding_meets(f) ? "one after the other"
						  : "one switch left out",
			   f->flipped_fails, f->flipped_runs);
	if (f->serial_runs)
		print_runs(out, "one thread after the other", f->serial_fails,
			   f->serial_runs);
	fputs("</dl>\n", out);
	if (maple_words_no_cause(f))
		maple_page_element(out, "p", "note", "%s",
				   maple_words_no_cause(f));
	if (f->class || f->switches)
		return;
	maple_page_element(
		out, "p", "note", "It failed without any order being forced%s",
		f->forced_fails ? "."
				: ", and not again by the same schedule: "
				  "not reproduced.");
}

static void print_facts(FILE *out, const struct maple_finding *f)
{
	char *history = maple_words_history(f);
	time_t then = (time_t)f->found_at;
	char when[64];
	struct tm tm;

	fputs("\n<p></p><ul class=\"facts\">", out);
	fputs("<li>finding ", out);
	maple_page_element(out, "b", "mono", "%s", f->id);
	fputs("</li>", out);
	if (f->found_at && localtime_r(&then, &tm) &&
	    strftime(when, sizeof(when), "%e %B %Y, %H:%M", &tm)) {
		fputs("<li>found ", out);
		maple_page_element(out, "b", NULL, "%s", when);
		fputs("</li>", out);
	}
	if (f->input) {
		fputs("<li>input ", out);
		maple_page_element(out, "b", NULL, "%s", f->input);
		fputs("</li>", out);
	}
	if (f->backend) {
		fputs("<li>backend ", out);
		maple_page_element(out, "b", NULL, "%s", f->backend);
		fputs("</li>", out);
	}
	if (f->machine) {
		char *where = maple_words_machine(f);

		fputs("<li>first ", out);
		maple_page_element(out, "b", NULL, "%s", where ? where : "?");
		fputs("</li>", out);
		free(where);
	}
	if (f->strategy) {
		fputs("<li>strategy ", out);
		maple_page_element(out, "b", NULL, "%s", f->strategy);
		fputs("</li>", out);
	}
	if (history && *history) {
		fputs("<li>", out);
		maple_page_element(out, "b", NULL, "%s", history);
		fputs("</li>", out);
	}
	free(history);
	if (f->times_seen > 1)
		fprintf(out, "<li>seen <b>%u times</b></li>", f->times_seen);
	fputs("</ul>\n", out);
}

static void print_output(FILE *out, const struct maple_finding *f,
			 const char *who, const char *output)
{
	if (!output || !*output)
		return;
	fprintf(out, "<details%s>",
		maple_words_speaks(f) ? " open=\"open\"" : "");
	maple_page_element(out, "summary", NULL, "What %s printed", who);
	maple_page_element(out, "pre", NULL, "%s", output);
	fputs("</details>\n", out);
}

static void print_report(FILE *out, const struct maple_finding *f)
{
	if (!f->report)
		return;
	maple_page_element(out, "h3", NULL, "What the sanitizer reported");
	maple_page_element(out, "pre", NULL, "%s", f->report);
}

static void print_switches(FILE *out, const struct maple_finding *f)
{
	char text[128];

	if (!f->switches)
		return;
	maple_page_element(out, "h3", NULL,
			   maple_finding_meets(f) ? "Two threads meet, on two "
						    "CPUs"
						  : "By these switches");
	maple_page_element(out, "pre", NULL, "%s", f->switches);
	if (maple_words_bounds(f, text, sizeof(text)))
		maple_page_element(out, "p", NULL, "%s", text);
}

/* maple_page_finding - what stands in the finding's card */
void maple_page_finding(FILE *out, const struct maple_report *report,
			const struct maple_finding *f)
{
	maple_page_title(out, report, f);
	if (f->nmoments)
		maple_page_element(out, "h3", NULL, "In this order%s%s",
				   f->class ? ", " : "",
				   f->class ? f->class : "");
	else
		maple_page_element(out, "h3", NULL, "What happened");
	maple_page_order(out, report, f);
	print_switches(out, f);
	print_happened(out, report, f);
	print_cycle(out, report, f);
	print_report(out, f);
	print_control(out, f);
	if (f->replay) {
		maple_page_element(out, "h3", NULL, "Again");
		maple_page_element(out, "pre", "once", "%s", f->replay);
	}
	maple_page_stacks(out, report, f);
	print_output(out, f, "the program", f->output);
	print_output(out, f, "the oracle", f->oracle);
	print_facts(out, f);
}
