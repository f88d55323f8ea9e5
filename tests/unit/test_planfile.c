// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Orders of runs as text: written, read back, and damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "campaign/internal.h"

static struct maple_campaign_options options = { .exe = "x" };
static struct maple_error err;
static struct maple_campaign c = {
	.options = &options,
	.err = &err,
	.expected = 3,
	.timeout = 2.5,
};
static struct maple_trial trial;
static struct maple_planfile file;

static int read_text(const char *text)
{
	memset(&trial, 0, sizeof(trial));
	return maple_planfile_read(&c, text, &trial, &file);
}

static void test_there_and_back(void **state)
{
	for (int schedule = MAPLE_SCHEDULE_NATIVE;
	     schedule < MAPLE_SCHEDULE_PLAN; schedule++) {
		struct maple_trial from = {
			.job.kind = MAPLE_RUN_PROFILE,
			.job.schedule = schedule,
			.job.seed = 77,
			.rounds = 4,
		};
		char *text = maple_planfile_write(&c, &from, false);

		assert_non_null(text);
		assert_int_equal(read_text(text), 0);
		assert_int_equal(trial.job.kind, MAPLE_RUN_PROFILE);
		assert_int_equal(trial.job.schedule, schedule);
		assert_int_equal(trial.job.seed, 77);
		assert_int_equal(trial.rounds, 4);
		assert_int_equal(file.expected, 3);
		assert_true(file.timeout == 2.5);
		assert_int_equal(file.refound, 0);
		free(text);
	}
}

/* An order of this schedule and timeout, as somebody may have written it. */
static int read_with(const char *schedule, const char *timeout)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "{\"kind\":\"profile\",\"schedule\":%s,\"seed\":1,"
		 "\"expected\":0,\"timeout\":%s,\"changes\":[],\"sites\":[],"
		 "\"plan\":null}",
		 schedule, timeout);
	return read_text(text);
}

static void test_damaged(void **state)
{
	static const char *const schedules[] = {
		"-1",	      "7",     "8",   "2147483647", "-2147483648",
		"4294967297", "\"1\"", "1.0", "null",
	};
	static const char *const timeouts[] = { "0.0", "-1.0", "1e999",
						"\"2\"" };

	assert_int_equal(MAPLE_SCHEDULE_PLAN, 7); /* as these numbers have it */
	assert_int_equal(read_with("6", "1.0"), 0);
	assert_int_equal(trial.job.schedule, MAPLE_SCHEDULE_RANDDELAY);
	for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
		assert_int_equal(read_with(schedules[i], "1.0"), -EBADMSG);
		assert_string_equal(err.text, "the stored plan is damaged");
	}
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(*timeouts); i++)
		assert_int_equal(read_with("0", timeouts[i]), -EBADMSG);
	assert_int_equal(read_text(""), -EBADMSG);
	assert_int_equal(read_text("[]"), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
