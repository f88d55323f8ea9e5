// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Words that several forms of report use alike. */
#include "report/words.h"

/*
 * maple_words_access - "reads", "locks", ...
 *
 * In a deadlock the last two locks, e1 and e3, are never had.
 */
const char *maple_words_access(const struct maple_finding *f,
			       const struct maple_moment *m)
{
	if (f->kind == MAPLE_FAILURE_DEADLOCK &&
	    f->idiom == MAPLE_IDIOM_DEADLOCK && m->event % 2)
		return "waits for";
	switch (m->kind) {
	case 'R':
		return "reads";
	case 'W':
		return "writes";
	case 'L':
		return "locks";
	case 'U':
		return "unlocks";
	default:
		return "touches";
	}
}
