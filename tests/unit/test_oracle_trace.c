// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The text form of traces that the oracle reads.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "oracle/trace.h"

static const char sample[] = "# comment\n"
			     "trace 7 deadlock\n"
			     "T1 start T2\n"
			     "T1 W s1 x0\n"
			     "T2 RW s2 x1+2:8 atomic\n"
			     "T2 L s3 m1 shared   # read side\n"
			     "T2 wake c0 timeout\n"
			     "T1 free x0:64\n"
			     "T2 exit\n"
			     "T1 join T2\n"
			     "expect observed 1 W1 R2\n"
			     "expect predicted 5 L1 L2 L3 L4\n"
			     "end\n";

static int parse(const char *text, size_t size, unsigned int *line,
		 struct trace **block, struct maple_error *err)
{
	FILE *in = fmemopen((void *)text, size, "r");
	int ret;

	assert_non_null(in);
	*line = 0;
	ret = trace_read(in, line, block, err);
	fclose(in);
	return ret;
}

static void test_text(void **state)
{
	struct trace *a;
	unsigned int line;

	assert_int_equal(parse(sample, sizeof(sample) - 1, &line, &a, NULL), 1);
	assert_int_equal(a->number, 7);
	assert_true(a->deadlock);
	assert_int_equal(a->nevents, 9); /* start makes two */
	assert_int_equal(a->events[1].kind, MAPLE_EV_START);
	assert_int_equal(a->events[1].thread, 1);
	assert_int_equal(a->events[3].kind, MAPLE_EV_UPDATE);
	assert_int_equal(a->events[3].size, 8);
	assert_int_equal(a->events[3].flags, MAPLE_EVF_ATOMIC);
	assert_int_equal(a->events[3].addr - a->events[2].addr, 64 + 2);
	assert_int_equal(a->events[3].clock, 1);
	assert_int_equal(a->events[6].value, 64);
	assert_int_equal(a->nexpects, 2);
	assert_false(a->expects[0].predicted);
	assert_int_equal(a->expects[1].iroot.idiom, MAPLE_IDIOM_DEADLOCK);
	trace_destroy(a);
}

static void test_text_errors(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "T1 start T2\n", "line 1: no trace begins here: 'T1'" },
		{ "trace\n", "line 1: a trace needs a number: ''" },
		{ "trace 1 x\n", "line 1: not understood: 'x'" },
		{ "trace 1\n\nT0 R s1 x0\n", "line 3: no thread: 'T0'" },
		{ "trace 1\nT1025 R s1 x0\n", "line 2: no thread: 'T1025'" },
		{ "trace 1\nT1\n", "line 2: no event: 'T1'" },
		{ "trace 1\nT1 X s1 x0\n", "line 2: no event: 'X'" },
		{ "trace 1\nT1 R x0\n", "line 2: no site: 'x0'" },
		{ "trace 1\nT1 R s1\n", "line 2: no such object: ''" },
		{ "trace 1\nT1 R s1 m0\n", "line 2: no such object: 'm0'" },
		{ "trace 1\nT1 R s1 x0:0\n", "line 2: no such object: 'x0:0'" },
		{ "trace 1\nT1 R s1 x99999999999999999999\n",
		  "line 2: no such object: 'x99999999999999999999'" },
		{ "trace 1\nT1 R s1 x0 no\n", "line 2: no flag: 'no'" },
		{ "trace 1\nT1 R s1 x0\n", "line 2: the trace has no end: ''" },
		{ "trace 1\nexpect seen 1 R1 W1\nend\n",
		  "line 2: neither observed nor predicted: 'seen'" },
		{ "trace 1\nexpect observed 0 R1 W1\nend\n",
		  "line 2: wrong number of events: '0'" },
		{ "trace 1\nexpect observed 9 R1 W1\nend\n",
		  "line 2: no idiom: 'W1'" },
		{ "trace 1\nexpect observed 1 R1\nend\n",
		  "line 2: wrong number of events: '1'" },
		{ "trace 1\nexpect observed 1 R1 Q2\nend\n",
		  "line 2: no event of an iRoot: 'Q2'" },
	};
	struct trace *block;
	struct maple_error err;
	unsigned int line;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text, strlen(bad[i].text), &line,
				       &block, &err),
				 -EINVAL);
		assert_null(block);
		assert_string_equal(err.text, bad[i].error);
	}
	assert_int_equal(parse("\n# no more\n", 11, &line, &block, &err), 0);
	assert_int_equal(line, 2);
}

/* Garbage and damaged samples: an answer or an error, never anything else. */
static void test_text_garbage(void **state)
{
	char text[sizeof(sample)];
	unsigned int line, accepted = 0, refused = 0;

	srandom(1);
	for (unsigned int round = 0; round < 20000; round++) {
		struct trace *block;
		struct maple_error err = { "" };
		int ret;

		memcpy(text, sample, sizeof(text));
		for (long i = random() % 6 + 1; i; i--)
			text[random() % (long)(sizeof(text) - 1)] =
				(char)(round % 2
					       ? random()
					       : sample[random() %
							(long)(sizeof(text) - 1)]);
		ret = parse(text, sizeof(text) - 1, &line, &block, &err);
		assert_true(ret <= 1);
		assert_int_equal(ret == 1, block != NULL);
		assert_int_equal(ret < 0, err.text[0] != '\0');
		accepted += ret == 1;
		refused += ret < 0;
		trace_destroy(block);
	}
	assert_true(accepted > 100);
	assert_true(refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_errors),
		cmocka_unit_test(test_text_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
