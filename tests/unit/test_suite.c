// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What test programs answer, of versions that are not installed as well.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/suite.h>
#include "suite/framework.h"

static const struct maple_framework *framework(const char *name)
{
	for (unsigned int i = 0; i < maple_frameworks_n; i++)
		if (!strcmp(maple_frameworks[i].name, name))
			return &maple_frameworks[i];
	fail_msg("no framework %s", name);
	return NULL;
}

/* Whether @text, said on both, is taken for the answer of @name's. */
static bool reads(const char *name, const char *text, struct maple_names *names)
{
	struct maple_answer answer = { .out = (char *)text,
				       .err = (char *)text };
	bool good;

	*names = (struct maple_names){ 0 };
	good = framework(name)->read(&answer, names);
	if (!good)
		maple_names_deinit(names);
	return good;
}

static void refuses(const char *name, const char *text)
{
	struct maple_names names;

	if (reads(name, text, &names))
		fail_msg("%s takes: %s", name, text);
}

static void are(struct maple_names *names, unsigned int disabled,
		const char *const *wanted)
{
	unsigned int n = 0;

	for (; wanted[n]; n++) {
		assert_true(n < names->n);
		assert_string_equal(names->at[n], wanted[n]);
	}
	assert_int_equal(names->n, n);
	assert_int_equal(names->disabled, disabled);
	maple_names_deinit(names);
}

static void gtest_lists(void **state)
{
	struct maple_names names;

	assert_true(reads("gtest",
			  "Running main() from ./gtest_main.cc\n"
			  "Typed/0.  # TypeParam = std::pair<int, a.b>\n"
			  "  One\n"
			  "I/P.\n"
			  "  X/0  # GetParam() = \"a b\"\n"
			  "  DISABLED_Y/0\n"
			  "I/DISABLED_Q.\n"
			  "  Z\n",
			  &names));
	are(&names, 2, (const char *[]){ "Typed/0.One", "I/P.X/0", NULL });
	refuses("gtest", "");
	refuses("gtest", "A.\n");
	refuses("gtest", "  One\nA.\n");
	refuses("gtest", "A.\n  One\n[  PASSED  ] 1 test.\n");
	refuses("gtest", "A.\n  not one word\n");
	refuses("gtest", "Ready.\nto serve\n");
}

/* Version 3 says the same, but for the second question. */
static void catch_lists(void **state)
{
	static const char list[] = "All available test cases:\n"
				   "  one, two\n      [t]\n"
				   "  #three\n"
				   "2 test cases\n\n";
	struct maple_answer more = { .out = "one, two\n\"#three\"\n" };
	struct maple_answer other = { .out = (char *)list };
	const struct maple_framework *f = framework("Catch2");
	struct maple_names names;

	assert_true(reads("Catch2", list, &names));
	assert_false(f->add(&other, &names));
	assert_true(f->add(&more, &names));
	are(&names, 0, (const char *[]){ "one, two", "#three", NULL });
	refuses("Catch2", "All available test cases:\n0 test cases\n");
	refuses("Catch2", "All available test cases:\n  one\n");
	refuses("Catch2",
		"hello\nAll available test cases:\n  a\n1 test case\n");
}

static void doctest_lists(void **state)
{
#define RULE "=============================================================\n"
#define HEAD "[doctest] listing all test case names\n" RULE
#define FOOT RULE "[doctest] unskipped test cases passing the current filters: "
	struct maple_names names;
	struct maple_answer all = { .out = HEAD "a\nb\nc\n" FOOT "3\n" };

	assert_true(reads("doctest", HEAD "a\nb\n" FOOT "2\n", &names));
	assert_true(framework("doctest")->add(&all, &names));
	are(&names, 1, (const char *[]){ "a", "b", NULL });
	refuses("doctest", HEAD "a\n" FOOT "2\n");
	refuses("doctest", HEAD "a\n" RULE);
	refuses("doctest", HEAD FOOT "0\n");
	refuses("doctest", "[doctest] doctest version is \"2.4.9\"\n");
}

static void boost_lists(void **state)
{
	struct maple_names names;

	assert_true(reads("Boost.Test",
			  "s*\n"
			  "    a*: what: it is\n"
			  "    off \n"
			  "    in*\n"
			  "        p<std::pair<int, long> >*\n"
			  "dead \n"
			  "    under*\n"
			  "free*\n",
			  &names));
	are(&names, 2,
	    (const char *[]){ "s/a", "s/in/p<std::pair<int, long> >", "free",
			      NULL });
	refuses("Boost.Test", "");
	refuses("Boost.Test", "An unrecognized parameter\n");
	refuses("Boost.Test", "    a*\n");
	refuses("Boost.Test", "a \nb \n");
	refuses("Boost.Test", "a*\n      b*\n");
}

static void rust_lists(void **state)
{
	struct maple_names names;
	struct maple_answer ignored = {
		.out = "b: test\n\n1 test, 0 benchmarks\n"
	};

	assert_true(reads("Rust",
			  "m::a: test\nb: test\nf: benchmark\n\n"
			  "2 tests, 1 benchmark\n",
			  &names));
	assert_true(framework("Rust")->add(&ignored, &names));
	are(&names, 1, (const char *[]){ "m::a", NULL });
	refuses("Rust", "\n0 tests, 0 benchmarks\n");
	refuses("Rust", "a: test\n");
	refuses("Rust", "a: test\n\n2 tests, 0 benchmarks\n");
	refuses("Rust", "a: test\nhello\n\n1 test, 0 benchmarks\n");
}

/* A script that answers as it likes. */
static int ask_script(const char *script, const char *list,
		      struct maple_suite **suite, struct maple_error *err)
{
	char path[] = "/tmp/test_suite.XXXXXX";
	char *argv[] = { path, "-{}-", NULL };
	int fd = mkstemp(path), e;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, script, strlen(script)), strlen(script));
	assert_int_equal(fchmod(fd, 0700), 0);
	close(fd);
	e = maple_suite_create(argv, list, suite, err);
	unlink(path);
	return e;
}

static void two_frameworks_are_none(void **state)
{
	struct maple_suite *suite;
	struct maple_error err = { "" };

	assert_int_equal(
		ask_script(
			"#!/bin/sh\ncase $2 in\n"
			"--gtest_list_tests) printf 'A.\\n  B\\n' ;;\n"
			"--list) printf 'a: test\\n\\n1 test, 0 benchmarks\\n';;\n"
			"esac\n",
			NULL, &suite, &err),
		-ENOMSG);
	assert_non_null(strstr(err.text, "gtest"));
	assert_non_null(strstr(err.text, "Rust"));
	assert_non_null(strstr(err.text, "--each-test='COMMAND'"));
}

static void cases_have_arguments(void **state)
{
	struct maple_suite *suite;
	struct maple_error err = { "" };

	assert_int_equal(
		ask_script("#!/bin/sh\n[ \"$2\" = --gtest_list_tests ] &&"
			   " printf 'A.\\n  B\\n  C\\n'\n",
			   NULL, &suite, &err),
		0);
	assert_string_equal(suite->framework, "gtest");
	assert_int_equal(suite->n, 2);
	assert_string_equal(suite->cases[1].name, "A.C");
	assert_string_equal(suite->cases[1].argv[1], "-{}-");
	assert_string_equal(suite->cases[1].argv[2], "--gtest_filter=A.C");
	assert_null(suite->cases[1].argv[3]);
	/* Nothing was run yet. */
	assert_int_equal(maple_suite_sum(suite, NULL), MAPLE_SUITE_UNTESTED);
	maple_suite_destroy(suite);

	assert_int_equal(
		ask_script("", "printf 'a b\\n\\nc\\na b\\n'", &suite, &err), 0);
	assert_string_equal(suite->framework, "list");
	assert_int_equal(suite->n, 2);
	assert_string_equal(suite->cases[0].argv[1], "-a b-");
	assert_null(suite->cases[0].argv[2]);
	maple_suite_destroy(suite);
}

static void the_sum_is_honest(void **state)
{
	struct maple_campaign_result clean = { .outcome = MAPLE_CLEAN };
	struct maple_campaign_result found = { .outcome = MAPLE_FOUND };
	struct maple_campaign_result single = { .outcome = MAPLE_UNDELIVERED,
						.single_threaded = true };
	struct maple_campaign_result cut = { .outcome = MAPLE_CLEAN,
					     .interrupted = true };
	struct maple_suite_case cases[3] = { 0 };
	struct maple_suite suite = { .n = 3, .cases = cases };

	cases[0].result = &clean;
	cases[1].result = &single;
	cases[2].result = &clean;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_CLEAN);
	cases[2].result = &cut;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_UNTESTED);
	cases[2].result = NULL;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_UNTESTED);
	cases[2].result = &found;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_FOUND);
	cases[0].result = cases[2].result = &single;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_SINGLE);
	suite.n = 0;
	assert_int_equal(maple_suite_sum(&suite, NULL), MAPLE_SUITE_UNTESTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gtest_lists),
		cmocka_unit_test(catch_lists),
		cmocka_unit_test(doctest_lists),
		cmocka_unit_test(boost_lists),
		cmocka_unit_test(rust_lists),
		cmocka_unit_test(two_frameworks_are_none),
		cmocka_unit_test(cases_have_arguments),
		cmocka_unit_test(the_sum_is_honest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
