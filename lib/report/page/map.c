// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of a program on the page: how many pairs of places that may meet its
 * runs have had in both orders, in one, and never, and which those are that
 * something is left of.
 */
#include <inttypes.h>
#include <string.h>
#include "page.h"
#include "report/xml.h"

#define ROWS 200 /* of the list; 'mapletest coverage --unreached' has all */

/* From what is done to what is not; and how it is drawn. */
static const struct {
	enum maple_met met;
	const char *class, *text;
} parts[] = {
	{ MAPLE_MET_BOTH_ORDERS, "both", "in both orders" },
	{ MAPLE_MET_ONE_ORDER, "one", "in one order only" },
	{ MAPLE_MET_NEVER, "apart", "never right after each other" },
	{ MAPLE_MET_UNEXECUTED, "not", "an end never executed" },
};

#define PARTS (sizeof(parts) / sizeof(*parts))

static void print_bar(FILE *out, const struct maple_unreached *u)
{
	double at = 0;

	fputs("<svg class=\"map\" viewBox=\"0 0 100 1\" "
	      "preserveAspectRatio=\"none\" role=\"img\" "
	      "aria-label=\"pairs by what runs made of them\">",
	      out);
	for (unsigned int i = 0; i < PARTS; i++) {
		double width =
			100.0 * (double)u->met[parts[i].met] / (double)u->n;

		if (width > 0)
			fprintf(out,
				"<rect class=\"%s\" x=\"%.3f\" y=\"0\" "
				"width=\"%.3f\" height=\"1\"/>",
				parts[i].class, at, width);
		at += width;
	}
	fputs("</svg>\n<div class=\"key map\">", out);
	for (unsigned int i = 0; i < PARTS; i++) {
		fprintf(out, "<span><i class=\"%s\"></i>", parts[i].class);
		maple_page_element(out, "b", NULL, "%" PRIu64,
				   u->met[parts[i].met]);
		fprintf(out, " %s</span>", parts[i].text);
	}
	fputs("</div>\n", out);
}

static void print_end(FILE *out, const struct maple_static_place_pair *pair,
		      unsigned int end)
{
	const char *file = pair->file[end];
	const char *slash = file ? strrchr(file, '/') : NULL;

	fputs("<td>", out);
	maple_page_element(out, "span", "mono", "%s",
			   pair->function[end] ? pair->function[end] : "?");
	if (file)
		maple_page_element(out, "small", NULL, " %s:%u",
				   slash ? slash + 1 : file, pair->line[end]);
	if (!pair->executed[end])
		fputs(" <small class=\"not\">not executed</small>", out);
	fputs("</td>", out);
}

static void print_row(FILE *out, const struct maple_static_place_pair *pair)
{
	bool one = pair->seen == MAPLE_MET_ONE_ORDER;
	unsigned int first = one ? !pair->later : 0;

	fputs("<tr>", out);
	maple_page_element(out, "td", "mono", "%s",
			   pair->variable ? pair->variable : "?");
	print_end(out, pair, first);
	print_end(out, pair, !first);
	maple_page_element(out, "td", NULL, "%s",
			   one				   ? "only this order"
			   : pair->seen == MAPLE_MET_NEVER ? "never together"
							   : "not reached");
	fputs("</tr>\n", out);
}

static void print_list(FILE *out, const struct maple_unreached *u)
{
	size_t left = u->n - (size_t)u->met[MAPLE_MET_BOTH_ORDERS];

	if (!left)
		return;
	fprintf(out,
		"<details><summary>%zu pair%s not in both orders</summary>"
		"<div class=\"scroll\"><table class=\"pairs\"><thead><tr>"
		"<th>variable</th><th>one end</th><th>the other</th>"
		"<th>so far</th></tr></thead><tbody>\n",
		left, left == 1 ? "" : "s");
	for (size_t i = 0; i < left && i < ROWS; i++)
		print_row(out, &u->pair[i]);
	fputs("</tbody></table></div>", out);
	if (left > ROWS)
		maple_page_element(out, "p", "note",
				   "And %zu more: mapletest coverage "
				   "--unreached has all.",
				   left - ROWS);
	fputs("</details>\n", out);
}

/* maple_page_map - what is known of @p's pairs, or why nothing is */
void maple_page_map(FILE *out, const struct maple_report_program *p)
{
	const struct maple_unreached *u = p->map;

	if (!u && !p->unmapped)
		return;
	fputs("<h3>Places that may meet</h3>\n", out);
	if (!u) {
		maple_page_element(out, "p", "note", "Not known: %s.",
				   p->unmapped);
		return;
	}
	if (!u->n) {
		maple_page_element(out, "p", "note",
				   "None, as far as the binary tells.");
		return;
	}
	fprintf(out,
		"<p>As far as the binary tells, the accesses of <b>%zu</b> "
		"pair%s of places may meet in two threads. They are no races: "
		"objects of one type are not told apart.</p>\n",
		u->n, u->n == 1 ? "" : "s");
	print_bar(out, u);
	if (!u->observed)
		maple_page_element(out, "p", "note",
				   "What runs have executed is not known.");
	if (!u->debug)
		maple_page_element(out, "p", "note",
				   "There is no debug information: only "
				   "variables with a name are known.");
	if (u->cut)
		maple_page_element(out, "p", "note",
				   "The program is too large to list all.");
	print_list(out, u);
}
