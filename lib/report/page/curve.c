// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* A program on the page: its coverage, and how it grew over the runs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include "page.h"
#include "report/xml.h"

#define POINTS 400 /* drawn at most */

enum curve { PREDICTED, EXPOSED };

static uint64_t value(const struct maple_coverage *c, enum curve curve)
{
	struct maple_class_count all = maple_coverage_sum(c);

	return curve == EXPOSED ? all.exposed : all.predicted;
}

/* As points, of which no more are drawn than can be seen. */
static void print_curve(FILE *out, const struct maple_report_program *p)
{
	size_t n = p->nsamples, drawn = n < POINTS ? n : POINTS;
	struct maple_detached_point *points = calloc(drawn, sizeof(*points));

	if (!points)
		return;
	for (size_t i = 0; i < drawn; i++) {
		size_t at = (i + 1) * n / drawn - 1;
		const struct maple_coverage *c = &p->samples[at].coverage;

		points[i] = (struct maple_detached_point){
			.runs = (unsigned int)at + 1,
			.exposed = value(c, EXPOSED),
			.predicted = value(c, PREDICTED),
		};
	}
	maple_page_growth(out, points, drawn);
	free(points);
}

static void print_row(FILE *out, const char *class,
		      const struct maple_class_count *c)
{
	fprintf(out, "<tr%s>", class);
	maple_page_element(out, "td", NULL, "%s", c->name);
	maple_page_element(out, "td", "num", "%" PRIu64, c->predicted);
	maple_page_element(out, "td", "num", "%" PRIu64, c->exposed);
	maple_page_element(out, "td", "num", "%" PRIu64, c->failed);
	fputs("</tr>\n", out);
}

static void print_coverage(FILE *out, const struct maple_coverage *coverage)
{
	struct maple_class_count all = maple_coverage_sum(coverage);
	const struct maple_class_count *c;

	fputs("<div class=\"scroll\"><table><thead><tr><th>class</th>"
	      "<th class=\"num\">predicted</th><th class=\"num\">exposed</th>"
	      "<th class=\"num\">failed</th></tr></thead><tbody>\n",
	      out);
	for (unsigned int i = 0; i < coverage->nclasses; i++) {
		c = &coverage->class[i];
		if (c->predicted || c->exposed || c->failed)
			print_row(out, "", c);
	}
	print_row(out, " class=\"total\"", &all);
	fputs("</tbody></table></div>\n", out);
}

static void print_part(FILE *out, json_t *part)
{
	static const char *const counts[] = { "runs", "news", "findings" };
	const char *name = json_string_value(json_object_get(part, "name"));

	fputs("<tr>", out);
	maple_page_element(out, "td", NULL, "%s", name ? name : "?");
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		maple_page_element(out, "td", "num", "%lld",
				   (long long)json_integer_value(
					   json_object_get(part, counts[i])));
	maple_page_element(out, "td", "num", "%.1f s",
			   json_number_value(json_object_get(part, "seconds")));
	fputs("</tr>\n", out);
}

static bool is_strategy(const char *name)
{
	const char *known = NULL;

	for (unsigned int i = 0; (known = maple_strategy_name(i)); i++)
		if (name && !strcmp(name, known))
			break;
	return known;
}

/*
 * What the strategy's parts did, if it has several; @text: see the memo. Other
 * users may have written it: what names no strategy is left out.
 */
static void print_parts(FILE *out, const char *text)
{
	json_t *parts = text ? json_loads(text, 0, NULL) : NULL, *part;
	size_t i;

	if (json_array_size(parts) > 1) {
		fputs("<div class=\"scroll\"><table><thead><tr>"
		      "<th>strategy</th><th class=\"num\">runs</th>"
		      "<th class=\"num\">with news</th>"
		      "<th class=\"num\">findings</th>"
		      "<th class=\"num\">time</th></tr></thead><tbody>\n",
		      out);
		json_array_foreach (parts, i, part) {
			if (json_integer_value(json_object_get(part, "runs")) &&
			    is_strategy(json_string_value(
				    json_object_get(part, "name"))))
				print_part(out, part);
		}
		fputs("</tbody></table></div>\n", out);
	}
	json_decref(parts);
}

/* As `mapletest coverage` says it. */
static void print_saturation(FILE *out, const struct maple_report_program *p)
{
	unsigned int dry = 0;
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	for (size_t i = p->nsamples; i > 1; i--, dry++)
		if (value(&p->samples[i - 1].coverage, EXPOSED) !=
		    value(&p->samples[i - 2].coverage, EXPOSED))
			break;
	maple_report_saturation(memory, &p->info->coverage, dry);
	if (!fclose(memory))
		maple_page_element(out, "p", NULL, "%.*s",
				   (int)strcspn(text, "\n"), text);
	putc('\n', out);
	free(text);
}

/* maple_page_program - its card */
void maple_page_program(FILE *out, const struct maple_report_program *p)
{
	const struct maple_memo_program_info *info = p->info;
	const char *path = info->path ? info->path : info->build_id;
	const char *slash = strrchr(path, '/');
	const char *command = maple_memo_command(info->input);
	bool named = info->input && !command;

	fputs("<section class=\"card\"><div class=\"title\">", out);
	maple_page_element(out, "h2", NULL, "Coverage of %s%s%s",
			   command ? command
			   : slash ? slash + 1
				   : path,
			   named ? ", input " : "", named ? info->input : "");
	fputs("</div>\n<ul class=\"facts\"><li>", out);
	maple_page_element(out, "b", "mono", "%s", path);
	fputs("</li><li>build ", out);
	maple_page_element(out, "b", "mono", "%.12s", info->build_id);
	fprintf(out, "</li><li><b>%u</b> runs</li></ul>\n", info->runs);
	print_saturation(out, p);
	if (p->nsamples)
		print_curve(out, p);
	print_coverage(out, &info->coverage);
	print_parts(out, info->parts);
	maple_page_map(out, p);
	if (info->unobserved)
		maple_page_element(out, "p", "note", "Not observed: %s.",
				   info->unobserved);
	fputs("</section>\n", out);
}
