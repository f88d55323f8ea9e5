// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The test frameworks: what the list of cases looks like that each prints, and
 * how it is asked for one case. An answer is taken for a framework's only if
 * each line of it is one that the framework writes; a program that does not
 * know the question, and runs its tests or complains, is not taken for one
 * that has answered.
 *
 *	framework   list                    a case
 *	gtest       --gtest_list_tests      --gtest_filter=SUITE.CASE
 *	Catch2      --list-tests            "NAME"
 *	doctest     --list-test-cases       --test-case=NAME
 *	Boost.Test  --list_content          --run_test=SUITE/CASE
 *	Rust        --list                  --exact PATH
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "suite/framework.h"

/* maple_names_add - the @length bytes at @name; twice the same counts once */
int maple_names_add(struct maple_names *names, const char *name, size_t length)
{
	char *copy;

	for (unsigned int i = 0; i < names->n; i++)
		if (!strncmp(names->at[i], name, length) &&
		    !names->at[i][length])
			return 0;
	if (!maple_array_resize(names->at, names->n + 1))
		return -ENOMEM;
	copy = strndup(name, length);
	if (!copy)
		return -ENOMEM;
	names->at[names->n++] = copy;
	return 0;
}

void maple_names_deinit(struct maple_names *names)
{
	for (unsigned int i = 0; i < names->n; i++)
		free(names->at[i]);
	free(names->at);
	*names = (struct maple_names){ 0 };
}

/* The next line of *@at, without its end; false: there is none. */
static bool next_line(const char **at, const char **line, size_t *length)
{
	if (!**at)
		return false;
	*line = *at;
	*length = strcspn(*at, "\n");
	*at += *length + ((*at)[*length] == '\n');
	if (*length && (*line)[*length - 1] == '\r')
		--*length;
	return true;
}

static bool begins(const char *line, size_t length, const char *with)
{
	return length >= strlen(with) && !strncmp(line, with, strlen(with));
}

/* The number at the beginning of a line that goes on with @after. */
static bool count_line(const char *line, size_t length, const char *after,
		       unsigned int *n)
{
	char text[128], *end;

	if (length >= sizeof(text) || !length || !isdigit((unsigned char)*line))
		return false;
	memcpy(text, line, length);
	text[length] = '\0';
	*n = (unsigned int)strtoul(text, &end, 10);
	return !strncmp(end, after, strlen(after));
}

/* ---- gtest ---- */

/*
 *	Running main() from gtest_main.cc
 *	Suite/0.  # TypeParam = int
 *	  Case/1  # GetParam() = 7
 */
static size_t gtest_word(const char *line, size_t length)
{
	size_t n = 0;

	while (n < length &&
	       (isalnum((unsigned char)line[n]) || strchr("_/", line[n])))
		n++;
	return n;
}

static bool gtest_rest(const char *line, size_t length, size_t from)
{
	return from == length || begins(line + from, length - from, "  # ");
}

static bool gtest_off(const char *suite, size_t n, const char *name, size_t m)
{
	const char *slash = memrchr(suite, '/', n);
	size_t skip = slash ? (size_t)(slash + 1 - suite) : 0;

	/* An instantiation's name comes first: Inst/DISABLED_Suite. */
	return begins(name, m, "DISABLED_") || begins(suite, n, "DISABLED_") ||
	       begins(suite + skip, n - skip, "DISABLED_");
}

static bool gtest_read(const struct maple_answer *answer,
		       struct maple_names *names)
{
	const char *at = answer->out, *line, *suite = NULL;
	size_t length, n, m = 0;
	unsigned int cases = 0;
	char *name;
	int e = 0;

	while (!e && next_line(&at, &line, &length)) {
		if (!suite && begins(line, length, "Running main() from "))
			continue;
		if (begins(line, length, "  ") && suite) {
			n = gtest_word(line + 2, length - 2);
			if (!n || !gtest_rest(line, length, n + 2))
				return false;
			cases++;
			if (gtest_off(suite, m, line + 2, n)) {
				names->disabled++;
				continue;
			}
			if (asprintf(&name, "%.*s.%.*s", (int)m, suite, (int)n,
				     line + 2) < 0)
				return false;
			e = maple_names_add(names, name, strlen(name));
			free(name);
			continue;
		}
		m = gtest_word(line, length);
		if (!m || m == length || line[m] != '.' ||
		    !gtest_rest(line, length, m + 1))
			return false;
		suite = line;
	}
	return !e && cases;
}

/* ---- Catch2 ---- */

/*
 * The list for people wraps long names, so it only tells which framework it
 * is and how many there are, and the names come from a list of lines. Of
 * --list-tests itself Catch2 2 ends with the number as its status.
 */
static bool catch_read(const struct maple_answer *answer,
		       struct maple_names *names)
{
	const char *at = answer->out, *line;
	unsigned int n, last = 0;
	bool first = true, counted = false;
	size_t length;

	for (; next_line(&at, &line, &length); first = false) {
		if (first && !begins(line, length, "All available test cases:"))
			return false;
		if (count_line(line, length, " test case", &n)) {
			counted = true;
			last = n;
		} else if (length && !first && !begins(line, length, "  ")) {
			return false;
		}
	}
	/* The names are still to come; as many as these. */
	names->disabled = last;
	return counted && last;
}

static bool catch_add(const struct maple_answer *answer,
		      struct maple_names *names)
{
	const char *at = answer->out, *line;
	unsigned int wanted = names->disabled, n = 0;
	size_t length;

	while (next_line(&at, &line, &length)) {
		if (!length)
			continue;
		/* What could be a list of files of tests is quoted. */
		if (begins(line, length, "\"#") && line[length - 1] == '"') {
			line++;
			length -= 2;
		}
		n++;
		if (maple_names_add(names, line, length))
			return false;
	}
	if (n != wanted) {
		maple_names_deinit(names);
		names->disabled = wanted;
		return false;
	}
	/* Hidden ones are not listed at all. */
	names->disabled = 0;
	return true;
}

/* In quotes: so it may begin with what would be an option, or a tag. */
static void catch_write(FILE *out, const char *name)
{
	putc('"', out);
	for (; *name; name++) {
		if (strchr("\\\",", *name))
			putc('\\', out);
		putc(*name, out);
	}
	putc('"', out);
}

/* ---- doctest ---- */

/*
 *	[doctest] listing all test case names
 *	=====
 *	name
 *	=====
 *	[doctest] unskipped test cases passing the current filters: 1
 */
static bool doctest_lines(const char *at, struct maple_names *names)
{
	static const char head[] = "[doctest] listing all test case names";
	static const char foot[] = "[doctest] unskipped test cases passing the"
				   " current filters: ";
	unsigned int rules = 0, lines = 0;
	const char *line;
	size_t length;

	if (strncmp(at, head, strlen(head)) != 0)
		return false;
	next_line(&at, &line, &length);
	while (next_line(&at, &line, &length)) {
		if (length > 60 && strspn(line, "=") == length) {
			rules++;
			continue;
		}
		if (rules == 2)
			return begins(line, length, foot) &&
			       strtoul(line + strlen(foot), NULL, 10) == lines;
		if (rules != 1 || maple_names_add(names, line, length))
			return false;
		lines++;
	}
	return false;
}

static bool doctest_read(const struct maple_answer *answer,
			 struct maple_names *names)
{
	return doctest_lines(answer->out, names) && names->n;
}

/* With --no-skip: what is there more is left out. */
static bool doctest_add(const struct maple_answer *answer,
			struct maple_names *names)
{
	struct maple_names all = { 0 };
	bool good = doctest_lines(answer->out, &all) && all.n >= names->n;

	names->disabled = good ? all.n - names->n : 0;
	maple_names_deinit(&all);
	return good;
}

/* Older versions know no escape, but all take '?' for any one character. */
static void doctest_write(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(strchr("\\,", *name) ? '?' : *name, out);
}

/* ---- Boost.Test ---- */

#define BOOST_DEPTH 32

/*
 * A tree, four blanks a level: a name, '*' or, disabled, a blank, and perhaps
 * a description. What has nothing below it is a case.
 *
 *	suite*
 *	    case*: what it is for
 *	    other
 */
struct boost_line {
	const char *name;
	size_t length;
	unsigned int level;
	bool on;
};

static bool boost_parse(const char *line, size_t length, struct boost_line *l)
{
	size_t blanks = 0, end;

	while (blanks < length && line[blanks] == ' ')
		blanks++;
	if (blanks % 4 || blanks == length)
		return false;
	l->level = (unsigned int)(blanks / 4);
	l->name = line + blanks;
	length -= blanks;
	/* A name may have ": " in it, as std::pair has; a mark is before. */
	for (end = 1; end < length; end++)
		if (strchr("* ", l->name[end]) &&
		    (end + 1 == length ||
		     begins(l->name + end + 1, length - end - 1, ": ")))
			break;
	if (end == length)
		return false;
	l->on = l->name[end] == '*';
	l->length = end;
	return true;
}

static int boost_path(struct maple_names *names, const struct boost_line *path,
		      unsigned int depth)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);
	int e;

	if (!out)
		return -ENOMEM;
	for (unsigned int i = 0; i <= depth; i++)
		fprintf(out, "%s%.*s", i ? "/" : "", (int)path[i].length,
			path[i].name);
	if (fclose(out)) {
		free(name);
		return -ENOMEM;
	}
	e = maple_names_add(names, name, strlen(name));
	free(name);
	return e;
}

/* The one before was a case if @next is no deeper than it. */
static int boost_case(struct maple_names *names, const struct boost_line *path,
		      unsigned int depth, unsigned int next)
{
	bool on = true;

	if (next > depth)
		return 0;
	for (unsigned int i = 0; i <= depth; i++)
		on &= path[i].on;
	if (on)
		return boost_path(names, path, depth);
	names->disabled++;
	return 0;
}

static bool boost_read(const struct maple_answer *answer,
		       struct maple_names *names)
{
	struct boost_line path[BOOST_DEPTH], l;
	const char *at = answer->err, *line;
	unsigned int depth = 0;
	bool any = false, marked = false;
	size_t length;
	int e = 0;

	while (!e && next_line(&at, &line, &length)) {
		if (!boost_parse(line, length, &l) || l.level >= BOOST_DEPTH ||
		    l.level > (any ? depth + 1 : 0))
			return false;
		if (any)
			e = boost_case(names, path, depth, l.level);
		any = true;
		marked |= l.on;
		depth = l.level;
		path[depth] = l;
	}
	if (any && !e)
		e = boost_case(names, path, depth, 0);
	return any && marked && !e;
}

/* ---- Rust ---- */

/*
 *	module::case: test
 *
 *	1 test, 0 benchmarks
 */
static bool rust_lines(const char *at, struct maple_names *names,
		       unsigned int *count)
{
	static const char test[] = ": test", bench[] = ": benchmark";
	unsigned int tests = 0, n;
	const char *line;
	bool ended = false;
	size_t length;

	while (next_line(&at, &line, &length)) {
		if (!length && !ended)
			continue;
		if (ended)
			return false;
		if (count_line(line, length, " test", &n)) {
			if (n != tests)
				return false;
			ended = true;
		} else if (length > strlen(test) &&
			   begins(line + length - strlen(test), strlen(test),
				  test)) {
			tests++;
			if (names &&
			    maple_names_add(names, line, length - strlen(test)))
				return false;
		} else if (length <= strlen(bench) ||
			   !begins(line + length - strlen(bench), strlen(bench),
				   bench)) {
			return false;
		}
	}
	*count = tests;
	return ended;
}

static bool rust_read(const struct maple_answer *answer,
		      struct maple_names *names)
{
	unsigned int n;

	return rust_lines(answer->out, names, &n) && n;
}

/* With --ignored: these are left out. */
static bool rust_add(const struct maple_answer *answer,
		     struct maple_names *names)
{
	struct maple_names ignored = { 0 };
	unsigned int n, kept = 0, k;
	bool good = rust_lines(answer->out, &ignored, &n);

	for (unsigned int i = 0; good && i < names->n; i++) {
		for (k = 0; k < ignored.n; k++)
			if (!strcmp(ignored.at[k], names->at[i]))
				break;
		if (k == ignored.n)
			names->at[kept++] = names->at[i];
		else
			free(names->at[i]);
	}
	if (good) {
		names->n = kept;
		names->disabled = n;
	}
	maple_names_deinit(&ignored);
	return good;
}

const struct maple_framework maple_frameworks[] = {
	{ .name = "gtest",
	  .list = { "--gtest_list_tests" },
	  .read = gtest_read,
	  .prefix = "--gtest_filter=",
	  .forbidden = "" },
	{ .name = "Catch2",
	  .list = { "--list-tests" },
	  .read = catch_read,
	  .more = { { "--list-tests", "--verbosity", "quiet" },
		    { "--list-test-names-only" } },
	  .add = catch_add,
	  .prefix = "",
	  .write = catch_write,
	  .forbidden = "" },
	{ .name = "Rust",
	  .list = { "--list" },
	  .read = rust_read,
	  .more = { { "--list", "--ignored" } },
	  .add = rust_add,
	  .before = "--exact",
	  .prefix = "",
	  .forbidden = "" },
	{ .name = "Boost.Test",
	  .list = { "--list_content" },
	  .read = boost_read,
	  .prefix = "--run_test=",
	  .forbidden = ",!@" },
	{ .name = "doctest",
	  .list = { "--list-test-cases" },
	  .read = doctest_read,
	  .more = { { "--list-test-cases", "--no-skip" } },
	  .add = doctest_add,
	  .prefix = "--test-case=",
	  .write = doctest_write,
	  .forbidden = "" },
};

const unsigned int maple_frameworks_n =
	sizeof(maple_frameworks) / sizeof(*maple_frameworks);
