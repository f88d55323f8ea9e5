/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Reports: findings and campaigns in every form that people and machines
 * read. What is reported is a struct maple_report; a form is a row of the
 * table in lib/report/formats.c, and maple_report_write() is the way to all of
 * them. The functions below it are the parts that text and JSON are made of.
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
#include <maple/detached.h>
#include <maple/error.h>
#include <maple/finding.h>
#include <maple/suite.h>
#include <maple/unreached.h>

#define MAPLE_REPORT_SCHEMA 1 /* of every JSON object here */

struct maple_report_style {
	bool colour;
	bool unicode;	    /* box characters and arrows; else ASCII */
	bool output;	    /* the target's output as well, what was left out */
	bool quiet;	    /* no summary of what went well */
	unsigned int width; /* columns; 0: 80; kept within 80 and 120 */
};

/* The forms of --format; each has a row in lib/report/formats.c. */
enum maple_report_format {
	MAPLE_REPORT_TEXT,
	MAPLE_REPORT_JSON,
	MAPLE_REPORT_JSONL,
	MAPLE_REPORT_JUNIT,
	MAPLE_REPORT_SARIF,
	MAPLE_REPORT_TAP,
	MAPLE_REPORT_GITHUB,
	MAPLE_REPORT_FORMATS, /* one past the last */
};

/* maple_report_format_name - "text", "json", ...; NULL behind the last one */
const char *maple_report_format_name(enum maple_report_format format);

/* What a report is about. */
enum maple_report_source {
	MAPLE_REPORT_CAMPAIGN, /* a campaign that was carried out */
	MAPLE_REPORT_FINDINGS, /* findings of the memo database */
	MAPLE_REPORT_REPLAY,   /* a replay of one finding */
	MAPLE_REPORT_PROBES,   /* what works on this machine */
	MAPLE_REPORT_ERROR,    /* the work could not be done */
	MAPLE_REPORT_SUITE,    /* campaigns, one for each case of a program */
};

/*
 * A program of the memo database with its growth, for the page.
 */
struct maple_report_program {
	const struct maple_memo_program_info *info;
	const struct maple_memo_sample *samples;
	size_t nsamples;
	const struct maple_unreached *map; /* NULL: there is none, */
	const char *unmapped;		   /* ... for this reason, or NULL */
};

/*
 * Everything that a report can say. Fields that the source does not have stay
 * zero. Nothing is owned: what it points to must outlive the call that gets
 * it. The verdict of every form is @status, the exit status of the tool: 0
 * passes, 66 is a finding, 77 is skipped, and everything else an error; what
 * was not delivered can therefore pass in none.
 */
struct maple_report {
	enum maple_report_source source;
	int status;
	char *const *argv; /* the program under test, or NULL */
	const char *root;  /* sources below it are named relative to it */
	const char *host;  /* name of the machine, or NULL */
	int64_t when;	   /* when the report was made; seconds, or 0 */

	/* CAMPAIGN */
	const struct maple_campaign_result *result;

	/* FINDINGS; REPLAY: the one */
	struct maple_finding *const *findings;
	size_t nfindings;
	bool in_full; /* as text: each in full, not a list */
	/* FINDINGS: those of atomic sets; NULL: nobody asks for them */
	const struct maple_violations *violations;
	const struct maple_report_program *programs; /* for the page */
	size_t nprograms;
	/*
	 * For a page that is served: the address of the list. It leads to each
	 * finding's own page, HOME/finding/USER:ID, which is in full and leads
	 * back; NULL: all is in one page. After @again seconds the list looks
	 * again; 0: it does not.
	 */
	const char *home;
	unsigned int again;
	/*
	 * For a page that is served: the user's jobs, as they are to be shown,
	 * and how many more there are. With @in_full: the page of the one job,
	 * with the end of its log, or NULL.
	 */
	const struct maple_detached_info *jobs;
	size_t njobs;
	unsigned int njobs_left;
	const char *log;

	/* FINDINGS: of all campaigns of the memo; none: nothing is said of it */
	const struct maple_memo_machine *machines;
	size_t nmachines;
	const struct maple_memo_hour *hours;
	size_t nhours;

	/* REPLAY */
	unsigned int times, fails;
	bool flip;

	/* PROBES */
	const struct maple_probe *probes;
	unsigned int nprobes;

	/* ERROR */
	const char *error;

	/* SUITE */
	const struct maple_suite *suite;
};

/*
 * maple_report_begin - a campaign begins
 * maple_report_progress - a run of it ended
 * maple_report_found - it has a finding
 *
 * For the forms that tell as they go, text and jsonl; the others write
 * nothing before the end. @out is flushed. Errors: -EIO, -ENOMEM.
 */
int maple_report_begin(FILE *out, enum maple_report_format format,
		       const struct maple_campaign_options *options,
		       struct maple_error *err);
int maple_report_progress(FILE *out, enum maple_report_format format,
			  const struct maple_progress *progress,
			  struct maple_error *err);
int maple_report_found(FILE *out, enum maple_report_format format,
		       const struct maple_finding *finding,
		       const struct maple_report_style *style,
		       struct maple_error *err);

/*
 * maple_report_write - the whole report, or what is left of it at the end
 * @style: of text; the other forms have one look
 *
 * With every form but text and jsonl this is one document, and nothing else
 * may be written to @out. @out is flushed. Errors: -EIO, -ENOMEM.
 */
int maple_report_write(FILE *out, enum maple_report_format format,
		       const struct maple_report *report,
		       const struct maple_report_style *style,
		       struct maple_error *err);

/*
 * maple_report_markdown - the report for a job's summary page on GitHub
 *
 * Meant to be appended to the file $GITHUB_STEP_SUMMARY. Errors: as above.
 */
int maple_report_markdown(FILE *out, const struct maple_report *report,
			  struct maple_error *err);

/*
 * maple_report_html - a page of its own that needs no network
 *
 * Well-formed XML; all that comes from the target is escaped. Errors: as
 * above.
 */
int maple_report_html(FILE *out, const struct maple_report *report,
		      struct maple_error *err);

/*
 * maple_report_text - a finding in full
 *
 * Title, interleaving with a column a thread, what happened, the control, the
 * replay command, SUMMARY line.
 */
void maple_report_text(FILE *out, const struct maple_finding *finding,
		       const struct maple_report_style *style);

/*
 * maple_report_clean - @text as a terminal may have it: without control
 * characters, escape sequences and what is no UTF-8. Whatever a stranger may
 * have written, a name, a path, a message, is printed by it.
 */
void maple_report_clean(FILE *out, const char *text);

/* maple_report_word - @word as the shell reads it back */
void maple_report_word(FILE *out, const char *word);

/* maple_report_list - findings, a line each */
void maple_report_list(FILE *out, struct maple_finding *const *findings,
		       size_t n, const struct maple_report_style *style);

/*
 * maple_report_machines - a table of the machines that share the memo, and one
 * of hours, the last ones
 */
void maple_report_machines(FILE *out, const struct maple_report *report,
			   const struct maple_report_style *style);

/*
 * maple_report_elsewhere - where @finding was made first, and what of it
 * differs from @here: "on db7 (CPU; Linux 6.1.0), backend agent; here are
 * another CPU (MODEL) and another kernel (6.12.3)"
 *
 * NULL: it was here, or it is not known where, or there is no memory. To be
 * freed.
 */
char *maple_report_elsewhere(const struct maple_finding *finding,
			     const struct maple_memo_machine *here);

/* maple_report_probe - what works here: one answer, and how to mend it */
void maple_report_probe(FILE *out, const struct maple_probe *probe,
			const struct maple_report_style *style);

/* maple_report_violations - of atomic sets, if anybody asked; else nothing */
void maple_report_violations(FILE *out, const struct maple_violations *v,
			     const struct maple_report_style *style);

/* maple_report_violation_counts - how many there are, in a few lines */
void maple_report_violation_counts(FILE *out,
				   const struct maple_violation_counts *counts);

/* maple_report_coverage - exposed, predicted, failed by class, as a table */
void maple_report_coverage(FILE *out, const struct maple_coverage *coverage,
			   const struct maple_report_style *style);

/*
 * maple_report_success - how often the scheduler exposed what it tried, by
 * class, and why it did not
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
void maple_report_saturation(FILE *out, const struct maple_coverage *coverage,
			     unsigned int dry_runs);

/* maple_report_summary - the end of a campaign in a few lines */
void maple_report_summary(FILE *out, const struct maple_campaign_result *result,
			  const struct maple_report_style *style);

/* maple_report_suite - the cases of a test program, a line each, and the sum */
void maple_report_suite(FILE *out, const struct maple_suite *suite,
			const struct maple_report_style *style);

/* maple_report_dmesg - "[   12.345678] maple: BUG: ..." with a newline */
void maple_report_dmesg(FILE *out, double seconds, const char *text);

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

/*
 * maple_report_json_findings - {"schema":1,"findings":[...]}; with machines
 * also "machines":[...],"hours":[...]; with violations "violations":[...]
 */
int maple_report_json_findings(FILE *out, const struct maple_report *report,
			       struct maple_error *err);

/*
 * maple_report_json_coverage - {"schema":1,"program":{...},"coverage":{...},
 * "scheduler":{...},"samples":[{"run":..,"coverage":{...}}],"map":{...}}
 * @map: NULL: there is none
 * @violations: NULL: nobody asks for them; else "violations":{...} as well
 */
int maple_report_json_coverage(FILE *out,
			       const struct maple_memo_program_info *program,
			       const struct maple_memo_success *success,
			       const struct maple_memo_sample *samples,
			       size_t n, const struct maple_unreached *map,
			       const struct maple_violation_counts *violations,
			       struct maple_error *err);

/*
 * maple_report_map - the map in numbers
 * maple_report_unexecuted - ... with the first pairs of which no run has
 * executed an end maple_report_unreached - ... with all pairs of places that
 * runs have not had in both orders; in JSON
 * {"schema":1,"program":{...},"unreached":{...}} with all pairs
 */
void maple_report_map(FILE *out, const struct maple_unreached *map);
void maple_report_unexecuted(FILE *out, const struct maple_unreached *map,
			     const struct maple_report_style *style);
void maple_report_unreached(FILE *out, const struct maple_unreached *unreached,
			    const struct maple_report_style *style);
int maple_report_json_unreached(FILE *out,
				const struct maple_memo_program_info *program,
				const struct maple_unreached *unreached,
				struct maple_error *err);

/* maple_report_json_programs - {"schema":1,"programs":[...]} */
int maple_report_json_programs(FILE *out,
			       const struct maple_memo_program_info *programs,
			       size_t n, struct maple_error *err);

/*
 * maple_report_json_jobs - {"schema":1,"place":..,"bytes":..,"jobs":[...]}
 * @place: the folder of them all
 */
int maple_report_json_jobs(FILE *out, const char *place,
			   const struct maple_detached_info *jobs, size_t n,
			   uint64_t bytes, struct maple_error *err);

/* maple_report_json_probes - {"schema":1,"probes":[...]} */
int maple_report_json_probes(FILE *out, const struct maple_probe *probes,
			     unsigned int n, struct maple_error *err);

/* maple_report_json_replay - {"schema":1,"finding":..,"fails":[k,n],..} */
int maple_report_json_replay(FILE *out, const struct maple_finding *finding,
			     unsigned int times, bool flip, unsigned int fails,
			     struct maple_error *err);

/* maple_report_json_error - {"schema":1,"error":...,"status":...} */
int maple_report_json_error(FILE *out, const char *text, int status);

/* maple_report_json_suite - {"schema":1,"verdict":..,"cases":[...],..} */
int maple_report_json_suite(FILE *out, const struct maple_suite *suite,
			    struct maple_error *err);

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
