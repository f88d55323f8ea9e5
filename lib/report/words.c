// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Words that several forms of report use alike. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "report/clean.h"
#include "report/words.h"

#define LAST 5 /* lines of an output that a message has */

/* maple_words_access - "reads", "waits for", "not reached: writes", ... */
const char *maple_words_access(const struct maple_moment *m)
{
	static const char *const frees[] = { "frees", "was freeing",
					     "not reached: frees" };
	static const struct {
		char kind;
		const char *words[3]; /* by enum maple_reach */
	} table[] = {
		{ 'R', { "reads", "was reading", "not reached: reads" } },
		{ 'W', { "writes", "was writing", "not reached: writes" } },
		{ 'L', { "locks", "waits for", "not reached: locks" } },
		{ 'U', { "unlocks", "was unlocking", "not reached: unlocks" } },
		{ 'S', { "signals", "was signalling", "not reached: signals" } },
		{ 'C', { "waits on", "waits on", "not reached: waits on" } },
	};

	if (m->frees)
		return frees[m->reach];
	for (unsigned int i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].kind == m->kind)
			return table[i].words[m->reach];
	return "touches";
}

/* maple_words_replayed - what replays are counted that do the same: "fails" */
const char *maple_words_replayed(const struct maple_finding *f)
{
	return f->kind == MAPLE_FAILURE_VIOLATION ? "has the order" : "fails";
}

/* maple_words_value - " = 70 (was 100)", "" if it is not known */
struct maple_clean maple_words_value(const struct maple_moment *m, bool unicode)
{
	char text[MAPLE_CLEAN_MAX];

	if (!m->value)
		return (struct maple_clean){ "", 0 };
	if (m->was && m->kind == 'W')
		snprintf(text, sizeof(text), " = %s (was %s)", m->value, m->was);
	else
		snprintf(text, sizeof(text), " = %s", m->value);
	return maple_clean(text, unicode);
}

/*
 * maple_words_order - one past the last moment of the order that begins with
 * moment @first of @f
 */
unsigned int maple_words_order(const struct maple_finding *f, unsigned int first)
{
	unsigned int end = first;

	while (end < f->nmoments &&
	       f->moments[end].order == f->moments[first].order)
		end++;
	return end;
}

/* maple_words_columns - columns of the order of moments [@first, @end) of @f */
unsigned int maple_words_columns(const struct maple_finding *f,
				 unsigned int first, unsigned int end)
{
	unsigned int n = 2;

	for (; first < end; first++)
		if (f->moments[first].role >= n)
			n = f->moments[first].role + 1;
	return n;
}

/*
 * maple_words_thread - the thread of @role in the order of moments [@first,
 * @end) of @f; NULL: it has no moment there
 */
const char *maple_words_thread(const struct maple_finding *f, unsigned int first,
			       unsigned int end, unsigned int role)
{
	for (; first < end; first++)
		if (f->moments[first].role == role && f->moments[first].thread)
			return f->moments[first].thread;
	return NULL;
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

/* maple_words_when - "2026-11-22 14:05", in the reader's time; in @buffer */
const char *maple_words_when(uint64_t when, char *buffer)
{
	time_t then = (time_t)when;
	struct tm tm;

	if (!localtime_r(&then, &tm) ||
	    !strftime(buffer, MAPLE_WORDS_WHEN, "%F %H:%M", &tm))
		strcpy(buffer, "?");
	return buffer;
}

/*
 * maple_words_machine - where it was made first: "on db7 (CPU; Linux 6.1.0),
 * backend agent"
 *
 * The machine is known. To be freed; NULL without memory.
 */
char *maple_words_machine(const struct maple_finding *f)
{
	const char *cpu = f->cpu && *f->cpu ? f->cpu : NULL;
	char *text = NULL;

	if (asprintf(&text, "on %s%s%s%s%s%s%s%s%s", f->machine,
		     cpu || f->kernel ? " (" : "", cpu ? cpu : "",
		     cpu && f->kernel ? "; " : "", f->kernel ? "Linux " : "",
		     f->kernel ? f->kernel : "", cpu || f->kernel ? ")" : "",
		     f->first_backend ? ", backend " : "",
		     f->first_backend ? f->first_backend : "") < 0)
		return NULL;
	return text;
}

/* maple_words_half - what to say behind the variable of a split instruction */
const char *maple_words_half(const struct maple_moment *m)
{
	if (!m->half)
		return "";
	return m->kind == 'R' ? " (first half)" : " (second half)";
}

/* maple_words_split - what halves are, if @f has any; else NULL */
const char *maple_words_split(const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (f->moments[i].half)
			return "Each half is half of one instruction, which "
			       "was split: on one CPU nothing comes in between, "
			       "on several other threads do.";
	return NULL;
}

/*
 * maple_words_freed - where memory of @f's orders was freed, and allocated if
 * that is known, in a sentence to be freed; NULL if none was
 */
char *maple_words_freed(const struct maple_finding *f)
{
	const struct maple_moment *m = f->moments, *end = m + f->nmoments;
	const char *from, *at;
	char *text = NULL;
	int n;

	while (m < end && (!m->frees || m->reach != MAPLE_REACH_DONE))
		m++;
	if (m == end)
		return NULL;
	from = m->origin ? m->origin : m->variable ? m->variable : "";
	from = strncmp(from, "malloc ", 7) ? "" : from + 7;
	at = strstr(from, " + ");
	n = asprintf(&text, "Freed by thread %s at %s%s%.*s.",
		     maple_clean(m->thread, true).text,
		     maple_clean_place(&m->place, 0, true).text,
		     *from ? ", allocated " : "",
		     at ? (int)(at - from) : (int)strlen(from), from);
	return n < 0 ? NULL : text;
}

static void put_report(FILE *out, const char *report)
{
	char *copy = strdup(report), *at, *line;

	for (line = copy ? strtok_r(copy, "\n", &at) : NULL; line;
	     line = strtok_r(NULL, "\n", &at))
		fprintf(out, "\n%s", maple_clean(line, true).text);
	free(copy);
}

/*
 * maple_words_speaks - whether the program, or the oracle, has said itself what
 * is wrong: then what it printed belongs to the finding
 */
bool maple_words_speaks(const struct maple_finding *f)
{
	switch (f->kind) {
	case MAPLE_FAILURE_EXIT:
	case MAPLE_FAILURE_ORACLE:
	case MAPLE_FAILURE_OUTPUT:
		return true;
	case MAPLE_FAILURE_SIGNAL:
		return f->signo == SIGABRT;
	default:
		return false;
	}
}

/* maple_words_end - the last @lines of @text; @all: how many it has */
const char *maple_words_end(const char *text, unsigned int lines,
			    unsigned int *all)
{
	unsigned int left;

	*all = 0;
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		++*all;
	for (left = *all; left > lines; left--)
		text = strchr(text, '\n') + 1;
	return text;
}

/* maple_words_count - how often it failed again, for a list */
void maple_words_count(const struct maple_finding *f, char *buffer, size_t size)
{
	if (f->attached)
		snprintf(buffer, size, "attached");
	else if (!f->forced_runs)
		snprintf(buffer, size, "not replayed");
	else if (!f->class)
		snprintf(buffer, size, "replayed %u/%u", f->forced_fails,
			 f->forced_runs);
	else
		snprintf(buffer, size, "%u/%u, reversed %u/%u", f->forced_fails,
			 f->forced_runs, f->flipped_fails, f->flipped_runs);
}

/*
 * maple_words_bounds - "That is 2 preemptions, at 1 variable, of 2 threads.";
 * false: there is nothing to say
 */
bool maple_words_bounds(const struct maple_finding *f, char *buffer, size_t size)
{
	char at[32] = "";

	if (!f->switches || !f->threads)
		return false;
	if (f->variables)
		snprintf(at, sizeof(at), " at %u variable%s,", f->variables,
			 f->variables == 1 ? "" : "s");
	snprintf(buffer, size, "That is %u preemption%s,%s of %u thread%s.",
		 f->preemptions, f->preemptions == 1 ? "" : "s", at, f->threads,
		 f->threads == 1 ? "" : "s");
	return true;
}

/* Of a finding for which no order was forced. */
static void say_replays(const struct maple_finding *f, char *buffer, size_t size)
{
	const char *not = maple_words_no_cause(f);

	if (f->attached || !f->forced_runs)
		snprintf(buffer, size,
			 "It failed without any order being forced: there is "
			 "nothing to reverse.");
	else if (maple_finding_meets(f) && f->flipped_runs)
		snprintf(buffer, size,
			 "Control: at the same moment %u/%u fails, one after "
			 "the other %u/%u%s%s",
			 f->forced_fails, f->forced_runs, f->flipped_fails,
			 f->flipped_runs, not ? "\n" : "", not ? not : "");
	else if (f->switches && f->flipped_runs)
		snprintf(buffer, size,
			 "Control: by these switches %u/%u fails, with one "
			 "of them left out %u/%u%s%s",
			 f->forced_fails, f->forced_runs, f->flipped_fails,
			 f->flipped_runs, not ? "\n" : "", not ? not : "");
	else
		snprintf(buffer, size,
			 "It failed without any order being forced. Replayed: "
			 "%u/%u fail%s by the same schedule.",
			 f->forced_fails, f->forced_runs,
			 f->forced_fails ? "" : ": not reproduced");
}

/*
 * maple_words_no_cause - what to say where the control does not tell a failure
 * from a pass; NULL where it does
 */
const char *maple_words_no_cause(const struct maple_finding *f)
{
	if (!f->class && !f->switches)
		return NULL;
	if (f->forced_runs && !f->forced_fails)
		return "It did not fail again: not reproduced.";
	if (maple_finding_meets(f) && f->flipped_fails)
		return "It fails as well where they do not meet: that is not "
		       "the cause.";
	if (!f->class || maple_finding_is_cause(f))
		return NULL;
	if (!f->serial_runs)
		return "The reversed order fails as well: it is not the cause.";
	if (f->serial_fails)
		return "The reversed order fails as well: it is not the "
		       "cause.\n"
		       "So does one thread after the other.";
	return "The reversed order fails as well: it is not the cause.\n"
	       "One thread after the other, the older first, does not fail.";
}

static void say_control(const struct maple_finding *f, char *buffer, size_t size)
{
	const char *not = maple_words_no_cause(f);
	char serial[64] = "";

	if (f->serial_runs)
		snprintf(serial, sizeof(serial),
			 ", one thread after the other %u/%u", f->serial_fails,
			 f->serial_runs);
	snprintf(buffer, size,
		 "Control: forced %u/%u fails, reversed %u/%u%s%s%s",
		 f->forced_fails, f->forced_runs, f->flipped_fails,
		 f->flipped_runs, serial, not ? "\n" : "", not ? not : "");
}

/* maple_words_control - what came of doing it again, in a sentence or two */
void maple_words_control(const struct maple_finding *f, char *buffer,
			 size_t size)
{
	if (!f->class)
		say_replays(f, buffer, size);
	else if (f->attached)
		snprintf(buffer, size,
			 "Not confirmed: attached. What ran cannot be run "
			 "again.");
	else if (!f->forced_runs)
		snprintf(buffer, size,
			 "Not confirmed: no replay was asked for.");
	else
		say_control(f, buffer, size);
}

/* The last that was printed: a message has no room for all of it. */
static void print_end(FILE *out, const char *who, const char *text)
{
	unsigned int all;

	if (!text || !*text)
		return;
	fprintf(out, "\n%s printed%s:", who,
		*maple_words_end(text, LAST, &all) && all > LAST ? ", at its end"
								 : "");
	for (text = maple_words_end(text, LAST, &all); *text;) {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);

		fprintf(out, "\n| %s", maple_clean(line, true).text);
		free(line);
		text += n + (text[n] == '\n');
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
	char *text = NULL, control[MAPLE_WORDS_CONTROL];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *history = maple_words_history(f);
	char *freed = maple_words_freed(f);

	if (!out) {
		free(history);
		free(freed);
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
			maple_words_access(m));
		fprintf(out, "%s%s", maple_clean(m->variable, true).text,
			maple_words_half(m));
		if (m->type)
			fprintf(out, " (%s)", maple_clean(m->type, true).text);
		fprintf(out, "%s at ", maple_words_value(m, true).text);
		fputs(maple_clean_place(&m->place, 0, true).text, out);
	}
	if (maple_words_split(f))
		fprintf(out, "\n%s", maple_words_split(f));
	if (freed)
		fprintf(out, "\n%s", maple_clean(freed, true).text);
	free(freed);
	if (maple_words_speaks(f)) {
		print_end(out, "The program", f->output);
		print_end(out, "The oracle", f->oracle);
	}
	maple_words_control(f, control, sizeof(control));
	fprintf(out, "\n%s", control);
	if (f->report)
		put_report(out, f->report);
	if (f->replay)
		fprintf(out, "\nReplay: %s", maple_clean(f->replay, true).text);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/*
 * maple_words_weaker - what a verdict lacks that was reached without real-time
 * priorities; NULL: nothing
 */
const char *maple_words_weaker(const struct maple_campaign_result *r)
{
	return r->sleeps
		       ? "without real-time priorities: weaker, since threads "
			 "were held asleep in controlled runs, and no order "
			 "was forced"
		       : NULL;
}
