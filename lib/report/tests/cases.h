/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_REPORT_CASES_H
#define MAPLE_REPORT_CASES_H

#include <maple/report.h>

enum maple_case_verdict {
	MAPLE_CASE_PASSED,
	MAPLE_CASE_FAILED,  /* a finding */
	MAPLE_CASE_BROKEN,  /* nothing can be said: an error */
	MAPLE_CASE_SKIPPED, /* on request, or told and not judged */
};

/* What a report says in the words of test runners. */
struct maple_case {
	enum maple_case_verdict verdict;
	char *name;	  /* the program, a finding, a probe */
	char *message;	  /* one line */
	char *detail;	  /* many, or "" */
	const char *type; /* kind of failure */
	double seconds;
	bool note; /* a violation of an atomic set, whatever it is part of */
	const struct maple_finding *finding;	    /* the first, or NULL */
	const struct maple_campaign_result *result; /* its campaign's, or NULL */
};

struct maple_cases {
	unsigned int n, room;
	struct maple_case *at;
	unsigned int count[MAPLE_CASE_SKIPPED + 1]; /* by verdict */
	double seconds;
};

int maple_cases_init(struct maple_cases *cases,
		     const struct maple_report *report);
void maple_cases_deinit(struct maple_cases *cases);
char *maple_cases_command(char *const *argv);

#endif
