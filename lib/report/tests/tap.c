// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The Test Anything Protocol, version 13: a point for the campaign, for each
 * stored finding, or for each probe, with a YAML block where it is not ok.
 * The block's values are JSON strings, which YAML takes.
 */
#include <errno.h>
#include <string.h>
#include "base/bytes.h"
#include "cases.h"
#include "report/formats.h"
#include "report/source.h"

/* A description may not begin a directive nor end its line. */
static void print_words(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '#' || *text == '\\')
			putc('\\', out);
		putc(*text == '\n' ? ' ' : *text, out);
	}
}

static void print_value(FILE *out, const char *name, const char *value)
{
	json_t *string;

	if (!value)
		return;
	string = maple_bytes_encode(value);
	fprintf(out, "  %s: ", name);
	if (!string ||
	    json_dumpf(string, out, JSON_ENCODE_ANY | JSON_ENSURE_ASCII))
		fputs("\"\"", out);
	putc('\n', out);
	json_decref(string);
}

/* Under the names of the JSON schema. */
static void print_block(FILE *out, const struct maple_report *report,
			const struct maple_case *c)
{
	const struct maple_finding *f = c->finding;
	const struct maple_place *place;
	struct maple_source source;

	fputs("  ---\n", out);
	print_value(out, "message", c->message);
	print_value(out, "severity",
		    c->verdict == MAPLE_CASE_BROKEN ? "error" : "fail");
	print_value(out, "kind", c->type);
	if (f) {
		print_value(out, "id", f->id);
		print_value(out, "what", f->what);
		print_value(out, "replay", f->replay);
		place = maple_source_primary(report->root, f);
		if (place && maple_source_find(report->root, place, &source)) {
			print_value(out, "file", source.path);
			fprintf(out, "  line: %u\n", place->line);
		}
	}
	fputs("  ...\n", out);
}

static void print_detail(FILE *out, const char *detail)
{
	while (*detail) {
		int n = (int)strcspn(detail, "\n");

		fprintf(out, "#%s%.*s\n", n ? " " : "", n, detail);
		detail += n + (detail[n] == '\n');
	}
}

static int write_tap(FILE *out, const struct maple_report *report,
		     const struct maple_report_style *style,
		     struct maple_error *err)
{
	struct maple_cases cases;

	if (maple_cases_init(&cases, report))
		return maple_error_set(err, ENOMEM, "out of memory");
	fprintf(out, "TAP version 13\n1..%u%s\n", cases.n,
		cases.n ? "" : " # SKIP no findings are stored");
	for (unsigned int i = 0; i < cases.n; i++) {
		const struct maple_case *c = &cases.at[i];
		bool ok = c->verdict == MAPLE_CASE_PASSED ||
			  c->verdict == MAPLE_CASE_SKIPPED;

		fprintf(out, "%sok %u - ", ok ? "" : "not ", i + 1);
		print_words(out, c->name);
		if (c->verdict == MAPLE_CASE_SKIPPED)
			fputs(" # SKIP ", out);
		else
			fputs(": ", out);
		print_words(out, c->message);
		putc('\n', out);
		if (!ok)
			print_block(out, report, c);
		print_detail(out, c->detail);
	}
	maple_cases_deinit(&cases);
	return 0;
}

const struct maple_format maple_format_tap = { .name = "tap",
					       .write = write_tap };
