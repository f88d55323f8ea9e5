// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How what is known grew over runs, drawn. The drawing's units are percent, so
 * that it fits any screen; what is written stands beside it, in the size of
 * text.
 */
#include <inttypes.h>
#include "page.h"

enum curve { PREDICTED, EXPOSED };

static uint64_t value(const struct maple_detached_point *p, enum curve curve)
{
	return curve == EXPOSED ? p->exposed : p->predicted;
}

static uint64_t highest(const struct maple_detached_point *points, size_t n)
{
	uint64_t most = 1;

	for (size_t i = 0; i < n; i++)
		for (enum curve c = PREDICTED; c <= EXPOSED; c++)
			if (value(&points[i], c) > most)
				most = value(&points[i], c);
	return most;
}

/* Before the first run nothing was known of what runs show. */
static void print_points(FILE *out, const struct maple_detached_point *points,
			 size_t n, enum curve curve, uint64_t most)
{
	unsigned int last = points[n - 1].runs ? points[n - 1].runs : 1;

	fputs("0,100", out);
	for (size_t i = 0; i < n; i++)
		fprintf(out, " %.2f,%.2f", 100.0 * points[i].runs / last,
			100.0 - 100.0 * value(&points[i], curve) / most);
}

static void print_lines(FILE *out, const struct maple_detached_point *points,
			size_t n, uint64_t most)
{
	fputs("<polygon points=\"", out);
	print_points(out, points, n, EXPOSED, most);
	fputs(" 100,100\"/><polyline class=\"all\" points=\"", out);
	print_points(out, points, n, PREDICTED, most);
	fputs("\"/><polyline class=\"had\" points=\"", out);
	print_points(out, points, n, EXPOSED, most);
	fputs("\"/></svg>", out);
}

/* maple_page_growth - curves of @n points, one at least, with their scales */
void maple_page_growth(FILE *out, const struct maple_detached_point *points,
		       size_t n)
{
	uint64_t most = highest(points, n);
	unsigned int runs = points[n - 1].runs;

	fprintf(out,
		"<div class=\"curve\"><div class=\"y\"><span>%" PRIu64
		"</span><span>0</span></div>"
		"<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" "
		"role=\"img\" aria-label=\"iRoots over runs\">"
		"<line x1=\"0\" y1=\"0\" x2=\"100\" y2=\"0\"/>"
		"<line x1=\"0\" y1=\"50\" x2=\"100\" y2=\"50\"/>",
		most);
	print_lines(out, points, n, most);
	fprintf(out,
		"<div class=\"x\"><span>0</span><span>%u run%s"
		"</span></div></div>\n<div class=\"key\"><span><i></i>exposed"
		"</span><span><i class=\"all\"></i>predicted</span></div>\n",
		runs, runs == 1 ? "" : "s");
}

/* maple_page_spark - the same, small, between lines of text */
void maple_page_spark(FILE *out, const struct maple_detached_point *points,
		      size_t n)
{
	const struct maple_detached_point *last = &points[n - 1];

	fprintf(out, "<div class=\"curve spark\"><svg viewBox=\"0 0 100 100\" "
		     "preserveAspectRatio=\"none\" role=\"img\" "
		     "aria-label=\"iRoots over runs\">");
	print_lines(out, points, n, highest(points, n));
	fputs("</div>", out);
	maple_page_element(out, "span", "count",
			   "%" PRIu64 " exposed, %" PRIu64 " predicted",
			   last->exposed, last->predicted);
}
