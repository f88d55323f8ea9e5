/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Reports: findings and campaigns as text, as JSON, as JSON lines.
 *
 * Everything goes to the FILE that the caller gives; whether a write failed
 * is seen with ferror() on it. Strings from the target are made harmless for
 * a terminal. Context: any thread; the functions share no state.
 */
#ifndef MAPLE_REPORT_H
#define MAPLE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <maple/campaign.h>
#include <maple/error.h>
#include <maple/finding.h>

#define MAPLE_REPORT_SCHEMA 1 /* of every JSON object here */

struct maple_report_style {
	bool colour;
	bool unicode;	    /* box characters and arrows; else ASCII */
	bool output;	    /* the target's output as well */
	unsigned int width; /* columns; 0: 80; kept within 80 and 120 */
};

/*
 * maple_report_text - a finding in full
 *
 * Title, interleaving in two columns, what happened, the control, the replay
 * command, SUMMARY line.
 */
void maple_report_text(FILE *out, const struct maple_finding *finding,
		       const struct maple_report_style *style);

/* maple_report_list - findings, a line each */
void maple_report_list(FILE *out, struct maple_finding *const *findings,
		       size_t n, const struct maple_report_style *style);

/* maple_report_coverage - exposed, predicted, failed by idiom, as a table */
void maple_report_coverage(FILE *out, const struct maple_coverage *coverage,
			   const struct maple_report_style *style);

/*
 * maple_report_success - how often the scheduler exposed what it tried, by
 * idiom, and why it did not
 */
void maple_report_success(FILE *out, const struct maple_memo_success *success,
			  const struct maple_report_style *style);

/*
 * maple_report_curve - iRoots exposed over runs, as a small drawing
 * @exposed: the total after each of @n runs
 */
void maple_report_curve(FILE *out, const uint64_t *exposed, size_t n,
			const struct maple_report_style *style);

/*
 * maple_report_saturation - the line that says whether it still grows
 * @dry_runs: runs in a row without a new iRoot
 * @left: candidates not tried
 */
void maple_report_saturation(FILE *out, uint64_t exposed, uint64_t left,
			     unsigned int dry_runs);

/* maple_report_summary - the end of a campaign in a few lines */
void maple_report_summary(FILE *out, const struct maple_campaign_result *result,
			  const struct maple_report_style *style);

/* maple_report_dmesg - "[   12.345678] maple: BUG: ..." with a newline */
void maple_report_dmesg(FILE *out, double seconds, const char *text);

/*
 * maple_report_title - "BUG: maple: " and the finding's title
 *
 * Returns a string to be freed.
 */
char *maple_report_title(const struct maple_finding *finding);

/* maple_report_json - a campaign as one JSON object and a newline */
int maple_report_json(FILE *out, const struct maple_campaign_result *result,
		      struct maple_error *err);

/* The same as a stream: an object a line, "event" says which. */
int maple_report_jsonl_start(FILE *out,
			     const struct maple_campaign_options *options,
			     struct maple_error *err);
int maple_report_jsonl_run(FILE *out, const struct maple_progress *progress,
			   struct maple_error *err);
int maple_report_jsonl_finding(FILE *out, const struct maple_finding *finding,
			       struct maple_error *err);
int maple_report_jsonl_end(FILE *out, const struct maple_campaign_result *result,
			   struct maple_error *err);

/* maple_report_json_findings - {"schema":1,"findings":[...]} */
int maple_report_json_findings(FILE *out, struct maple_finding *const *findings,
			       size_t n, struct maple_error *err);

/*
 * maple_report_json_coverage - {"schema":1,"program":{...},"coverage":{...},
 * "scheduler":{...},"samples":[{"run":..,"coverage":{...}}]}
 */
int maple_report_json_coverage(FILE *out,
			       const struct maple_memo_program_info *program,
			       const struct maple_memo_success *success,
			       const struct maple_memo_sample *samples,
			       size_t n, struct maple_error *err);

/* maple_report_json_programs - {"schema":1,"programs":[...]} */
int maple_report_json_programs(FILE *out,
			       const struct maple_memo_program_info *programs,
			       size_t n, struct maple_error *err);

/* maple_report_json_probes - {"schema":1,"probes":[...]} */
int maple_report_json_probes(FILE *out, const struct maple_probe *probes,
			     unsigned int n, struct maple_error *err);

/* maple_report_json_replay - {"schema":1,"finding":..,"fails":[k,n],..} */
int maple_report_json_replay(FILE *out, const struct maple_finding *finding,
			     unsigned int times, bool flip, unsigned int fails,
			     struct maple_error *err);

/* maple_report_json_error - {"schema":1,"error":...,"status":...} */
int maple_report_json_error(FILE *out, const char *text, int status);

/*
 * maple_report_finding_encode - a finding as a JSON object
 *
 * Lossless for any bytes: what is no UTF-8 travels as U+10FF80 to U+10FFFF.
 * Returns a string to be freed, NULL when out of memory.
 */
char *maple_report_finding_encode(const struct maple_finding *finding);

/*
 * maple_report_finding_decode - the way back
 *
 * Errors: -EBADMSG it is no finding of this schema, -ENOMEM.
 */
int maple_report_finding_decode(const char *json, struct maple_finding **finding,
				struct maple_error *err);

#endif
