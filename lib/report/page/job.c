// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Jobs on the page: a list of them, and the card of one. What a job is about
 * and what it has said come from its files, which are believed as little as all
 * that comes from a target.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "page.h"
#include "report/xml.h"

static const char *badge_of(enum maple_detached_state state)
{
	switch (state) {
	case MAPLE_DETACHED_RUNNING:
		return "badge runs";
	case MAPLE_DETACHED_CLEAN:
		return "badge good";
	case MAPLE_DETACHED_SKIPPED:
		return "badge quiet";
	default:
		return "badge";
	}
}

/* Words as the shell reads them, to be freed. */
static char *join(char *const *words)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (char *const *w = words; *w; w++) {
		if (w != words)
			putc(' ', out);
		maple_report_word(out, *w);
	}
	return fclose(out) ? NULL : text;
}

static void print_subject(FILE *out, const char *class,
			  const struct maple_detached_info *job)
{
	char *program = join(job->program);
	bool known = program && *program;

	if (job->attached)
		maple_page_element(out, "span", class, "process %d%s%s",
				   (int)job->attached, known ? ": " : "",
				   known ? program : "");
	else
		maple_page_element(out, "span", class, "%s",
				   known ? program : "?");
	free(program);
}

static void print_counts(FILE *out, const struct maple_detached_info *job)
{
	maple_page_element(out, "span", "count", "%u run%s, %u finding%s",
			   job->runs, job->runs == 1 ? "" : "s", job->findings,
			   job->findings == 1 ? "" : "s");
}

static void print_item(FILE *out, const struct maple_report *report,
		       const struct maple_detached_info *job)
{
	fputs("<li>", out);
	maple_page_element(out, "span", badge_of(job->state), "%s",
			   maple_detached_state_name(job->state));
	fputs("<a", out);
	maple_xml_attribute(out, "href", "%sjob/%" PRIu64, report->home,
			    job->number);
	fprintf(out, ">job %" PRIu64 "</a>", job->number);
	print_counts(out, job);
	print_subject(out, "where mono", job);
	if (job->npoints)
		maple_page_spark(out, job->curve, job->npoints);
	fputs("</li>\n", out);
}

/* maple_page_jobs - the list, those that run first, the newest first */
void maple_page_jobs(FILE *out, const struct maple_report *report)
{
	unsigned int left = report->njobs_left;

	fputs("<section><h3>Jobs</h3>\n<ul class=\"list jobs\">\n", out);
	for (size_t i = 0; i < report->njobs; i++)
		print_item(out, report, &report->jobs[i]);
	fputs("</ul>\n", out);
	if (left)
		maple_page_element(out, "p", "note",
				   "%u older job%s: mapletest jobs lists %s.",
				   left, left == 1 ? "" : "s",
				   left == 1 ? "it" : "them");
	fputs("</section>\n", out);
}

static void print_date(FILE *out, const char *name, int64_t when)
{
	time_t seconds = (time_t)when;
	char date[64];
	struct tm tm;

	if (!when || !localtime_r(&seconds, &tm))
		return;
	strftime(date, sizeof(date), "%F %T", &tm);
	fprintf(out, "<li>%s ", name);
	maple_page_element(out, "b", NULL, "%s", date);
	fputs("</li>", out);
}

static void print_facts(FILE *out, const struct maple_detached_info *job)
{
	fputs("<ul class=\"facts\"><li>", out);
	print_counts(out, job);
	fputs("</li>", out);
	print_date(out, "began", job->began);
	print_date(out, "ended", job->ended);
	if (job->status >= 0)
		fprintf(out, "<li>exit status <b>%d</b></li>", job->status);
	if (job->pid)
		fprintf(out, "<li>process <b>%d</b></li>", (int)job->pid);
	if (job->cwd && *job->cwd) {
		fputs("<li>in ", out);
		maple_page_element(out, "b", "mono", "%s", job->cwd);
		fputs("</li>", out);
	}
	fputs("</ul>\n", out);
}

/* maple_page_job - the card of the one job of @report */
void maple_page_job(FILE *out, const struct maple_report *report)
{
	const struct maple_detached_info *job = report->jobs;
	char *command = join(job->argv);

	fputs("<section class=\"card\"><div class=\"title\">", out);
	maple_page_element(out, "span", badge_of(job->state), "%s",
			   maple_detached_state_name(job->state));
	fputs("<h2>", out);
	print_subject(out, "mono", job);
	fputs("</h2></div>\n", out);
	print_facts(out, job);
	if (job->state == MAPLE_DETACHED_CUT_OFF)
		maple_page_element(out, "p", "note",
				   "%s before it said how it ended. What it had "
				   "learned is in the memo.",
				   job->rebooted ? "The machine went down"
						 : "It was killed, or its "
						   "machine went down,");
	if (job->npoints) {
		fputs("<h3>What is known</h3>\n", out);
		maple_page_growth(out, job->curve, job->npoints);
	}
	if (report->log && *report->log) {
		fputs("<h3>Last lines of its log</h3>\n", out);
		maple_page_element(out, "pre", NULL, "%s", report->log);
		putc('\n', out);
	}
	fputs("<h3>Command</h3>\n", out);
	maple_page_element(out, "pre", "once", "%s", command ? command : "?");
	fputs("\n</section>\n", out);
	free(command);
}
