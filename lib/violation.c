// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Violations: what the patterns mean, and lists of them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <maple/finding.h>
#include <maple/violation.h>

/* maple_violation_words - see maple/violation.h */
const char *maple_violation_words(unsigned int pattern)
{
	static const char *const words[] = {
		"?",
		"a stale update",
		"two values of one variable",
		"an intermediate state is seen",
		"not its own value is read",
		"a write is lost",
		"an inconsistent state is left",
		"an inconsistent state is left",
		"an inconsistent state is seen",
		"an inconsistent state is seen",
		"each updates what the other has read",
		"each reads what the other is updating",
		"write skew",
	};

	return words[pattern < sizeof(words) / sizeof(*words) ? pattern : 0];
}

void maple_violations_count(const struct maple_violations *violations,
			    struct maple_violation_counts *counts)
{
	*counts = (struct maple_violation_counts){ .kept = violations->n };
	for (unsigned int i = 0; i < violations->n; i++) {
		const struct maple_finding *f = violations->at[i];
		const struct maple_violation *v = &f->violation;

		assert(v->pattern && v->pattern <= MAPLE_SET_PATTERNS);
		counts->suppressed += f->suppressed != NULL;
		counts->forced += v->forced_runs > 0;
		counts->failed += v->failed_runs > 0;
		counts->of[v->pattern]++;
		counts->forced_of[v->pattern] += v->forced_runs > 0;
	}
}

void maple_violations_deinit(struct maple_violations *violations)
{
	for (unsigned int i = 0; i < violations->n; i++)
		maple_finding_destroy(violations->at[i]);
	free(violations->at);
	violations->at = NULL;
	violations->n = 0;
}

size_t maple_violations_part(struct maple_finding **findings, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		struct maple_finding *f = findings[i];

		if (f->kind == MAPLE_FAILURE_VIOLATION)
			continue;
		memmove(findings + found + 1, findings + found,
			(i - found) * sizeof(*findings));
		findings[found++] = f;
	}
	return found;
}
