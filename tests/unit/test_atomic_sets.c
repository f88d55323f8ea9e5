// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The file of --atomic-sets: what it declares is read, and of each line that is
 * wrong it is said which one, why, and what mends it.
 *
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
#include <maple/atomic_sets.h>

static struct maple_error err;

static int reads(const char *text, struct maple_atomic_sets **sets)
{
	char path[] = "/tmp/maple-sets-XXXXXX";
	int fd = mkstemp(path), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	ret = maple_atomic_sets_read(path, sets, &err);
	unlink(path);
	return ret;
}

static void test_good(void **state)
{
	struct maple_atomic_sets *sets;

	(void)state;
	assert_int_equal(reads("# a comment\n\n"
			       "set line struct request.raw,request.rlen\n"
			       "\tset sum\tglobal  total , table.count\r\n",
			       &sets),
			 0);
	assert_int_equal(sets->n, 2);
	assert_string_equal(sets->set[0].name, "line");
	assert_int_equal(sets->set[0].line, 3);
	assert_false(sets->set[0].global);
	assert_string_equal(sets->set[0].type, "request");
	assert_int_equal(sets->set[0].n, 2);
	assert_string_equal(sets->set[0].member[1], "rlen");
	assert_true(sets->set[1].global);
	assert_null(sets->set[1].type);
	assert_string_equal(sets->set[1].member[0], "total");
	assert_string_equal(sets->set[1].member[1], "table.count");
	maple_atomic_sets_destroy(sets);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *says, *mend;
	} bad[] = {
		{ "", "declares no set", "set NAME struct" },
		{ "\nsett x global a\n", ":2: no line begins with 'sett'",
		  "set NAME" },
		{ "set\n", ":1: the set has no name", "set NAME" },
		{ "set x\n", ":1: nothing is said of set 'x'", "set NAME" },
		{ "set x class a\n", "neither 'struct' nor 'global' is 'class'",
		  "set NAME" },
		{ "set x global\n", "nothing belongs to set 'x'", "set NAME" },
		{ "set x global a,\n", "no name is ''", "commas" },
		{ "set x global a b\n", "no name is 'a b'", "commas" },
		{ "set x global a, a\n", "twice: 'a'", "once" },
		{ "set x struct a\n", "no field of a struct is 'a'", "S.f" },
		{ "set x struct a.\n", "no field of a struct is 'a.'", "S.f" },
		{ "set x struct a.b, c.d\n", "another struct", "for each" },
		{ "set x global a\nset x global b\n",
		  ":2: there is another set 'x'", "of its own" },
		{ "unit f\n", ":1: units are not declared", "leave" },
	};
	struct maple_atomic_sets *sets;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(reads(bad[i].text, &sets), -EINVAL);
		assert_null(sets);
		assert_non_null(strstr(err.text, bad[i].says));
		assert_non_null(strstr(err.text, bad[i].mend));
	}
	assert_int_equal(maple_atomic_sets_read("/nonexistent/x", &sets, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
