// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mapletest report and coverage: what the memo database holds. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cli.h"

/* The findings that are meant: one, or all. */
static int load(struct maple_memo *memo, const struct maple_settings *settings,
		struct maple_finding ***findings, size_t *n)
{
	struct maple_error err = { "" };
	int ret;

	if (!settings->argc) {
		if (maple_memo_findings(memo, 0, findings, n, &err))
			return maple_say_failed(&err);
		return 0;
	}
	*n = 1;
	*findings = calloc(1, sizeof(**findings));
	if (!*findings)
		return maple_say_error(MAPLE_STATUS_FAILED, "out of memory");
	ret = maple_database_finding(memo, settings->argv[0], *findings);
	if (ret)
		free(*findings);
	return ret;
}

static int report(struct maple_settings *settings, struct maple_memo *memo,
		  FILE *out)
{
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS,
				       .in_full = settings->argc };
	struct maple_error err = { "" };
	struct maple_violations violations;
	struct maple_finding **findings;
	size_t n;
	int ret = load(memo, settings, &findings, &n);

	if (ret)
		return ret;
	for (size_t i = 0; i < n; i++)
		maple_again_complete(settings, findings[i]);
	ret = maple_suppress_stored(settings, findings, n);
	maple_database_part(findings, n,
			    settings->campaign.violations ||
				    (settings->argc &&
				     maple_database_violates(findings, n)),
			    &violations, &report);
	/* One finding is no matter of other machines. */
	if (!ret && (settings->machines || !settings->argc) &&
	    maple_machines_fill(memo, settings->machines, &report, &err))
		ret = maple_say_failed(&err);
	if (!ret && settings->html)
		ret = maple_page_write(memo, settings, &report);
	if (!ret && (!settings->html || settings->output))
		ret = maple_out_report(out, settings, &report);
	if (!ret && !settings->argc && !settings->html && !settings->format &&
	    !settings->quiet)
		ret = maple_map_list(memo, settings, out);
	maple_machines_empty(&report);
	maple_memo_findings_destroy(findings, n);
	return ret;
}

int maple_command_report(struct maple_settings *settings)
{
	int ret;

	if (settings->argc > 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "one finding at a time: mapletest "
				       "report [FINDING]");
	ret = maple_suppress_open(settings);
	if (ret)
		return ret;
	ret = maple_database_show(settings, MAPLE_MEMO_READONLY, report);
	maple_suppress_tell(settings);
	return ret;
}

/* The map in numbers, or why there is none. */
static void print_map(FILE *out, const struct maple_unreached *map,
		      const char *why)
{
	putc('\n', out);
	if (map)
		maple_report_map(out, map);
	else
		fprintf(out, "which places may meet is not known: %s\n",
			why ? why : "out of memory");
}

/* What there is of a program, beside the program itself. */
struct known {
	struct maple_memo_success success;
	struct maple_memo_sample *samples;
	size_t n;
	struct maple_violation_counts violations; /* if they were asked for */
};

static int print_coverage(const struct maple_settings *settings,
			  const struct maple_memo_program_info *program,
			  const struct known *known,
			  const struct maple_unreached *map, const char *why,
			  FILE *out)
{
	bool violations = settings->campaign.violations;
	const struct maple_memo_sample *samples = known->samples;
	size_t n = known->n;
	struct maple_report_style style = maple_out_style(out, settings);
	uint64_t *curve = calloc(n + 1, sizeof(*curve));
	unsigned int dry = 0;

	if (!curve)
		return maple_say_error(MAPLE_STATUS_FAILED, "out of memory");
	for (size_t i = 0; i < n; i++)
		curve[i] = maple_coverage_sum(&samples[i].coverage).exposed;
	for (size_t i = n; i > 1 && curve[i - 1] == curve[i - 2]; i--)
		dry++;
	if (settings->format) {
		maple_report_json_coverage(
			out, program, &known->success, samples, n, map,
			violations ? &known->violations : NULL, NULL);
	} else {
		maple_database_name(out, program);
		fputs("\n\n", out);
		maple_report_coverage(out, &program->coverage, &style);
		putc('\n', out);
		maple_report_success(out, &known->success, &style);
		putc('\n', out);
		maple_report_curve(out, curve, n, &style);
		maple_report_saturation(out, &program->coverage, dry);
		if (violations)
			maple_report_violation_counts(out, &known->violations);
		print_map(out, map, why);
	}
	free(curve);
	return 0;
}

/* Classes that were never tried have their place as well. */
static int add_classes(struct maple_memo_success *success,
		       const struct maple_coverage *coverage)
{
	for (unsigned int i = 0; i < coverage->nclasses; i++)
		if (!maple_memo_tries(success, coverage->class[i].name))
			return maple_say_error(MAPLE_STATUS_FAILED,
					       "out of memory");
	return 0;
}

static int count_violations(struct maple_memo *memo, int64_t program,
			    struct maple_violation_counts *counts,
			    struct maple_error *err)
{
	struct maple_violations violations;
	struct maple_report report = { .source = MAPLE_REPORT_FINDINGS };
	struct maple_finding **findings;
	size_t n;
	int e = maple_memo_findings(memo, program, &findings, &n, err);

	if (e)
		return e;
	maple_database_part(findings, n, true, &violations, &report);
	maple_violations_count(&violations, counts);
	maple_memo_findings_destroy(findings, n);
	return 0;
}

static int load_coverage(struct maple_memo *memo,
			 const struct maple_settings *settings,
			 const struct maple_memo_program_info *program,
			 FILE *out)
{
	struct known known = { 0 };
	struct maple_unreached map = { 0 };
	struct maple_error err = { "" };
	char *why = NULL;
	int ret;

	if (maple_memo_success(memo, program->id, &known.success, &err) ||
	    maple_memo_samples(memo, program->id, (int64_t)settings->since,
			       &known.samples, &known.n, &err) ||
	    (settings->campaign.violations &&
	     count_violations(memo, program->id, &known.violations, &err)))
		ret = maple_say_failed(&err);
	else
		ret = add_classes(&known.success, &program->coverage);
	if (!ret) {
		bool mapped = !maple_map_find(memo, program, &map, &why);

		ret = print_coverage(settings, program, &known,
				     mapped ? &map : NULL, why, out);
	}
	maple_unreached_deinit(&map);
	free(why);
	maple_memo_success_deinit(&known.success);
	maple_memo_samples_destroy(known.samples, known.n);
	return ret;
}

static int coverage(struct maple_settings *settings, struct maple_memo *memo,
		    FILE *out)
{
	struct maple_memo_program_info *programs;
	struct maple_error err = { "" };
	size_t n, which;
	int ret;

	if (maple_memo_programs(memo, &programs, &n, &err))
		return maple_say_failed(&err);
	if (!maple_database_select(settings->argc ? settings->argv[0] : NULL,
				   programs, n, &which))
		ret = settings->unreached
			      ? maple_map_print(memo, settings,
						&programs[which], out)
			      : load_coverage(memo, settings, &programs[which],
					      out);
	else if (settings->argc)
		ret = maple_say_error(MAPLE_STATUS_FAILED,
				      "the memo database knows no program "
				      "'%s'; 'mapletest memo list' lists them",
				      settings->argv[0]);
	else
		ret = maple_say_error(MAPLE_STATUS_FAILED,
				      "the memo database knows no program "
				      "yet; 'mapletest run' adds one");
	maple_memo_programs_destroy(programs, n);
	return ret;
}

int maple_command_coverage(struct maple_settings *settings)
{
	int ret;

	if (settings->argc > 1)
		return maple_say_error(MAPLE_STATUS_USAGE,
				       "one program at a time: mapletest "
				       "coverage [PROGRAM]");
	ret = maple_out_tables(settings, "coverage");
	return ret ? ret
		   : maple_database_show(settings, MAPLE_MEMO_READONLY,
					 coverage);
}
