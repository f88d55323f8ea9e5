// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The form for people: findings as they come, then a few lines. */
#include "report/formats.h"
#include "report/words.h"

void maple_report_probe(FILE *out, const struct maple_probe *probe,
			const struct maple_report_style *style)
{
	static const char *const marks[][2] = {
		[MAPLE_PROBE_OK] = { "ok", "✓" },
		[MAPLE_PROBE_MISSING] = { "NO", "✗" },
		[MAPLE_PROBE_INFO] = { "--", "•" },
	};
	static const char *const colours[] = {
		[MAPLE_PROBE_OK] = "\033[32m",
		[MAPLE_PROBE_MISSING] = "\033[1;31m",
		[MAPLE_PROBE_INFO] = "",
	};

	fprintf(out, "%s%s%s %s: %s\n",
		style->colour ? colours[probe->state] : "",
		marks[probe->state][style->unicode],
		style->colour ? "\033[0m" : "", probe->name, probe->text);
	if (*probe->mend)
		fprintf(out, "     to mend: %s\n", probe->mend);
}

static int found(FILE *out, const struct maple_finding *finding,
		 const struct maple_report_style *style, struct maple_error *err)
{
	maple_report_text(out, finding, style);
	putc('\n', out);
	return 0;
}

static void write_violations(FILE *out, const struct maple_report *r,
			     const struct maple_report_style *style)
{
	const struct maple_violations *v = r->violations;

	if (r->in_full)
		for (unsigned int i = 0; i < v->n; i++)
			maple_report_text(out, v->at[i], style);
	else
		maple_report_violations(out, v, style);
}

static void write_findings(FILE *out, const struct maple_report *r,
			   const struct maple_report_style *style)
{
	if (!r->in_full && (r->nfindings || !r->violations))
		maple_report_list(out, r->findings, r->nfindings, style);
	for (size_t i = 0; r->in_full && i < r->nfindings; i++)
		maple_report_text(out, r->findings[i], style);
	if (!r->violations)
		return;
	if (r->nfindings)
		putc('\n', out);
	write_violations(out, r, style);
}

static int write_text(FILE *out, const struct maple_report *r,
		      const struct maple_report_style *style,
		      struct maple_error *err)
{
	switch (r->source) {
	case MAPLE_REPORT_CAMPAIGN:
		if (!style->quiet || r->result->undelivered)
			maple_report_summary(out, r->result, style);
		maple_report_violations(out, &r->result->violations, style);
		if (style->output)
			maple_report_coverage(out, &r->result->coverage, style);
		break;
	case MAPLE_REPORT_FINDINGS:
		write_findings(out, r, style);
		if (r->nmachines) {
			putc('\n', out);
			maple_report_machines(out, r, style);
		}
		break;
	case MAPLE_REPORT_REPLAY:
		fprintf(out, "%s: %s %u/%u %s\n", (*r->findings)->id,
			r->flip ? "reversed" : "forced", r->fails, r->times,
			maple_words_replayed(*r->findings));
		break;
	case MAPLE_REPORT_PROBES:
		for (unsigned int i = 0; i < r->nprobes; i++)
			maple_report_probe(out, &r->probes[i], style);
		break;
	case MAPLE_REPORT_SUITE:
		maple_report_suite(out, r->suite, style);
		break;
	case MAPLE_REPORT_ERROR:
		fprintf(out, "mapletest: %s\n", r->error);
		break;
	}
	return 0;
}

const struct maple_format maple_format_text = { .name = "text",
						.found = found,
						.write = write_text };
