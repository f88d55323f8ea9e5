// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Suppressions: which findings are known and do not count. What each type
 * looks at is told in maple/suppressions.h. ThreadSanitizer's types are
 * about what it reports, races above all; maple reports failures, so a type
 * stands for the failures that come of such a thing.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <maple/suppressions.h>
#include "base/array.h"
#include "base/which.h"

enum type {
	RACE,
	RACE_TOP,
	DEADLOCK,
	MUTEX,
	THREAD,
	SIGNAL,
	FROM_LIB,
	VIOLATION,
	TYPES
};

static const char *const names[TYPES] = {
	[RACE] = "race",
	[RACE_TOP] = "race_top",
	[DEADLOCK] = "deadlock",
	[MUTEX] = "mutex",
	[THREAD] = "thread",
	[SIGNAL] = "signal",
	[FROM_LIB] = "called_from_lib",
	[VIOLATION] = "violation",
};

struct entry {
	enum type type;
	char *text;	     /* TYPE:PATTERN */
	const char *pattern; /* in @text */
	unsigned int line, used;
};

struct maple_suppressions {
	struct entry *entry;
	size_t n;
};

/* ---- patterns ---- */

/*
 * Whether @p, with '*' and a '$' at its end, matches the beginning of @s; one
 * step back to the last '*' suffices, as each takes as little as it can.
 */
static bool matches_here(const char *p, const char *s)
{
	const char *star = NULL, *from = NULL;

	for (;;) {
		if (*p == '*') {
			star = ++p;
			from = s;
		} else if (!*p || (p[0] == '$' && !p[1] && !*s)) {
			return true;
		} else if (*s && *p == *s) {
			p++;
			s++;
		} else if (star && *from) {
			p = star;
			s = ++from;
		} else {
			return false;
		}
	}
}

static bool matches(const char *pattern, const char *s)
{
	if (!s)
		return false;
	if (*pattern == '^')
		return matches_here(pattern + 1, s);
	for (;; s++) {
		if (matches_here(pattern, s))
			return true;
		if (!*s)
			return false;
	}
}

static bool matches_place(const char *pattern, const struct maple_place *p)
{
	return matches(pattern, p->function) ||
	       matches(pattern, p->signature) || matches(pattern, p->inlined) ||
	       matches(pattern, p->file) || matches(pattern, p->image);
}

/* The name of a variable; of a block also without which one it is. */
static bool matches_name(const char *pattern, const char *name)
{
	size_t size, before;
	const char *which;
	char *bare;
	bool matched;

	if (matches(pattern, name))
		return true;
	which = maple_which(name, &size);
	bare = which ? strdup(name) : NULL;
	if (!bare)
		return false;
	before = (size_t)(which - name);
	memmove(bare + before, bare + before + size,
		strlen(bare + before + size) + 1);
	matched = matches(pattern, bare);
	free(bare);
	return matched;
}

/* ---- what a finding offers ---- */

enum which { FAILED, ALL, INNERMOST };

static bool matches_stacks(const char *pattern, const struct maple_finding *f,
			   enum which which)
{
	for (unsigned int i = 0; i < f->nstacks; i++) {
		const struct maple_stack *s = &f->stacks[i];
		unsigned int n = s->nframes;

		if (which != ALL && !s->failed)
			continue;
		if (which == INNERMOST && n > 1)
			n = 1;
		for (unsigned int k = 0; k < n; k++)
			if (matches_place(pattern, &s->frames[k].place))
				return true;
	}
	return false;
}

static bool matches_moments(const char *pattern, const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (matches_place(pattern, &f->moments[i].place) ||
		    matches_name(pattern, f->moments[i].variable) ||
		    matches_name(pattern, f->moments[i].origin))
			return true;
	return false;
}

static bool matches_locks(const char *pattern, const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nedges; i++)
		if (matches_place(pattern, &f->edges[i].place) ||
		    matches_place(pattern, &f->edges[i].since) ||
		    matches_name(pattern, f->edges[i].variable))
			return true;
	return matches_moments(pattern, f) || matches_stacks(pattern, f, ALL);
}

/* An order of locks, not of accesses to memory. */
static bool orders_locks(const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (f->moments[i].kind != 'L' && f->moments[i].kind != 'U')
			return false;
	return f->nmoments;
}

/* The kernel's way back from a handler stands below its frame. */
static bool in_handler(const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nstacks; i++)
		for (unsigned int k = 1; k < f->stacks[i].nframes; k++) {
			const char *function =
				f->stacks[i].frames[k].place.function;

			if (f->stacks[i].failed && function &&
			    (!strcmp(function, "__restore_rt") ||
			     !strcmp(function, "__kernel_rt_sigreturn")))
				return true;
		}
	return false;
}

static bool matches_images(const char *pattern, const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (matches(pattern, f->moments[i].place.image))
			return true;
	for (unsigned int i = 0; i < f->nstacks && !f->nmoments; i++)
		if (f->stacks[i].failed && f->stacks[i].nframes &&
		    matches(pattern, f->stacks[i].frames[0].place.image))
			return true;
	return false;
}

/* Its accesses, who called, and what it is about. */
static bool matches_violation(const char *pattern, const struct maple_finding *f)
{
	for (unsigned int i = 0; i < f->nmoments; i++)
		if (matches(pattern, f->moments[i].callers))
			return true;
	return matches_moments(pattern, f) ||
	       matches(pattern, f->violation.set);
}

static bool suppresses(const struct entry *e, const struct maple_finding *f)
{
	bool deadlock = f->kind == MAPLE_FAILURE_DEADLOCK;
	bool hang = f->kind == MAPLE_FAILURE_HANG;
	const char *p = e->pattern;

	/* What is no failure is no matter of the others. */
	if ((f->kind == MAPLE_FAILURE_VIOLATION) != (e->type == VIOLATION))
		return false;
	switch (e->type) {
	case RACE:
		return !deadlock && !hang &&
		       (matches_moments(p, f) || matches_stacks(p, f, FAILED));
	case RACE_TOP:
		return !deadlock && !hang &&
		       (matches_moments(p, f) ||
			matches_stacks(p, f, INNERMOST));
	case DEADLOCK:
		return deadlock && matches_locks(p, f);
	case MUTEX:
		return (deadlock ? f->nedges == 1 : orders_locks(f)) &&
		       matches_locks(p, f);
	case THREAD:
		return hang && matches_stacks(p, f, ALL);
	case SIGNAL:
		return in_handler(f) && matches_stacks(p, f, FAILED);
	case FROM_LIB:
		return matches_images(p, f);
	case VIOLATION:
		return matches_violation(p, f);
	case TYPES:
		break;
	}
	return false;
}

const char *maple_suppressions_match(struct maple_suppressions *suppressions,
				     const struct maple_finding *finding)
{
	for (size_t i = 0; suppressions && i < suppressions->n; i++) {
		struct entry *e = &suppressions->entry[i];

		if (suppresses(e, finding)) {
			e->used++;
			return e->text;
		}
	}
	return NULL;
}

const char *
maple_suppressions_unused(const struct maple_suppressions *suppressions,
			  size_t i, unsigned int *line)
{
	for (size_t k = 0; suppressions && k < suppressions->n; k++) {
		const struct entry *e = &suppressions->entry[k];

		if (e->used || i--)
			continue;
		*line = e->line;
		return e->text;
	}
	return NULL;
}

/* ---- the file ---- */

static int parse_type(const char *text, size_t n)
{
	for (int t = 0; t < TYPES; t++)
		if (strlen(names[t]) == n && !strncmp(text, names[t], n))
			return t;
	return -1;
}

/* @text, from its first to its last sign that is no blank. */
static char *trim(char *text)
{
	size_t n;

	while (isspace((unsigned char)*text))
		text++;
	n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = 0;
	return text;
}

static int parse_line(struct maple_suppressions *s, char *line, const char *path,
		      unsigned int number, struct maple_error *err)
{
	char *text = trim(line), *colon = strchr(text, ':');
	int type;

	if (!*text || *text == '#')
		return 0;
	if (!colon || !colon[1] || !strcmp(colon + 1, "^") ||
	    !strcmp(colon + 1, "$") || !strcmp(colon + 1, "^$"))
		return maple_error_set(err, EINVAL,
				       "%s:%u: '%s' is no suppression; one is "
				       "TYPE:PATTERN, such as race:name",
				       path, number, text);
	type = parse_type(text, (size_t)(colon - text));
	if (type < 0)
		return maple_error_set(err, EINVAL,
				       "%s:%u: unknown type '%.*s'; there are "
				       "race, race_top, deadlock, mutex, thread,"
				       " signal, called_from_lib and violation",
				       path, number, (int)(colon - text), text);
	text = strdup(text);
	if (!text || !maple_array_resize(s->entry, s->n + 1)) {
		free((char *)text);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	s->entry[s->n++] = (struct entry){ .type = (enum type)type,
					   .text = text,
					   .pattern = strchr(text, ':') + 1,
					   .line = number };
	return 0;
}

int maple_suppressions_read(const char *path,
			    struct maple_suppressions **suppressions,
			    struct maple_error *err)
{
	struct maple_suppressions *s = calloc(1, sizeof(*s));
	FILE *in = fopen(path, "re");
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int ret = 0;

	*suppressions = NULL;
	if (!in)
		ret = maple_error_set(err, errno, "%s: %m", path);
	else if (!s)
		ret = maple_error_set(err, ENOMEM, "out of memory");
	while (!ret && (n = getline(&line, &room, in)) >= 0) {
		number++;
		if (memchr(line, 0, (size_t)n))
			ret = maple_error_set(err, EINVAL,
					      "%s:%u: not a text file", path,
					      number);
		else
			ret = parse_line(s, line, path, number, err);
	}
	if (!ret && ferror(in))
		ret = maple_error_set(err, EIO, "%s: %m", path);
	free(line);
	if (in)
		fclose(in);
	if (ret)
		maple_suppressions_destroy(s);
	else
		*suppressions = s;
	return ret;
}

void maple_suppressions_destroy(struct maple_suppressions *suppressions)
{
	if (!suppressions)
		return;
	for (size_t i = 0; i < suppressions->n; i++)
		free(suppressions->entry[i].text);
	free(suppressions->entry);
	free(suppressions);
}
