// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How many lines of mapled's journal a user may cause (daemon/limits/talk.c),
 * by a clock of the test's own.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "../../daemon/limits/talk.h"

#define SECOND 1000000ull
#define MINUTE (60 * SECOND)

static struct maple_talk talk;
static uint64_t now;

static int setup(void **state)
{
	memset(&talk, 0, sizeof(talk));
	now = 12345 * SECOND;
	return 0;
}

/* How many of @n lines about @uid, a millisecond apart, are said. */
static unsigned int said(uid_t uid, enum maple_talk_kind kind, unsigned int n)
{
	unsigned int count = 0;

	for (; n; n--, now += SECOND / 1000)
		count += maple_talk_take(&talk, uid, kind, now);
	return count;
}

static void assert_missing(uint64_t n, uid_t uid)
{
	uid_t whose = 4711;

	assert_int_equal(maple_talk_missing(&talk, &whose), n);
	if (n)
		assert_int_equal(whose, uid);
}

static void a_flood_is_counted(void **state)
{
	assert_int_equal(said(1000, MAPLE_TALK_WARNING, 10000), 5);
	assert_missing(9995, 1000);
	assert_missing(0, 0);
}

static void then_one_a_minute(void **state)
{
	unsigned int n = 0;

	said(1000, MAPLE_TALK_WARNING, 100);
	for (int i = 0; i < 10 * 60; i++, now += SECOND)
		n += maple_talk_take(&talk, 1000, MAPLE_TALK_WARNING, now);
	assert_in_range(n, 9, 10);
	assert_missing(95 + 600 - n, 1000);
}

static void who_is_quiet_may_speak_again(void **state)
{
	said(1000, MAPLE_TALK_WARNING, 100);
	now += 5 * MINUTE;
	assert_int_equal(said(1000, MAPLE_TALK_WARNING, 100), 5);
	assert_missing(190, 1000);
}

static void others_are_not_meant(void **state)
{
	said(1000, MAPLE_TALK_WARNING, 100);
	assert_int_equal(said(1001, MAPLE_TALK_WARNING, 6), 5);
	assert_missing(95, 1000);
	assert_missing(1, 1001);
	assert_missing(0, 0);
}

static void news_have_a_rate_of_their_own(void **state)
{
	said(1000, MAPLE_TALK_WARNING, 100);
	assert_int_equal(said(1000, MAPLE_TALK_NEWS, 200), 200);
	assert_in_range(said(1000, MAPLE_TALK_NEWS, 1000), 100, 103);
	now += SECOND;
	assert_int_equal(said(1000, MAPLE_TALK_NEWS, 10), 1);
}

/* 65,536 uids are easily had, by subordinate ones. */
static void many_users_have_no_more(void **state)
{
	unsigned int n = 0;

	for (uid_t uid = 100000; uid < 165536; uid++)
		n += said(uid, MAPLE_TALK_WARNING, 1);
	/* The clock went on for 65 s: each row had a second user at most. */
	assert_in_range(n, MAPLE_TALK_USERS, 2 * MAPLE_TALK_USERS);
	assert_missing(65536 - n, MAPLE_TALK_UNKNOWN);
	assert_missing(0, 0);
	now += MINUTE;
	assert_int_equal(said(1000, MAPLE_TALK_WARNING, 1), 1);
}

/* A row is its user's until its number has been told. */
static void no_count_is_lost(void **state)
{
	uint64_t n = 0, one;
	uid_t uid;

	for (uid = 1; uid <= MAPLE_TALK_USERS; uid++)
		said(uid, MAPLE_TALK_WARNING, 7);
	now += 100 * MINUTE;
	said(1000, MAPLE_TALK_WARNING, 3);
	while ((one = maple_talk_missing(&talk, &uid)))
		n += one;
	assert_int_equal(n, 2 * MAPLE_TALK_USERS + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_flood_is_counted, setup),
		cmocka_unit_test_setup(then_one_a_minute, setup),
		cmocka_unit_test_setup(who_is_quiet_may_speak_again, setup),
		cmocka_unit_test_setup(others_are_not_meant, setup),
		cmocka_unit_test_setup(news_have_a_rate_of_their_own, setup),
		cmocka_unit_test_setup(many_users_have_no_more, setup),
		cmocka_unit_test_setup(no_count_is_lost, setup),
	};

	return cmocka_run_group_tests_name("talk", tests, NULL, NULL);
}
