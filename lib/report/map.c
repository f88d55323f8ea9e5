// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The map of what tests do not reach, for people: by the functions that a test
 * would call. It never says "races": two objects of one type are one here.
 */
#include <inttypes.h>
#include <string.h>
#include <maple/report.h>

static void print_place(FILE *out, const struct maple_static_place_pair *pair,
			int i)
{
	const char *file = pair->file[i];
	const char *slash = file ? strrchr(file, '/') : NULL;

	fprintf(out, "%s", pair->function[i] ? pair->function[i] : "?");
	if (file && pair->line[i])
		fprintf(out, " (%s:%u)", slash ? slash + 1 : file,
			pair->line[i]);
	if (!pair->executed[i])
		fputs(" [never executed]", out);
}

static bool same_functions(const struct maple_static_place_pair *a,
			   const struct maple_static_place_pair *b)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(a->function[i] ? a->function[i] : "",
			   b->function[i] ? b->function[i] : "") != 0)
			return false;
	return true;
}

static void print_count(FILE *out, uint64_t n, const char *text)
{
	fprintf(out, "%8" PRIu64 "  %s\n", n, text);
}

static void print_pairs(FILE *out, const struct maple_unreached *u,
			const struct maple_report_style *style)
{
	const struct maple_static_place_pair *pair = u->pair;

	for (size_t i = 0; i < u->n; i++) {
		if (!i || !same_functions(&pair[i], &pair[i - 1]))
			fprintf(out, "%s%s and %s%s\n",
				style->colour ? "\033[1m" : "",
				pair[i].function[0] ? pair[i].function[0] : "?",
				pair[i].function[1] ? pair[i].function[1] : "?",
				style->colour ? "\033[0m" : "");
		fprintf(out,
			"    %s: ", pair[i].variable ? pair[i].variable : "?");
		print_place(out, &pair[i], 0);
		fputs(", ", out);
		print_place(out, &pair[i], 1);
		fputs(pair[i].sections ? ", in two critical sections\n" : "\n",
		      out);
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
	if (!u->debug)
		fputs("there is no debug information: only variables with a "
		      "name of their own are known\n",
		      out);
	if (u->cut)
		fputs("the program is too large to list all\n", out);
	if (!u->n)
		return;
	fputs("\nto reach these, write a test that calls the two from two "
	      "threads\n",
	      out);
	print_pairs(out, u, style);
}
