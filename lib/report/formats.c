// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The table of forms, and the one way to them. */
#include <assert.h>
#include <errno.h>
#include "report/formats.h"

static const struct maple_format *const formats[MAPLE_REPORT_FORMATS] = {
	[MAPLE_REPORT_TEXT] = &maple_format_text,
	[MAPLE_REPORT_JSON] = &maple_format_json,
	[MAPLE_REPORT_JSONL] = &maple_format_jsonl,
	[MAPLE_REPORT_JUNIT] = &maple_format_junit,
	[MAPLE_REPORT_SARIF] = &maple_format_sarif,
	[MAPLE_REPORT_TAP] = &maple_format_tap,
	[MAPLE_REPORT_GITHUB] = &maple_format_github,
};

static const struct maple_format *at(enum maple_report_format format)
{
	assert(format < MAPLE_REPORT_FORMATS && formats[format]);
	return formats[format];
}

const char *maple_report_format_name(enum maple_report_format format)
{
	return format < MAPLE_REPORT_FORMATS ? at(format)->name : NULL;
}

/* Whether it has reached the file; @ret is what the form said. */
static int done(FILE *out, int ret, struct maple_error *err)
{
	if (!ret && (fflush(out) || ferror(out)))
		ret = maple_error_set(err, EIO,
				      "the report could not be written: %m");
	return ret;
}

int maple_report_begin(FILE *out, enum maple_report_format format,
		       const struct maple_campaign_options *options,
		       struct maple_error *err)
{
	const struct maple_format *f = at(format);

	return done(out, f->begin ? f->begin(out, options, err) : 0, err);
}

int maple_report_progress(FILE *out, enum maple_report_format format,
			  const struct maple_progress *progress,
			  struct maple_error *err)
{
	const struct maple_format *f = at(format);

	return done(out, f->progress ? f->progress(out, progress, err) : 0, err);
}

int maple_report_found(FILE *out, enum maple_report_format format,
		       const struct maple_finding *finding,
		       const struct maple_report_style *style,
		       struct maple_error *err)
{
	const struct maple_format *f = at(format);

	return done(out, f->found ? f->found(out, finding, style, err) : 0, err);
}

int maple_report_write(FILE *out, enum maple_report_format format,
		       const struct maple_report *report,
		       const struct maple_report_style *style,
		       struct maple_error *err)
{
	/* Nothing that was not delivered may look as if it had passed. */
	assert(report->status != 0 || report->source != MAPLE_REPORT_ERROR);
	assert(report->status != 0 || !report->result ||
	       report->result->outcome == MAPLE_CLEAN);
	assert(report->status != 0 || !report->suite ||
	       maple_suite_sum(report->suite, NULL) == MAPLE_SUITE_CLEAN);
	return done(out, at(format)->write(out, report, style, err), err);
}
