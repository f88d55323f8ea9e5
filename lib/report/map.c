// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of what tests do not reach, for people: by the functions that a test
 * would call. It never says "races": two objects of one type are one here.
 */
#include <inttypes.h>
#include <string.h>
#include <maple/report.h>
#include "clean.h"

#define LINES_MAX 1000 /* pairs of lines that are put together */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static bool same_functions(const struct maple_static_place_pair *a,
			   const struct maple_static_place_pair *b)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(or_empty(a->function[i]), or_empty(b->function[i])) ||
		    strcmp(or_empty(a->file[i]), or_empty(b->file[i])))
			return false;
	return true;
}

static void print_count(FILE *out, uint64_t n, const char *text)
{
	fprintf(out, "%8" PRIu64 "  %s\n", n, text);
}

/* What stands in a binary may be written to harm a terminal. */
static void print_function(FILE *out, const struct maple_static_place_pair *pair,
			   int i, bool unicode)
{
	const char *file = pair->file[i];
	const char *slash = file ? strrchr(file, '/') : NULL;

	fputs(maple_clean(pair->function[i] ? pair->function[i] : "?", unicode)
		      .text,
	      out);
	if (file)
		fprintf(out, " (%s)",
			maple_clean(slash ? slash + 1 : file, unicode).text);
}

/* One end of @n pairs: each line once; of equal ones the first decides. */
static void print_lines(FILE *out, const struct maple_static_place_pair *pair,
			size_t n, int end)
{
	const char *before = "";

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && pair[k].line[end] != pair[i].line[end])
			k++;
		if (k < i)
			continue;
		fprintf(out, "%s%u%s", before, pair[i].line[end],
			pair[i].executed[end] ? "" : "*");
		before = ", ";
	}
}

/* Pairs of two functions and one variable are one line. */
static void print_pairs(FILE *out, const struct maple_unreached *u,
			const struct maple_report_style *style)
{
	const struct maple_static_place_pair *pair = u->pair;
	size_t i, n;

	for (i = 0; i < u->n; i += n) {
		if (!i || !same_functions(&pair[i], &pair[i - 1])) {
			fputs(style->colour ? "\033[1m" : "", out);
			print_function(out, &pair[i], 0, style->unicode);
			fputs(" and ", out);
			print_function(out, &pair[i], 1, style->unicode);
			fputs(style->colour ? "\033[0m\n" : "\n", out);
		}
		for (n = 1; i + n < u->n && n < LINES_MAX &&
			    same_functions(&pair[i + n], &pair[i]) &&
			    !strcmp(or_empty(pair[i + n].variable),
				    or_empty(pair[i].variable));
		     n++)
			;
		fprintf(out, "    %s: ",
			maple_clean(pair[i].variable ? pair[i].variable : "?",
				    style->unicode)
				.text);
		print_lines(out, &pair[i], n, 0);
		fputs(" and ", out);
		print_lines(out, &pair[i], n, 1);
		putc('\n', out);
	}
}

void maple_report_unreached(FILE *out, const struct maple_unreached *u,
			    const struct maple_report_style *style)
{
	fputs("pairs of places whose accesses may meet, as far as the binary "
	      "tells\n",
	      out);
	print_count(out, u->pairs, "in all");
	print_count(out, u->executed, "with both ends executed by some run");
	print_count(out, u->forced, "in an order that a run has shown");
	print_count(out, u->never, "with an end that no run has executed");
	if (!u->observed)
		fputs("what runs have executed is not known: 'mapletest run' "
		      "it once more\n",
		      out);
	if (!u->debug)
		fputs("there is no debug information: only variables with a "
		      "name of their own are known\n",
		      out);
	if (u->cut)
		fputs("the program is too large to list all\n", out);
	if (!u->n)
		return;
	fputs("\nto reach these, write a test that calls the two from two "
	      "threads; no run has executed\nlines with a *\n",
	      out);
	print_pairs(out, u, style);
}
