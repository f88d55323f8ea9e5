// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The machines that share the memo, and the hours, as tables on the page. */
#include <inttypes.h>
#include "page.h"
#include "report/words.h"

#define HOURS 48 /* the last ones */

static void print_head(FILE *out, const char *first, const char *last)
{
	fprintf(out, "<div class=\"scroll\"><table><thead><tr><th>%s</th>%s",
		first, last ? "<th class=\"num\">campaigns</th>" : "");
	fprintf(out, "<th class=\"num\">runs</th><th class=\"num\">new</th>"
		     "<th class=\"num\">findings</th>");
	if (last)
		fprintf(out, "<th>%s</th>", last);
	fputs("</tr></thead>\n<tbody>\n", out);
}

static void print_number(FILE *out, uint64_t number)
{
	maple_page_element(out, "td", "num", "%" PRIu64, number);
}

static void print_machine(FILE *out, const struct maple_memo_machine *m)
{
	char when[MAPLE_WORDS_WHEN];

	fputs("<tr><td>", out);
	maple_page_element(out, "b", NULL, "%s",
			   m->name ? m->name : "not known");
	if (m->cpu)
		maple_page_element(out, "div", "note", "%s", m->cpu);
	if (m->kernel)
		maple_page_element(out, "div", "note", "Linux %s%s%s",
				   m->kernel, m->backend ? ", backend " : "",
				   m->backend ? m->backend : "");
	fputs("</td>", out);
	print_number(out, m->campaigns);
	print_number(out, m->runs);
	print_number(out, m->news);
	print_number(out, m->findings);
	maple_page_element(out, "td", NULL, "%s",
			   maple_words_when(m->last_heard, when));
	fputs("</tr>\n", out);
}

static void print_hours(FILE *out, const struct maple_memo_hour *hours, size_t n)
{
	size_t from = n > HOURS ? n - HOURS : 0;
	char when[MAPLE_WORDS_WHEN];

	print_head(out, "hour", NULL);
	/* The newest is what is looked for. */
	for (size_t i = n; i > from; i--) {
		fputs("<tr>", out);
		maple_page_element(out, "td", NULL, "%s",
				   maple_words_when(hours[i - 1].since, when));
		print_number(out, hours[i - 1].runs);
		print_number(out, hours[i - 1].news);
		print_number(out, hours[i - 1].findings);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
	if (from)
		maple_page_element(out, "p", "note",
				   "%zu hour%s before: mapletest report "
				   "--machines --format json lists them.",
				   from, from == 1 ? "" : "s");
}

/* maple_page_machines - the card of @report's machines, one at least */
void maple_page_machines(FILE *out, const struct maple_report *report)
{
	fputs("<section class=\"card machines\"><h2>Machines</h2>\n", out);
	print_head(out, "machine", "last heard");
	for (size_t i = 0; i < report->nmachines; i++)
		print_machine(out, &report->machines[i]);
	fputs("</tbody></table></div>\n", out);
	if (report->nhours) {
		fputs("<h3>Hours</h3>\n", out);
		print_hours(out, report->hours, report->nhours);
	}
	fputs("</section>\n", out);
}
