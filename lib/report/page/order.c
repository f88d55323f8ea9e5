// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The interleaving on the page: a grid with a column for each thread and a
 * row for each step, and between two columns a drawing as high as all rows,
 * whose arrows lead from the middle of one row to the middle of another. It
 * stretches with the rows, so it needs no measuring. An arrow to a column
 * farther off reaches its row in the first drawing, and goes straight on over
 * the columns in between: they have no step in that row. Then the stacks.
 */
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>
#include "image/source/demangle.h"
#include "page.h"
#include "report/source.h"
#include "report/words.h"
#include "report/xml.h"

#define ROW    96 /* units of the drawing; the unit is free */
#define GUTTER 56
#define HEAD   9 /* length of an arrow's head */
#define STACKS 16
#define NAME   42 /* characters that a step has room for */

/* One of the finding's orders: the moments [first, end). */
struct order {
	const struct maple_finding *f;
	unsigned int first, end;
	unsigned int columns;
};

/* The grid's column of the thread with @role; behind it is a drawing. */
static unsigned int grid_column(unsigned int role)
{
	return 2 * role + 1;
}

static void print_threads(FILE *out, const struct order *o)
{
	for (unsigned int role = 0; role < o->columns; role++) {
		unsigned int column = grid_column(role);
		const char *thread =
			maple_words_thread(o->f, o->first, o->end, role);

		if (!thread)
			continue;
		fprintf(out,
			"<div class=\"thread\" style=\"grid-area:1/%u\">thread ",
			column);
		maple_xml_text(out, thread);
		fprintf(out, "%s</div>",
			strcmp(thread, "0") ? "" : " <small>main</small>");
		fprintf(out,
			"<div class=\"lane\" style=\"grid-area:2/%u/span %u\">"
			"</div>\n",
			column, o->end - o->first);
	}
}

/* Of the style sheet: what colour it has. */
static const char *step_class(const struct maple_moment *m)
{
	if (m->reach == MAPLE_REACH_NOT)
		return "not";
	if (m->reach == MAPLE_REACH_NOW || m->kind == 'C')
		return "wait";
	return m->kind == 'R'	? "R"
	       : m->kind == 'W' ? "W"
	       : m->kind == 'L' ? "L"
				: "U";
}

static void print_variable(FILE *out, const struct maple_moment *m)
{
	maple_page_element(out, "span", "var mono", "%s%s",
			   m->variable ? m->variable : "?",
			   maple_words_value(m, true).text);
	if (m->type) {
		putc(' ', out);
		maple_page_element(out, "small", "mono", "%s", m->type);
	}
}

static void print_step(FILE *out, const struct maple_report *report,
		       const struct order *o, unsigned int i)
{
	const struct maple_moment *m = &o->f->moments[i];
	const char *access = maple_words_access(m);
	char where[512];

	maple_page_where(report, &m->place, where, sizeof(where));
	fprintf(out, "<div class=\"step %s\" style=\"grid-area:%u/%u\"",
		step_class(m), i - o->first + 2, grid_column(m->role));
	maple_xml_attribute(out, "title", "%s %s%s%s%s%s in %s, %s", access,
			    m->variable ? m->variable : "?",
			    m->type ? ", " : "", m->type ? m->type : "",
			    m->origin ? ", " : "", m->origin ? m->origin : "",
			    m->place.function ? m->place.function : "?", where);
	fprintf(out, "><span class=\"n\">%u</span><div>", i - o->first + 1);
	maple_page_element(out, "em", NULL, "%s", access);
	putc(' ', out);
	print_variable(out, m);
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
	if (m->callers)
		maple_page_element(out, "div", "inlined mono",
				   "called from %.*s", NAME, m->callers);
	fputs("</div>\n", out);
}

/* Whether an arrow leads to step @i from another thread. */
static bool depends(const struct order *o, unsigned int i)
{
	const struct maple_moment *m = &o->f->moments[i];

	return m->from >= (int)o->first && (unsigned int)m->from < i &&
	       o->f->moments[m->from].role != m->role;
}

/* What drawing @at, from 0, has of the arrow to step @i. */
static void print_arrow(FILE *out, const struct order *o, unsigned int i,
			unsigned int at)
{
	const struct maple_moment *m = &o->f->moments[i];
	unsigned int from = (unsigned int)m->from - o->first;
	unsigned int source = o->f->moments[m->from].role, target = m->role;
	bool right = target > source;
	/* The first drawing that it crosses, and the last. */
	unsigned int first = right ? source : source - 1;
	unsigned int last = right ? target - 1 : target;
	int a = (int)from * ROW + ROW / 2;
	int b = (int)(i - o->first) * ROW + ROW / 2;
	int start = right ? 0 : GUTTER, end = right ? GUTTER : 0;
	int back = at != last ? 0 : right ? -HEAD : HEAD;

	if (right ? at < first || at > last : at > first || at < last)
		return;
	fprintf(out, "<path%s d=\"M%d %d",
		m->reach == MAPLE_REACH_NOT ? " class=\"not\"" : "", start,
		at == first ? a : b);
	if (at == first)
		fprintf(out, "C%d %d %d %d %d %d\"/>", GUTTER / 2, a,
			GUTTER / 2, b, end + back, b);
	else
		fprintf(out, "H%d\"/>", end + back);
	if (at == last)
		fprintf(out, "<path class=\"head\" d=\"M%d %dl%d -6v12z\"/>",
			end, b, back);
	if (at == first)
		fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"3.5\"/>", start,
			a);
}

/* The arrow to step @i, over the columns in between. */
static void print_across(FILE *out, const struct order *o, unsigned int i)
{
	const struct maple_moment *m = &o->f->moments[i];
	unsigned int a = o->f->moments[m->from].role, b = m->role;

	for (unsigned int role = (a < b ? a : b) + 1; role < a || role < b;
	     role++)
		fprintf(out,
			"<div class=\"across%s\" style=\"grid-area:%u/%u\">"
			"</div>\n",
			m->reach == MAPLE_REACH_NOT ? " not" : "",
			i - o->first + 2, grid_column(role));
}

/* What a reader hears; said once, of the first drawing. */
static void print_label(FILE *out, const struct order *o)
{
	bool first = true;

	fputs("role=\"img\" aria-label=\"", out);
	for (unsigned int i = o->first; i < o->end; i++) {
		if (!depends(o, i))
			continue;
		fprintf(out, "%sstep %u before step %u", first ? "" : ", ",
			(unsigned int)o->f->moments[i].from - o->first + 1,
			i - o->first + 1);
		first = false;
	}
	fputs("\">", out);
}

static void print_arrows(FILE *out, const struct order *o)
{
	unsigned int n = o->end - o->first;

	for (unsigned int at = 0; at + 1 < o->columns; at++) {
		fprintf(out,
			"<svg class=\"arrows\" style=\"grid-area:2/%u/span %u\" "
			"viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\" ",
			grid_column(at) + 1, n, GUTTER, n * ROW);
		if (at)
			fputs("aria-hidden=\"true\">", out);
		else
			print_label(out, o);
		for (unsigned int i = o->first; i < o->end; i++)
			if (depends(o, i))
				print_arrow(out, o, i, at);
		fputs("</svg>\n", out);
	}
	for (unsigned int i = o->first; i < o->end; i++)
		if (depends(o, i))
			print_across(out, o, i);
}

/*
 * maple_page_order - the orders, with a column for each thread; nothing if
 * there are none
 */
void maple_page_order(FILE *out, const struct maple_report *report,
		      const struct maple_finding *f)
{
	char *freed = maple_words_freed(f);
	struct order o = { .f = f };

	for (; o.first < f->nmoments; o.first = o.end) {
		o.end = maple_words_order(f, o.first);
		if (o.first)
			maple_page_element(out, "h3", NULL,
					   "Then, in the same run, in this "
					   "order");
		o.columns = maple_words_columns(f, o.first, o.end);
		fprintf(out, "<div class=\"order%s\" style=\"--more:%u\">\n",
			o.columns > 2 ? " many" : "", o.columns - 1);
		print_threads(out, &o);
		for (unsigned int i = o.first; i < o.end; i++)
			print_step(out, report, &o, i);
		print_arrows(out, &o);
		fputs("</div>\n", out);
	}
	if (maple_words_split(f))
		maple_page_element(out, "p", NULL, "%s", maple_words_split(f));
	if (freed)
		maple_page_element(out, "p", NULL, "%s", freed);
	free(freed);
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
		if (s->before)
			maple_page_element(out, "div", "note before", "%s",
					   s->before);
		fputs("</caption><tbody>\n", out);
		for (unsigned int k = 0; k < s->nframes; k++)
			print_frame(out, report, k, &s->frames[k]);
		fputs("</tbody></table></div>\n", out);
	}
}
