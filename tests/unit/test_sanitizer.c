// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sanitizers' reports, as runtimes of gcc 12 and clang 14 have printed them.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/judge/sanitizer.h"

static void is(const char *printed, const char *title)
{
	struct maple_sanitizer report = { .text = NULL };

	assert_true(maple_sanitizer_read(printed, true, &report));
	assert_string_equal(report.title, title);
	free(report.text);
}

static void is_none(const char *printed, bool undefined)
{
	struct maple_sanitizer report;

	assert_false(maple_sanitizer_read(printed, undefined, &report));
}

#define RACE(a, b)                                                        \
	"hello\n==================\n"                                     \
	"WARNING: ThreadSanitizer: data race (pid=32406)\n"               \
	"  Read of size 4 at 0x562c59a500c8 by thread T2:\n"              \
	"    #0 memcpy <null> (libtsan.so.2+0x61e11)\n"                   \
	"    #1 " a " /src/race.c:31 (race+0x12cc)\n\n"                   \
	"  Previous write of size 4 at 0x562c59a500c8 by thread T1:\n"    \
	"    #0 " b " /src/race.c:16:8 (race+0x1210) (BuildId: e0feb5)\n" \
	"\nSUMMARY: ThreadSanitizer: data race /src/race.c:31 in x\n"     \
	"==================\nbye\n"

static void race(void **state)
{
	struct maple_sanitizer report;

	is(RACE("get", "set"), "ThreadSanitizer: data race in get / set");
	/* Whichever came second. */
	is(RACE("set", "get"), "ThreadSanitizer: data race in get / set");
	is(RACE("get", "get"), "ThreadSanitizer: data race in get");
	is(RACE("a::get(int, long)", "(anonymous namespace)::set(char*)"),
	   "ThreadSanitizer: data race in (anonymous namespace)::set / a::get");
	assert_true(maple_sanitizer_read(RACE("get", "set"), false, &report));
	assert_memory_equal(report.text, "WARNING: ThreadSanitizer", 24);
	assert_non_null(strstr(report.text, "SUMMARY"));
	assert_null(strstr(report.text, "bye"));
	free(report.text);
}

static void after_free(void **state)
{
	is("==7==ERROR: AddressSanitizer: heap-use-after-free on address "
	   "0x602000000010 at pc 0x55f0438830df bp 0x7ff sp 0x7ff\n"
	   "READ of size 4 at 0x602000000010 thread T1\n"
	   "    #0 0x55f0438830de in use /src/freed.c:22:13\n"
	   "    #1 0x7ffa4d0ce1f4 in start_thread nptl/pthread_create.c:442:8\n"
	   "\n0x602000000010 is located 0 bytes inside of 4-byte region\n"
	   "freed by thread T2 here:\n"
	   "    #0 0x55f0438830dd in free (/src/freed+0xa7b12)\n"
	   "    #1 0x55f0438830dc in drop /src/freed.c:32:2\n",
	   "AddressSanitizer: heap-use-after-free in use / drop");
	is("==7==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x5)\n"
	   "    #0 0x5 in main /src/a.c:1\n",
	   "AddressSanitizer: SEGV in main");
	is("==7==ERROR: LeakSanitizer: detected memory leaks\n\n"
	   "Direct leak of 4 byte(s) in 1 object(s) allocated from:\n"
	   "    #0 0x7 in __interceptor_malloc ../../../../src/libsanitizer/a\n"
	   "    #1 0x5 in make /src/leak.c:4\n",
	   "LeakSanitizer: detected memory leaks in make");
}

static void undefined(void **state)
{
	is("out\n/src/q.c:7:12: runtime error: signed integer overflow: "
	   "2147483647 + 1 cannot be represented in type 'int'\n",
	   "UndefinedBehaviorSanitizer: signed integer overflow at q.c:7");
	is("q.c:7:12: runtime error: load of misaligned address 0x7ffe12 for "
	   "type 'int'\n    #0 0x55 in load /src/q.c:7:12\n",
	   "UndefinedBehaviorSanitizer: load of misaligned address N for type "
	   "'int' in load");
	is_none("q.c:7:12: runtime error: division by zero\n", false);
	is_none("panic: runtime error: index out of range\n", true);
}

static void none(void **state)
{
	is_none("", true);
	is_none("ERROR: cannot open\nWARNING: low on memory\n", true);
	is_none("see AddressSanitizer: it reports such things\n", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(race),
		cmocka_unit_test(after_free),
		cmocka_unit_test(undefined),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
