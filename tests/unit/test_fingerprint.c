// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Fingerprints: what they survive, what they must not survive. Each test
 * compiles two versions of a program and looks for the sites of one in the
 * other.
 *
 * It runs no program under orders, so that neighbours do not disturb it.
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "image/image.h"

static char dir[64];

#define HEAD  "#include <assert.h>\n#include <pthread.h>\n"
#define DATA  "int x = 1, y = 2; pthread_mutex_t m;\n"
#define OTHER "int other(int n) { return x * n; }\n"
#define ONE                            \
	"int one(int n)\n{\n"          \
	"	pthread_mutex_lock(&m);\n"   \
	"	x = n;\n	y = n;\n	x = n;\n"  \
	"	assert(n < 7);\n"            \
	"	pthread_mutex_unlock(&m);\n" \
	"	return x + y;\n}\n"
#define MAIN "int main(int n, char **v) { return one(n) + other(n); }\n"

static void build(const char *name, const char *flags, const char *text)
{
	char path[256], command[512];
	FILE *file;

	/* A folder each: the name of the source is in what assert() says. */
	snprintf(command, sizeof(command), "mkdir -p %s/%s", dir, name);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/%s/p.c", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	snprintf(command, sizeof(command), "cd %s/%s && cc -w %s -o p p.c", dir,
		 name, flags);
	assert_int_equal(system(command), 0);
}

static struct maple_image *open_image(const char *name)
{
	struct maple_error err;
	struct maple_image *image;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/p", dir, name);
	if (maple_image_open(path, &image, &err))
		fail_msg("%s", err.text);
	return image;
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/maple-print-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

struct tally {
	unsigned int sites, found, lost, wrong;
};

/* How the sites in @function of @from fare in @to. */
static struct tally look(struct maple_image *from, struct maple_image *to,
			 const char *function, int shift)
{
	struct tally tally = { 0 };
	const struct maple_table_site *site;
	uint32_t n;

	site = maple_image_sites(from, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct maple_fingerprint print, again;
		struct maple_place was, is;
		uint64_t now;

		assert_int_equal(
			maple_image_place(from, site[i].offset, false, &was), 0);
		if (!was.function || strcmp(was.function, function)) {
			maple_place_deinit(&was);
			continue;
		}
		tally.sites++;
		assert_int_equal(maple_image_fingerprint(from, site[i].offset,
							 false, &print),
				 0);
		if (maple_image_refind(to, print.text, false, &now)) {
			tally.lost++;
			maple_place_deinit(&was);
			continue;
		}
		assert_int_equal(
			maple_image_fingerprint(to, now, false, &again), 0);
		assert_true(again.hash == print.hash);
		assert_int_equal(maple_image_place(to, now, false, &is), 0);
		if (!is.function || strcmp(is.function, function) ||
		    is.line != was.line + shift)
			tally.wrong++;
		tally.found++;
		maple_place_deinit(&was);
		maple_place_deinit(&is);
	}
	assert_true(tally.sites > 0);
	return tally;
}

static void compare(const char *flags, const char *old, const char *new,
		    const char *function, int shift, bool survives)
{
	struct maple_image *from, *to;
	struct tally tally;

	build("old", flags, old);
	build("new", flags, new);
	from = open_image("old");
	to = open_image("new");
	tally = look(from, to, function, shift);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(survives ? tally.lost : tally.found, 0);
	maple_image_destroy(from);
	maple_image_destroy(to);
}

static const char *const ways[] = { "-O0 -g", "-O2 -g", "-O1 -g -no-pie",
				    "-O1 -g -fno-plt", NULL };

static void lines_above_do_not_matter(void **state)
{
	for (int i = 0; ways[i]; i++)
		compare(ways[i], HEAD DATA ONE OTHER MAIN,
			"\n/* new */\n\n" HEAD DATA ONE OTHER MAIN, "one", 3,
			true);
}

static void other_functions_do_not_matter(void **state)
{
	for (int i = 0; ways[i]; i++)
		compare(ways[i], HEAD DATA OTHER ONE MAIN,
			HEAD
			"char room[4000]; static int k(int n)\n"
			"{ static int c; return c++ * n + room[n]; }\n" DATA
			"int other(int n) { return x * k(n) + k(3); }\n" ONE MAIN,
			"one", 2, true);
}

static void an_edited_function_is_another(void **state)
{
	static const char *const edits[] = {
		/* another value, variable, function, order; a constant */
		"x = n + 1;\n	y = n;\n	x = n;",
		"y = n;\n"
		"	y = n;\n	x = n;",
		"x = n;\n	y = n;\n	x = n; pthread_testcancel();",
		"y = n;\n	x = n;\n	x = n;",
		"x = n;\n	y = n;\n	x = n; assert(n > 8);",
		NULL
	};
	const char *at = strstr(ONE, "x = n;\n	y");
	char text[4096];

	assert_non_null(at);
	for (int i = 0; ways[i]; i++)
		for (int j = 0; edits[j]; j++) {
			snprintf(text, sizeof(text), "%s%.*s%s%s%s%s",
				 HEAD DATA, (int)(at - ONE), ONE, edits[j],
				 at + strlen("x = n;\n	y = n;\n	x = n;"),
				 OTHER, MAIN);
			compare(ways[i], HEAD DATA ONE OTHER MAIN, text, "one",
				0, false);
		}
}

/* Only the name of what an address leads to tells these apart. */
static void another_variable_is_an_edit(void **state)
{
	for (int i = 0; ways[i]; i++)
		compare(ways[i], HEAD DATA ONE OTHER MAIN,
			HEAD DATA ONE
			"int other(int n) { return y * n; }\n" MAIN,
			"other", 0, false);
}

static void a_changed_line_counts_where_it_can_be_read(void **state)
{
	compare("-O0 -g", HEAD DATA ONE OTHER MAIN,
		HEAD DATA ONE "int other(int n) { return x *  n; }\n" MAIN,
		"other", 0, false);
	compare("-O0 -g1", HEAD DATA ONE OTHER MAIN,
		HEAD DATA ONE "/* */\nint other(int n) { return x * n; }\n" MAIN,
		"other", 1, true);
}

/* Returns where the call number @n of one() in @image comes back to. */
static uint64_t find_call(struct maple_image *image, unsigned int line)
{
	for (uint64_t at = 1; at < 0x10000; at++) {
		struct maple_fingerprint print;
		struct maple_place place;
		bool here;

		if (maple_image_fingerprint(image, at, true, &print))
			continue;
		assert_int_equal(maple_image_place(image, at, true, &place), 0);
		here = place.line == line && place.function &&
		       !strcmp(place.function, "one");
		maple_place_deinit(&place);
		/* The last instruction of the line that is a call. */
		if (here && !maple_image_fingerprint(image, at, true, &print) &&
		    at >= 5) {
			maple_image_place(image, at, false, &place);
			here = place.line != line;
			maple_place_deinit(&place);
			if (here)
				return at;
		}
	}
	fail_msg("no call in line %u", line);
	return 0;
}

static void call_sites_have_them_too(void **state)
{
	struct maple_fingerprint lock, unlock;
	struct maple_image *from, *to;
	uint64_t at, now;

	build("old", "-O0 -g", HEAD DATA ONE OTHER MAIN);
	build("new", "-O0 -g",
	      "\n\n" HEAD "int z(void) { return 5; }\n" DATA ONE OTHER MAIN);
	from = open_image("old");
	to = open_image("new");
	at = find_call(from, 6);
	assert_int_equal(maple_image_fingerprint(from, at, true, &lock), 0);
	assert_int_equal(maple_image_refind(to, lock.text, true, &now), 0);
	assert_int_equal(now, find_call(to, 9));
	at = find_call(from, 11);
	assert_int_equal(maple_image_fingerprint(from, at, true, &unlock), 0);
	assert_true(lock.hash != unlock.hash);
	maple_image_destroy(from);
	maple_image_destroy(to);
}

/* Two functions alike in all but the file they are in: neither is found. */
static void what_is_there_twice_is_not_found(void **state)
{
	struct maple_fingerprint print;
	const struct maple_table_site *site;
	struct maple_image *image;
	char command[512];
	uint64_t now;
	uint32_t n, twice = 0;

	build("old", "-O0 -g -c",
	      "extern int x; static int f(int n)"
	      " { return x + n; }\nint (*a)(int) = f;\n");
	build("new", "-O0 -g -c",
	      "extern int x; static int f(int n)"
	      " { return x + n; }\nint (*b)(int) = f;\n");
	build("both", "-O0 -g", "int x; int main(void) { return x; }\n");
	snprintf(command, sizeof(command),
		 "cd %s && cc -o both/p both/p.c"
		 " old/p new/p -x none 2>/dev/null || (mv old/p old/p.o &&"
		 " mv new/p new/p.o && cc -o both/p both/p.c old/p.o new/p.o)",
		 dir);
	assert_int_equal(system(command), 0);
	image = open_image("both");
	site = maple_image_sites(image, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (maple_image_fingerprint(image, site[i].offset, false,
					    &print) ||
		    print.text[0] != 'f' || print.text[1] != '/')
			continue;
		twice++;
		assert_int_equal(
			maple_image_refind(image, print.text, false, &now),
			-ENOTUNIQ);
	}
	assert_true(twice >= 2);
	maple_image_destroy(image);
}

static void without_symbols_the_body_is_the_name(void **state)
{
	struct maple_fingerprint print;
	const struct maple_table_site *site;
	struct maple_image *from, *to;
	unsigned int same = 0;
	uint64_t now;
	uint32_t n;

	build("old", "-O1 -s", HEAD DATA OTHER ONE MAIN);
	build("new", "-O1 -s",
	      "\n" HEAD "int pad(void) { return 3; }\n" DATA OTHER ONE MAIN);
	from = open_image("old");
	to = open_image("new");
	site = maple_image_sites(from, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (maple_image_fingerprint(from, site[i].offset, false, &print))
			continue;
		assert_int_equal(print.text[0], '-');
		same += !maple_image_refind(to, print.text, false, &now);
	}
	assert_true(same >= 5);
	assert_int_equal(maple_image_refind(to, "nonsense", false, &now),
			 -EINVAL);
	assert_int_equal(maple_image_refind(to, "f/0 00000000000000ff 00000000",
					    false, &now),
			 -ENOENT);
	assert_int_equal(maple_image_fingerprint(to, 0, false, &print), -ENOENT);
	maple_image_destroy(from);
	maple_image_destroy(to);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(lines_above_do_not_matter),
		TEST(other_functions_do_not_matter),
		TEST(an_edited_function_is_another),
		TEST(another_variable_is_an_edit),
		TEST(a_changed_line_counts_where_it_can_be_read),
		TEST(call_sites_have_them_too),
		TEST(what_is_there_twice_is_not_found),
		TEST(without_symbols_the_body_is_the_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
