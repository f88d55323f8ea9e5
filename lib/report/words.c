// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Words that several forms of report use alike. */
#include <stdio.h>
#include <stdlib.h>
#include "report/clean.h"
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

/*
 * maple_words_finding - the whole finding in sentences, a line each
 *
 * Returns a string to be freed, without a newline at its end; NULL without
 * memory.
 */
char *maple_words_finding(const struct maple_finding *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s: %s.", maple_clean(f->title, true).text,
		maple_clean(f->what, true).text);
	for (unsigned int i = 0; i < f->nmoments; i++) {
		const struct maple_moment *m = &f->moments[i];

		fprintf(out, "\n%u. thread %s %s ", i + 1,
			maple_clean(m->thread, true).text,
			maple_words_access(f, m));
		fprintf(out, "%s at ", maple_clean(m->variable, true).text);
		fputs(maple_clean_place(&m->place, true).text, out);
	}
	if (f->idiom && f->forced_runs)
		fprintf(out, "\nForced %u/%u fails, reversed %u/%u.",
			f->forced_fails, f->forced_runs, f->flipped_fails,
			f->flipped_runs);
	if (f->attached)
		fputs("\nNot confirmed: attached.", out);
	if (f->replay)
		fprintf(out, "\nReplay: %s", maple_clean(f->replay, true).text);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
