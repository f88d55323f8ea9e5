// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Violations: what the patterns mean, and an end for each. */
#include <stdlib.h>
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

void maple_violation_destroy(struct maple_violation *v)
{
	if (!v)
		return;
	for (unsigned int i = 0; i < v->nmoments; i++)
		maple_moment_deinit(&v->moments[i]);
	free(v->moments);
	free(v->set);
	free(v);
}
