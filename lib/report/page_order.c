// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The interleaving on the page: a grid with a column for each thread and a
 * row for each step, and between the columns a drawing as high as all rows,
 * whose arrows lead from the middle of one row to the middle of another. It
 * stretches with the rows, so it needs no measuring. Then the stacks.
 */
#include <inttypes.h>
#include <string.h>
#include "image/demangle.h"
#include "report/page.h"
#include "report/source.h"
#include "report/words.h"
#include "report/xml.h"

#define ROW    96 /* units of the drawing; the unit is free */
#define GUTTER 56
#define HEAD   9 /* length of an arrow's head */
#define STACKS 16
#define NAME   42 /* characters that a step has room for */

static void print_threads(FILE *out, const struct maple_finding *f)
{
	for (unsigned int role = 0; role < 2; role++) {
		const char *thread = NULL;

		for (unsigned int i = 0; i < f->nmoments && !thread; i++)
			if (f->moments[i].role == role)
				thread = f->moments[i].thread;
		if (!thread)
			continue;
		fprintf(out,
			"<div class=\"thread\" style=\"grid-area:1/%d\">thread ",
			role ? 3 : 1);
		maple_xml_text(out, thread);
		fprintf(out, "%s</div>",
			strcmp(thread, "0") ? "" : " <small>main</small>");
		fprintf(out,
			"<div class=\"lane\" style=\"grid-area:2/%d/span %u\">"
			"</div>\n",
			role ? 3 : 1, f->nmoments);
	}
}

static void print_step(FILE *out, const struct maple_report *report,
		       const struct maple_finding *f, unsigned int i)
{
	const struct maple_moment *m = &f->moments[i];
	const char *access = maple_words_access(f, m);
	const char *variable = m->variable ? m->variable : "?";
	char where[512];

	maple_page_where(report, &m->place, where, sizeof(where));
	fprintf(out, "<div class=\"step %s\" style=\"grid-area:%u/%d\"",
		!strcmp(access, "waits for") || m->kind == 'C' ? "wait"
		: m->kind == 'R'			       ? "R"
		: m->kind == 'W'			       ? "W"
		: m->kind == 'L'			       ? "L"
							       : "U",
		i + 2, m->role ? 3 : 1);
	maple_xml_attribute(out, "title", "%s %s in %s, %s", access, variable,
			    m->place.function ? m->place.function : "?", where);
	fprintf(out, "><span class=\"n\">%u</span><div>", i + 1);
	maple_page_element(out, "em", NULL, "%s", access);
	putc(' ', out);
	maple_page_element(out, "span", "var mono", "%s", variable);
	fputs(maple_words_half(m), out);
	fputs("</div>", out);
	maple_page_element(
		out, "div", "mono", "%s",
		m->place.function ? maple_demangle_tail(m->place.function, NAME)
				  : "?");
	/* The last part of a path is what counts. */
	maple_page_element(out, "div", "at mono", "%s",
			   strrchr(where, '/') ? strrchr(where, '/') + 1
					       : where);
	maple_page_inlined(out, &m->place, NAME);
	fputs("</div>\n", out);
}

/* Whether an arrow leads to step @i from the other thread. */
static bool depends(const struct maple_finding *f, unsigned int i)
{
	const struct maple_moment *m = &f->moments[i];

	return m->from >= 0 && (unsigned int)m->from < i &&
	       f->moments[m->from].role != m->role;
}

static void print_arrow(FILE *out, const struct maple_finding *f, unsigned int i)
{
	unsigned int from = (unsigned int)f->moments[i].from;
	bool right = f->moments[i].role;
	int a = (int)from * ROW + ROW / 2, b = (int)i * ROW + ROW / 2;
	int start = right ? 0 : GUTTER, end = right ? GUTTER : 0;
	int back = right ? -HEAD : HEAD;

	fprintf(out,
		"<path d=\"M%d %dC%d %d %d %d %d %d\"/>"
		"<path class=\"head\" d=\"M%d %dl%d -6v12z\"/>"
		"<circle cx=\"%d\" cy=\"%d\" r=\"3.5\"/>",
		start, a, GUTTER / 2, a, GUTTER / 2, b, end + back, b, end, b,
		back, start, a);
}

static void print_arrows(FILE *out, const struct maple_finding *f)
{
	bool first = true;

	fprintf(out,
		"<svg class=\"arrows\" style=\"grid-area:2/2/span %u\" "
		"viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\" "
		"role=\"img\" aria-label=\"",
		f->nmoments, GUTTER, f->nmoments * ROW);
	for (unsigned int i = 0; i < f->nmoments; i++) {
		if (!depends(f, i))
			continue;
		fprintf(out, "%sstep %d before step %u", first ? "" : ", ",
			f->moments[i].from + 1, i + 1);
		first = false;
	}
	fputs("\">", out);
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (depends(f, i))
			print_arrow(out, f, i);
	fputs("</svg>\n", out);
}

/* maple_page_order - the steps in two columns; nothing if there are none */
void maple_page_order(FILE *out, const struct maple_report *report,
		      const struct maple_finding *f)
{
	if (!f->nmoments)
		return;
	fputs("<div class=\"order\">\n", out);
	print_threads(out, f);
	for (unsigned int i = 0; i < f->nmoments; i++)
		print_step(out, report, f, i);
	print_arrows(out, f);
	fputs("</div>\n", out);
	if (maple_words_split(f))
		maple_page_element(out, "p", NULL, "%s", maple_words_split(f));
}

static void print_frame(FILE *out, const struct maple_report *report,
			unsigned int number, const struct maple_frame *frame)
{
	const struct maple_place *p = &frame->place;
	struct maple_place where = { .image = p->image, .offset = p->offset };
	struct maple_source source;
	char text[512];
	bool own = maple_source_find(report->root, p, &source) && source.below;

	fprintf(out, "<tr%s>", own ? " class=\"own\"" : "");
	maple_page_element(out, "td", NULL, "%u", number);
	if (p->function)
		maple_page_function(out, "td", p);
	else
		maple_page_element(out, "td", "mono", "0x%" PRIx64, frame->pc);
	fputs("<td class=\"mono\">", out);
	maple_xml_text(out,
		       p->file ? maple_page_where(report, p, text, sizeof(text))
			       : "");
	maple_page_inlined(out, p, 0);
	fputs("</td>", out);
	maple_page_element(
		out, "td", "mono", "%s",
		p->image ? maple_page_where(report, &where, text, sizeof(text))
			 : "");
	fputs("</tr>\n", out);
}

/* maple_page_stacks - of who failed; where everybody waits, of everybody */
void maple_page_stacks(FILE *out, const struct maple_report *report,
		       const struct maple_finding *f)
{
	bool all = f->kind == MAPLE_FAILURE_DEADLOCK ||
		   f->kind == MAPLE_FAILURE_HANG;
	unsigned int shown = 0;

	for (unsigned int i = 0; i < f->nstacks; i++) {
		const struct maple_stack *s = &f->stacks[i];

		if ((!all && !s->failed) || !s->nframes || shown == STACKS)
			continue;
		if (!shown++)
			maple_page_element(out, "h3", NULL, "Stacks");
		fputs("<div class=\"scroll\"><table class=\"stack\"><caption>",
		      out);
		maple_xml_text(out, "thread ");
		maple_xml_text(out, s->thread ? s->thread : "not known");
		if (s->state) {
			putc(' ', out);
			maple_xml_text(out, s->state);
		}
		fputs("</caption><tbody>\n", out);
		for (unsigned int k = 0; k < s->nframes; k++)
			print_frame(out, report, k, &s->frames[k]);
		fputs("</tbody></table></div>\n", out);
	}
}
