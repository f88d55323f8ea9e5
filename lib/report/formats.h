/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_FORMATS_H
#define MAPLE_REPORT_FORMATS_H

#include <maple/report.h>

/* A form of report. What is NULL writes nothing; write is never NULL. */
struct maple_format {
	const char *name;
	int (*begin)(FILE *out, const struct maple_campaign_options *options,
		     struct maple_error *err);
	int (*progress)(FILE *out, const struct maple_progress *progress,
			struct maple_error *err);
	int (*found)(FILE *out, const struct maple_finding *finding,
		     const struct maple_report_style *style,
		     struct maple_error *err);
	int (*write)(FILE *out, const struct maple_report *report,
		     const struct maple_report_style *style,
		     struct maple_error *err);
};

void maple_report_violation(FILE *out, const struct maple_finding *finding,
			    const struct maple_report_style *style);

/* Each in the file of its name; json has jsonl as well. */
extern const struct maple_format maple_format_text;
extern const struct maple_format maple_format_json;
extern const struct maple_format maple_format_jsonl;
extern const struct maple_format maple_format_junit;
extern const struct maple_format maple_format_sarif;
extern const struct maple_format maple_format_tap;
extern const struct maple_format maple_format_github;

#endif
