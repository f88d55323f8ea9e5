// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What mapled.conf says of a watch:
 *
 *	watch = USER GLOB [share=1%] [stretch=5s] [processes=16] [force]
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "line.h"

#define SHARE	  0.01
#define STRETCH	  5.0
#define PROCESSES 16

/* @text: a number, and @unit behind it */
static bool read_number(const char *text, const char *unit, double least,
			double most, double *to)
{
	char *end;

	/* Neither blanks nor "nan", "inf", hexadecimal digits. */
	if (!*text || text[strspn(text, "0123456789.")] != *unit)
		return false;
	*to = strtod(text, &end);
	return end != text && !strcmp(end, unit) && *to >= least && *to <= most;
}

static const char *take_user(struct maple_watch_line *line, const char *word)
{
	if (strlen(word) >= sizeof(line->user))
		return "a user whose name has 63 characters at most";
	if (*word == '/')
		return "a user first, whose processes are meant";
	strcpy(line->user, word);
	return NULL;
}

static const char *take_glob(struct maple_watch_line *line, const char *word)
{
	if (*word != '/')
		return "behind the user the whole path of an executable, which "
		       "begins with / and may have *, ? and [...], such as "
		       "/usr/sbin/nginx";
	if (strlen(word) >= sizeof(line->glob))
		return "a path of 255 characters at most";
	strcpy(line->glob, word);
	return NULL;
}

static const char *take_word(struct maple_watch_line *line, const char *word)
{
	double value;

	if (!strcmp(word, "force")) {
		line->force = true;
		return NULL;
	}
	if (!strncmp(word, "share=", 6)) {
		if (!read_number(word + 6, "%", 0.01, 100, &value))
			return "share= from 0.01% to 100%, such as share=1%";
		line->share = value / 100;
		return NULL;
	}
	if (!strncmp(word, "stretch=", 8))
		return read_number(word + 8, "s", 1, 600, &line->stretch)
			       ? NULL
			       : "stretch= from 1s to 600s, such as stretch=5s";
	if (!strncmp(word, "processes=", 10)) {
		if (!read_number(word + 10, "", 1, MAPLE_WATCH_PROCESSES,
				 &value) ||
		    value != (double)(unsigned int)value)
			return "processes= from 1 to 64, such as processes=16";
		line->processes = (unsigned int)value;
		return NULL;
	}
	return "behind user and path no other words than share=, stretch=, "
	       "processes= and force";
}

static const char *take_line(struct maple_watch_line *line, char *text)
{
	const char *expected = NULL;
	char *save, *word = strtok_r(text, " \t", &save);

	expected = word ? take_user(line, word) : "a user, and a path";
	if (expected)
		return expected;
	word = strtok_r(NULL, " \t", &save);
	expected = take_glob(line, word ? word : "");
	while (!expected && (word = strtok_r(NULL, " \t", &save)))
		expected = take_word(line, word);
	return expected;
}

static bool is_there(const struct maple_watch_lines *lines,
		     const struct maple_watch_line *line)
{
	for (size_t i = 0; i < lines->n; i++)
		if (!strcmp(lines->line[i].user, line->user) &&
		    !strcmp(lines->line[i].glob, line->glob))
			return true;
	return false;
}

const char *maple_watch_lines_add(struct maple_watch_lines *lines,
				  const char *value)
{
	struct maple_watch_line line = { .share = SHARE,
					 .stretch = STRETCH,
					 .processes = PROCESSES };
	struct maple_watch_line *more;
	char *text = strdup(value);
	const char *expected = text ? take_line(&line, text) : "memory";

	free(text);
	if (expected)
		return expected;
	if (is_there(lines, &line))
		return "this user and path once: it stands there already";
	if (lines->n == MAPLE_WATCH_LINES)
		return "to be there 64 times at most";
	more = realloc(lines->line, (lines->n + 1) * sizeof(*more));
	if (!more)
		return "memory";
	lines->line = more;
	lines->line[lines->n++] = line;
	return NULL;
}

const char *maple_watch_lines_stranger(const struct maple_watch_lines *lines,
				       size_t *at)
{
	while (*at < lines->n) {
		const char *user = lines->line[(*at)++].user;

		if (!getpwnam(user))
			return user;
	}
	return NULL;
}

void maple_watch_lines_deinit(struct maple_watch_lines *lines)
{
	free(lines->line);
	memset(lines, 0, sizeof(*lines));
}
