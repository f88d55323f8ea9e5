// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What a memo has, for a report: findings, and apart from them violations. */
#include <string.h>
#include "cli.h"

/*
 * maple_stored_part - puts the @n @findings of a memo, which are sorted for
 * that, into @report
 * @asked: violations are told as well
 * @violations: filled in, if so; @report then points to it
 *
 * They stay the caller's.
 */
void maple_stored_part(struct maple_finding **findings, size_t n, bool asked,
		       struct maple_violations *violations,
		       struct maple_report *report)
{
	*violations = (struct maple_violations){ .asked = asked };
	report->findings = findings;
	report->nfindings = maple_violations_part(findings, n);
	if (!asked)
		return;
	violations->at = findings + report->nfindings;
	violations->n = (unsigned int)(n - report->nfindings);
	report->violations = violations;
}

/* Whether @report is asked for one by name, and that is a violation. */
bool maple_stored_violates(struct maple_finding *const *findings, size_t n)
{
	return n == 1 && findings[0]->kind == MAPLE_FAILURE_VIOLATION;
}
