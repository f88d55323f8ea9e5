// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A finding as text, in the order in which people read one. */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "report/tests/cases.h"
#include "report/clean.h"
#include "report/columns.h"
#include "report/formats.h"
#include "report/words.h"

#define STACKS 16 /* shown of a hang; the JSON form has all */
#define LINES  20 /* the last ones, of what a program printed */

#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define NORMAL "\033[0m"

static void print_title(FILE *out, const char *colour, const char *before,
			const char *title,
			const struct maple_report_style *style)
{
	struct maple_clean clean = maple_clean(title, style->unicode);

	fprintf(out, "%s%s%s%s\n", style->colour ? colour : "", before,
		clean.text, style->colour ? NORMAL : "");
}

static void print_frame(FILE *out, unsigned int number,
			const struct maple_frame *frame,
			const struct maple_report_style *style)
{
	const struct maple_place *p = &frame->place;
	struct maple_place where = { .image = p->image, .offset = p->offset };
	int room = (int)maple_clean_width(style) - 8;
	struct maple_clean place = maple_clean_place(p, room, style->unicode);
	struct maple_clean image = maple_clean_place(&where, 0, style->unicode);

	if (!p->image && !p->function)
		snprintf(place.text, sizeof(place.text), "0x%" PRIx64,
			 frame->pc);
	/* "image+offset " ends in the place of a function. */
	image.text[strcspn(image.text, " ")] = 0;
	if (p->file && (int)(place.columns + image.columns) + 2 <= room)
		fprintf(out, "    #%-2u %s (%s)\n", number, place.text,
			image.text);
	else if ((int)place.columns <= room)
		fprintf(out, "    #%-2u %s\n", number, place.text);
	else
		fprintf(out, "    #%-2u %.*s%s\n", number, room - 3, place.text,
			"...");
	if (p->inlined)
		fprintf(out, "          inlined %s\n",
			maple_clean_inlined(p, room - 10, style->unicode).text);
}

/* Words to the width of the page; lines after the first stand further in. */
static void print_wrapped(FILE *out, const char *line,
			  const struct maple_report_style *style)
{
	struct maple_clean clean = maple_clean(line, style->unicode);
	unsigned int width = maple_clean_width(style), column = 4;
	char *save, *word = strtok_r(clean.text, " ", &save);

	fputs("   ", out);
	for (; word; word = strtok_r(NULL, " ", &save)) {
		unsigned int room = maple_clean(word, style->unicode).columns;

		if (column > 6 && column + room > width) {
			fputs("\n     ", out);
			column = 6;
		}
		fprintf(out, " %s", word);
		column += room + 1;
	}
	putc('\n', out);
}

/* A sentence a line. */
static void print_before(FILE *out, const char *before,
			 const struct maple_report_style *style)
{
	char *copy = strdup(before), *save, *line;

	for (line = copy ? strtok_r(copy, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		print_wrapped(out, line, style);
	free(copy);
}

static void print_stack(FILE *out, const struct maple_stack *stack,
			const struct maple_report_style *style)
{
	struct maple_clean thread = maple_clean(stack->thread, style->unicode);

	if (stack->thread)
		fprintf(out, "  thread %s", thread.text);
	else
		fprintf(out, "  thread with tid %d", stack->tid);
	if (stack->state)
		fprintf(out, " %s",
			maple_clean(stack->state, style->unicode).text);
	fputs(":\n", out);
	if (stack->before)
		print_before(out, stack->before, style);
	if (!stack->nframes)
		fputs("    (its stack is not known)\n", out);
	for (unsigned int i = 0; i < stack->nframes; i++)
		print_frame(out, i, &stack->frames[i], style);
}

/* " (lock_order.c:30)", nothing if not known. */
static void print_where(FILE *out, const struct maple_place *place,
			const struct maple_report_style *style)
{
	const char *slash = place->file ? strrchr(place->file, '/') : NULL;

	if (place->file)
		fprintf(out, " (%s:%u)",
			maple_clean(slash ? slash + 1 : place->file,
				    style->unicode)
				.text,
			place->line);
}

/* Every thread of the cycle holds what the one before it waits for. */
static void print_cycle(FILE *out, const struct maple_finding *finding,
			const struct maple_report_style *style)
{
	unsigned int n = finding->nedges;

	for (unsigned int i = 0; i < n; i++) {
		const struct maple_edge *has = &finding->edges[(i + n - 1) % n];
		const struct maple_edge *wants = &finding->edges[i];

		fprintf(out, "  %s holds ",
			maple_clean(wants->thread, style->unicode).text);
		fputs(maple_clean(has->variable, style->unicode).text, out);
		print_where(out, &has->since, style);
		fprintf(out, ", waits for %s",
			maple_clean(wants->variable, style->unicode).text);
		print_where(out, &wants->place, style);
		fprintf(out, ", held by %s\n",
			n == 1 ? "itself"
			       : maple_clean(wants->holder, style->unicode).text);
	}
}

/* Who failed; where everybody waits, everybody. */
static void print_stacks(FILE *out, const struct maple_finding *finding,
			 const struct maple_report_style *style)
{
	bool all = finding->kind == MAPLE_FAILURE_DEADLOCK ||
		   finding->kind == MAPLE_FAILURE_HANG;
	unsigned int shown = 0, left = 0;

	for (unsigned int i = 0; i < finding->nstacks; i++) {
		if (!all && !finding->stacks[i].failed)
			continue;
		if (shown++ < STACKS)
			print_stack(out, &finding->stacks[i], style);
		else
			left++;
	}
	if (left)
		fprintf(out, "  and %u more, in the report as JSON\n", left);
}

static void print_control(FILE *out, const struct maple_finding *finding)
{
	char text[MAPLE_WORDS_CONTROL];

	maple_words_control(finding, text, sizeof(text));
	fprintf(out, "%s\n", text);
}

static void print_history(FILE *out, const struct maple_finding *finding,
			  const struct maple_report_style *style)
{
	char *history = maple_words_history(finding);
	char *where = finding->machine ? maple_words_machine(finding) : NULL;

	if (history && *history)
		fprintf(out, "History: %s.\n", history);
	if (finding->times_seen > 1)
		fprintf(out, "Seen %u times.\n", finding->times_seen);
	if (where)
		fprintf(out, "First %s.\n",
			maple_clean(where, style->unicode).text);
	free(where);
	free(history);
}

static void print_line(FILE *out, const char *line, unsigned int room,
		       const struct maple_report_style *style)
{
	char c[5];
	size_t n;

	fputs("  | ", out);
	for (; *line && *line != '\n'; line += n) {
		n = maple_clean_char(line, c, style->unicode);
		if (!room--) {
			fputs(style->unicode ? "…" : "...", out);
			break;
		}
		fputs(*line == '\t' ? "\t" : c, out);
	}
	putc('\n', out);
}

static void print_lines(FILE *out, const char *text, unsigned int room,
			const struct maple_report_style *style)
{
	for (; *text; text += *text == '\n') {
		print_line(out, text, room, style);
		text += strcspn(text, "\n");
	}
}

/* All of it with --verbose; else its end, where it tells what is wrong. */
static void print_output(FILE *out, const char *who, const char *output,
			 const struct maple_report_style *style)
{
	unsigned int room = style->output ? UINT_MAX
					  : maple_clean_width(style) - 8;
	unsigned int all;

	if (!output || !*output)
		return;
	fprintf(out, "\nWhat %s printed", who);
	output = maple_words_end(output, style->output ? UINT_MAX : LINES, &all);
	if (!style->output && all > LINES)
		fprintf(out, ", the last %d of %u lines (--verbose: all)",
			LINES, all);
	fputs(":\n", out);
	print_lines(out, output, room, style);
}

/* Whether a moment before @i is about the same variable. */
static bool named_before(const struct maple_finding *f, unsigned int i)
{
	for (unsigned int k = 0; k < i; k++)
		if (f->moments[k].variable && f->moments[i].variable &&
		    !strcmp(f->moments[k].variable, f->moments[i].variable))
			return true;
	return false;
}

/* What the variables are: "  cache->size: int (malloc at cache.c:12 + 8)". */
static void print_variables(FILE *out, const struct maple_finding *f,
			    const struct maple_report_style *style)
{
	bool some = false;

	for (unsigned int i = 0; i < f->nmoments; i++) {
		const struct maple_moment *m = &f->moments[i];

		if (!m->variable || (!m->type && !m->origin) ||
		    named_before(f, i))
			continue;
		fprintf(out,
			"  %s:", maple_clean(m->variable, style->unicode).text);
		if (m->type)
			fprintf(out, " %s",
				maple_clean(m->type, style->unicode).text);
		if (m->origin)
			fprintf(out, m->type ? " (%s)" : " %s",
				maple_clean(m->origin, style->unicode).text);
		putc('\n', out);
		some = true;
	}
	if (some)
		putc('\n', out);
}

static void print_orders(FILE *out, const struct maple_finding *f,
			 const struct maple_report_style *style)
{
	char *freed = maple_words_freed(f), text[128];
	unsigned int next = 0;

	if (f->nmoments)
		fprintf(out, "In this order%s%s:\n\n", f->class ? ", " : "",
			f->class ? f->class : "");
	while (next < f->nmoments) {
		if (next)
			fputs("Then, in the same run, in this order:\n\n", out);
		next = maple_columns_draw(out, f, next, style);
		putc('\n', out);
	}
	if (maple_words_split(f))
		fprintf(out, "%s\n\n", maple_words_split(f));
	if (f->switches) {
		fputs(maple_finding_meets(f)
			      ? "Two threads meet, on two CPUs:\n"
			      : "By these switches, each thread as far as it "
				"can besides:\n",
		      out);
		print_lines(out, f->switches, UINT_MAX, style);
		if (maple_words_bounds(f, text, sizeof(text)))
			fprintf(out, "%s\n", text);
		putc('\n', out);
	}
	print_variables(out, f, style);
	if (freed)
		fprintf(out, "  %s\n\n",
			maple_clean(freed, style->unicode).text);
	free(freed);
}

/* What it was found with, and is replayed with; without any it is plain. */
static void print_arguments(FILE *out, const struct maple_finding *f,
			    const struct maple_report_style *style)
{
	char *command;

	if (!f->argv || !*f->argv || !f->argv[1])
		return;
	command = maple_cases_command(f->argv);
	fprintf(out, "Command: %s\n", maple_clean(command, style->unicode).text);
	free(command);
}

void maple_report_text(FILE *out, const struct maple_finding *finding,
		       const struct maple_report_style *style)
{
	if (finding->kind == MAPLE_FAILURE_VIOLATION) {
		maple_report_violation(out, finding, style);
		return;
	}
	print_title(out, RED, "BUG: maple: ", finding->title, style);
	putc('\n', out);
	print_orders(out, finding, style);
	print_title(out, BOLD, "What happened: ",
		    finding->what ? finding->what
				  : maple_failure_name(finding->kind),
		    style);
	print_cycle(out, finding, style);
	print_stacks(out, finding, style);
	if (finding->report) {
		fputs("\nWhat the sanitizer reported:\n", out);
		print_lines(out, finding->report, UINT_MAX, style);
	}
	if (style->output || maple_words_speaks(finding)) {
		print_output(out, "the program", finding->output, style);
		print_output(out, "the oracle", finding->oracle, style);
	}
	putc('\n', out);
	print_control(out, finding);
	print_history(out, finding, style);
	print_arguments(out, finding, style);
	if (finding->replay)
		fprintf(out, "Replay: %s\n",
			maple_clean(finding->replay, style->unicode).text);
	print_title(out, RED, "SUMMARY: maple: ", finding->title, style);
}

void maple_report_dmesg(FILE *out, double seconds, const char *text)
{
	fprintf(out, "[%12.6f] maple: %s\n", seconds,
		maple_clean(text, true).text);
}
