// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Violations of atomic sets on the page: below the findings, for who asks. */
#include "page.h"

static void print_facts(FILE *out, const struct maple_finding *f)
{
	const struct maple_violation *v = &f->violation;

	fputs("\n<p></p><ul class=\"facts\"><li>violation ", out);
	maple_page_element(out, "b", "mono", "%s", f->id);
	fprintf(out, "</li><li>pattern <b>%u</b></li>", v->pattern);
	fprintf(out, "<li>in <b>%u run%s</b></li>", v->runs,
		v->runs == 1 ? "" : "s");
	if (v->failed_runs)
		fprintf(out, "<li>of which <b>%u</b> failed</li>",
			v->failed_runs);
	if (v->forced_runs)
		fprintf(out,
			"<li>confirmed: foreseen, and forced in <b>%u run%s</b>"
			"</li>",
			v->forced_runs, v->forced_runs == 1 ? "" : "s");
	fputs("</ul>\n", out);
}

static void print_one(FILE *out, const struct maple_report *report,
		      const struct maple_finding *f)
{
	maple_page_title(out, report, f);
	maple_page_element(out, "h3", NULL, "In this order, %s", f->class);
	maple_page_order(out, report, f);
	if (f->replay) {
		maple_page_element(out, "h3", NULL, "Again");
		maple_page_element(out, "pre", "once", "%s", f->replay);
	}
	print_facts(out, f);
}

/* maple_page_violations - a card each */
void maple_page_violations(FILE *out, const struct maple_report *report)
{
	const struct maple_violations *v = report->violations;

	maple_page_element(out, "h3", NULL, "Violations of atomic sets: %u",
			   v->n);
	maple_page_element(
		out, "p", "note",
		"Orders of two units of work, on memory that belongs "
		"together, that no serial order of the two has. They "
		"are no failures by themselves.");
	for (unsigned int i = 0; i < v->n; i++) {
		fprintf(out, "<article class=\"card\" id=\"v%u\">\n", i + 1);
		print_one(out, report, v->at[i]);
		fputs("</article>\n", out);
	}
}
