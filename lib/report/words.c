// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Words that several forms of report use alike. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
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

/* "2026-11-22" */
static void print_day(FILE *out, uint64_t seconds)
{
	time_t then = (time_t)seconds;
	struct tm tm;
	char day[32];

	if (gmtime_r(&then, &tm) && strftime(day, sizeof(day), "%Y-%m-%d", &tm))
		fputs(day, out);
}

/*
 * maple_words_history - "known, not fixed since 2026-11-22", or how it fails
 * without maple
 *
 * Returns a string to be freed, empty if there is nothing to say; NULL without
 * memory.
 */
char *maple_words_history(const struct maple_finding *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (f->fixed_at) {
		fputs("fixed, as seen on ", out);
		print_day(out, f->fixed_at);
	} else if (f->known) {
		fputs("known, not fixed since ", out);
		print_day(out, f->found_at);
	}
	if (f->native_fails)
		fprintf(out, "%sfails by itself, %u of %u native runs",
			f->known || f->fixed_at ? "; " : "", f->native_fails,
			f->native_runs);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* maple_words_is_cause - whether the control holds: reversed, it passes */
bool maple_words_is_cause(const struct maple_finding *f)
{
	/* More than one in five is no control any more. */
	return f->flipped_fails * 5 <= f->flipped_runs;
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
	char *history = maple_words_history(f);

	if (!out) {
		free(history);
		return NULL;
	}
	fprintf(out, "%s: %s.", maple_clean(f->title, true).text,
		maple_clean(f->what, true).text);
	if (history && *history)
		fprintf(out, "\nHistory: %s.", history);
	free(history);
	for (unsigned int i = 0; i < f->nmoments; i++) {
		const struct maple_moment *m = &f->moments[i];

		fprintf(out, "\n%u. thread %s %s ", i + 1,
			maple_clean(m->thread, true).text,
			maple_words_access(f, m));
		fprintf(out, "%s at ", maple_clean(m->variable, true).text);
		fputs(maple_clean_place(&m->place, 0, true).text, out);
	}
	if (f->idiom && f->forced_runs)
		fprintf(out, "\nForced %u/%u fails, reversed %u/%u.",
			f->forced_fails, f->forced_runs, f->flipped_fails,
			f->flipped_runs);
	if (!maple_words_is_cause(f))
		fputs("\nThe reversed order fails as well: it is not the "
		      "cause.",
		      out);
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
