// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of what tests reach and do not, for people: by the functions that a
 * test would call. It never says "races": two objects of one type are one here.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <maple/report.h>
#include "clean.h"

#define LINES_MAX 1000 /* pairs of lines that are put together */
#define SHOWN	  10   /* pairs of a report; coverage --unreached has all */

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

/* Of one order each pair is a line: which came first. */
static bool same_line(const struct maple_static_place_pair *a,
		      const struct maple_static_place_pair *b)
{
	return a->seen != MAPLE_MET_ONE_ORDER && same_functions(a, b) &&
	       !strcmp(or_empty(a->variable), or_empty(b->variable));
}

/* Pairs of two functions and one variable are one line. */
static void print_pairs(FILE *out, const struct maple_static_place_pair *pair,
			size_t all, const struct maple_report_style *style)
{
	size_t i, n;

	for (i = 0; i < all; i += n) {
		bool one = pair[i].seen == MAPLE_MET_ONE_ORDER;
		int first = one ? !pair[i].later : 0;

		if (!i || !same_functions(&pair[i], &pair[i - 1])) {
			fputs(style->colour ? "\033[1m" : "", out);
			print_function(out, &pair[i], 0, style->unicode);
			fputs(" and ", out);
			print_function(out, &pair[i], 1, style->unicode);
			fputs(style->colour ? "\033[0m\n" : "\n", out);
		}
		for (n = 1; i + n < all && n < LINES_MAX &&
			    same_line(&pair[i], &pair[i + n]);
		     n++)
			;
		fprintf(out, "    %s: ",
			maple_clean(pair[i].variable ? pair[i].variable : "?",
				    style->unicode)
				.text);
		print_lines(out, &pair[i], n, first);
		fputs(one ? " before " : " and ", out);
		print_lines(out, &pair[i], n, !first);
		putc('\n', out);
	}
}

const char *maple_met_name(enum maple_met met)
{
	static const char *const names[] = {
		[MAPLE_MET_UNEXECUTED] = "unexecuted",
		[MAPLE_MET_NEVER] = "never",
		[MAPLE_MET_ONE_ORDER] = "one order",
		[MAPLE_MET_BOTH_ORDERS] = "both orders",
	};

	assert(met < MAPLE_METS);
	return names[met];
}

void maple_report_map(FILE *out, const struct maple_unreached *u)
{
	uint64_t executed = u->met[MAPLE_MET_NEVER] +
			    u->met[MAPLE_MET_ONE_ORDER] +
			    u->met[MAPLE_MET_BOTH_ORDERS];

	fputs("pairs of places whose accesses may meet, as far as the binary "
	      "tells\n",
	      out);
	print_count(out, u->met[MAPLE_MET_UNEXECUTED] + executed, "in all");
	print_count(out, executed, "with both ends executed by some run");
	print_count(out, u->met[MAPLE_MET_BOTH_ORDERS],
		    "  in both orders, one end right after the other");
	print_count(out, u->met[MAPLE_MET_ONE_ORDER], "  in one order only");
	print_count(out, u->met[MAPLE_MET_NEVER],
		    "  never right after each other");
	print_count(out, u->met[MAPLE_MET_UNEXECUTED],
		    "with an end that no run has executed");
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
}

void maple_report_unreached(FILE *out, const struct maple_unreached *u,
			    const struct maple_report_style *style)
{
	static const char *const above[] = {
		[MAPLE_MET_UNEXECUTED] =
			"to reach these, write a test that calls the two from "
			"two threads; no run has executed\nlines with a *\n",
		[MAPLE_MET_NEVER] =
			"runs have executed these, and never one right after "
			"the other in two threads\n",
		[MAPLE_MET_ONE_ORDER] =
			"of these runs have shown one order, and not the "
			"other\n",
	};
	const struct maple_static_place_pair *pair = u->pair;

	maple_report_map(out, u);
	for (int met = 0; met < MAPLE_MET_BOTH_ORDERS; met++) {
		if (u->met[met])
			fprintf(out, "\n%s", above[met]);
		print_pairs(out, pair, u->met[met], style);
		pair += u->met[met];
	}
}

void maple_report_unexecuted(FILE *out, const struct maple_unreached *u,
			     const struct maple_report_style *style)
{
	uint64_t left = u->met[MAPLE_MET_UNEXECUTED];
	uint64_t shown = left < SHOWN ? left : SHOWN;

	maple_report_map(out, u);
	if (!left || !u->observed)
		return;
	fputs("no run has executed lines with a *; these need a test that "
	      "calls the two from two threads\n",
	      out);
	print_pairs(out, u->pair, shown, style);
	if (left > shown)
		fprintf(out,
			"    and %" PRIu64 " more: mapletest coverage "
			"--unreached\n",
			left - shown);
}
