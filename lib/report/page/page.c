// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The page: one file without script, picture or font from elsewhere, and a
 * policy that forbids them. It is HTML that is well-formed XML as well, so
 * that a test can hold it to that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <maple/version.h>
#include "report/tests/cases.h"
#include "report/clean.h"
#include "page.h"
#include "report/source.h"
#include "report/words.h"
#include "report/xml.h"

/* Two threads that cross. */
#define MARK                                                               \
	"<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\" fill=\"none\" "   \
	"stroke=\"currentColor\" stroke-width=\"2.2\" "                    \
	"stroke-linecap=\"round\"><path d=\"M7 3v3c0 5 10 7 10 12v3\"/>"   \
	"<path d=\"M17 3v3c0 2-1.5 3.4-3.3 4.8M10.2 13.2C8.4 14.6 7 16 7 " \
	"18v3\"/></svg>"

/* maple_page_element - an element with text in it; @class may be NULL */
void maple_page_element(FILE *out, const char *element, const char *class,
			const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	fprintf(out, "<%s", element);
	if (class)
		maple_xml_attribute(out, "class", "%s", class);
	putc('>', out);
	maple_xml_text(out, text);
	fprintf(out, "</%s>", element);
	free(text);
}

/* maple_page_where - "src/queue.c:41", or "queue+0x12"; in @buffer */
const char *maple_page_where(const struct maple_report *report,
			     const struct maple_place *place, char *buffer,
			     size_t size)
{
	const char *slash = place->image ? strrchr(place->image, '/') : NULL;
	struct maple_source source;

	if (maple_source_find(report->root, place, &source) && place->line)
		snprintf(buffer, size, "%s:%u", source.path, place->line);
	else if (maple_source_find(report->root, place, &source))
		snprintf(buffer, size, "%s", source.path);
	else if (place->image)
		snprintf(buffer, size, "%s+0x%" PRIx64,
			 slash ? slash + 1 : place->image, place->offset);
	else
		snprintf(buffer, size, "?");
	return buffer;
}

/*
 * maple_page_inlined - what of a library was put at @place, small; or nothing
 * @room: characters for it; 0: all of it
 */
void maple_page_inlined(FILE *out, const struct maple_place *place,
			unsigned int room)
{
	if (place->inlined)
		maple_page_element(out, "div", "inlined mono", "inlined %s",
				   maple_clean_inlined(place, room, true).text);
}

/* maple_page_function - the function of @place, with all of it in a tooltip */
void maple_page_function(FILE *out, const char *element,
			 const struct maple_place *place)
{
	fprintf(out, "<%s class=\"mono\"", element);
	if (place->signature)
		maple_xml_attribute(out, "title", "%s", place->signature);
	putc('>', out);
	maple_xml_text(out, place->function ? place->function : "?");
	fprintf(out, "</%s>", element);
}

static void print_fact(FILE *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	fputs("<li>", out);
	maple_xml_text(out, name);
	putc(' ', out);
	maple_page_element(out, "b", NULL, "%s", value);
	fputs("</li>", out);
}

static void print_head(FILE *out, const char *title,
		       const struct maple_report *report)
{
	fputs("<!DOCTYPE html>\n"
	      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
	      "<head><meta charset=\"utf-8\"/>\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\""
	      "default-src 'none'; style-src 'unsafe-inline'\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width,"
	      "initial-scale=1\"/>\n"
	      "<meta name=\"generator\" content=\"maple " MAPLE_VERSION "\"/>\n",
	      out);
	if (report->again)
		fprintf(out, "<meta http-equiv=\"refresh\" content=\"%u\"/>\n",
			report->again);
	maple_page_element(out, "title", NULL, "%s", title);
	fputs("\n<style>\n", out);
	fputs(maple_page_style, out);
	fputs("</style></head>\n<body>\n", out);
}

/* Whether it is the page of one job. */
static bool is_job(const struct maple_report *report)
{
	return report->in_full && report->njobs;
}

/* The one that the page is about alone; NULL: there are several, or none. */
static const struct maple_finding *only(const struct maple_report *report)
{
	if (!report->in_full || is_job(report))
		return NULL;
	if (report->nfindings == 1)
		return *report->findings;
	return report->violations && report->violations->n == 1
		       ? *report->violations->at
		       : NULL;
}

static void make_title(char *title, size_t size,
		       const struct maple_report *report)
{
	if (is_job(report))
		snprintf(title, size, "Job %" PRIu64 ": %s",
			 report->jobs->number,
			 maple_detached_state_name(report->jobs->state));
	else if (only(report))
		snprintf(title, size, "%s", only(report)->title);
	else if (report->nfindings)
		snprintf(title, size, "%zu finding%s", report->nfindings,
			 report->nfindings == 1 ? "" : "s");
	else
		snprintf(title, size, "No findings");
}

static void print_top(FILE *out, const char *title,
		      const struct maple_report *report)
{
	time_t then = (time_t)report->when;
	char when[64] = "";
	struct tm tm;

	if (report->when && localtime_r(&then, &tm))
		strftime(when, sizeof(when), "%e %B %Y, %H:%M %Z", &tm);
	fputs("<header class=\"top\"><div class=\"brand\">" MARK "maple</div>\n",
	      out);
	maple_page_element(out, "h1", NULL, "%s", title);
	fputs("\n<ul class=\"facts\">", out);
	print_fact(out, "on", report->host);
	print_fact(out, "made", when);
	print_fact(out, "by maple", MAPLE_VERSION);
	if (report->home && report->in_full) {
		fputs("<li><a", out);
		maple_xml_attribute(out, "href", "%s", report->home);
		fputs(is_job(report) ? ">all jobs and findings</a></li>"
				     : ">all findings</a></li>",
		      out);
	}
	fputs("</ul></header>\n<main>\n", out);
}

static void print_list(FILE *out, const struct maple_report *report)
{
	fputs("<ul class=\"list\">\n", out);
	for (size_t i = 0; i < report->nfindings; i++) {
		const struct maple_finding *f = report->findings[i];
		char *command = maple_cases_command(f->argv);
		char count[64];

		fputs("<li>", out);
		maple_page_element(out, "span",
				   f->suppressed ? "badge quiet" : "badge", "%s",
				   f->suppressed ? "suppressed"
						 : maple_failure_name(f->kind));
		fputs("<a", out);
		if (report->home)
			maple_xml_attribute(out, "href", "%sfinding/%lu:%s",
					    report->home,
					    (unsigned long)f->owner, f->id);
		else
			maple_xml_attribute(out, "href", "#f%zu", i + 1);
		putc('>', out);
		maple_xml_text(out, f->title);
		fputs("</a>", out);
		maple_words_count(f, count, sizeof(count));
		maple_page_element(out, "span", "count", "%s", count);
		maple_page_element(out, "span", "where mono", "%s",
				   command ? command : "?");
		fputs("</li>\n", out);
		free(command);
	}
	fputs("</ul>\n", out);
}

/* With one finding only its program is of interest. */
static bool concerns(const struct maple_report *report,
		     const struct maple_memo_program_info *program)
{
	const struct maple_finding *f = only(report);
	const char *id = program->build_id;

	if (!f)
		return false;
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (f->moments[i].place.build_id &&
		    !strcmp(id, f->moments[i].place.build_id))
			return true;
	for (unsigned int i = 0; i < f->nstacks; i++)
		for (unsigned int k = 0; k < f->stacks[i].nframes; k++) {
			const char *other =
				f->stacks[i].frames[k].place.build_id;

			if (other && !strcmp(id, other))
				return true;
		}
	return false;
}

static void print_foot(FILE *out, const struct maple_report *report)
{
	fputs("</main>\n<footer>Made by maple " MAPLE_VERSION ". ", out);
	if (report->again)
		fprintf(out, "This page looks again every %u seconds.",
			report->again);
	else if (!report->home)
		fputs("This page is one file and loads nothing.", out);
	fputs("</footer>\n</body>\n</html>\n", out);
}

int maple_report_html(FILE *out, const struct maple_report *report,
		      struct maple_error *err)
{
	bool listed = report->home && !report->in_full;
	char title[512];

	make_title(title, sizeof(title), report);
	print_head(out, title, report);
	print_top(out, title, report);
	if (is_job(report))
		maple_page_job(out, report);
	if (report->njobs && listed) {
		maple_page_jobs(out, report);
		if (report->nfindings)
			maple_page_element(out, "h3", NULL, "Findings");
	}
	if (report->nfindings > (listed ? 0 : 1))
		print_list(out, report);
	for (size_t i = 0; !listed && i < report->nfindings; i++) {
		fprintf(out, "<article class=\"card\" id=\"f%zu\">\n", i + 1);
		maple_page_finding(out, report, report->findings[i]);
		fputs("</article>\n", out);
	}
	if (report->violations)
		maple_page_violations(out, report);
	if (report->nmachines)
		maple_page_machines(out, report);
	for (size_t i = 0; i < report->nprograms; i++)
		if (!report->in_full ||
		    concerns(report, report->programs[i].info))
			maple_page_program(out, &report->programs[i]);
	print_foot(out, report);
	if (fflush(out) || ferror(out))
		return maple_error_set(err, EIO,
				       "the report could not be written: %m");
	return 0;
}
