// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How waits end, by their system calls.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include "plan/wait.h"

enum {
	NEVER = MAPLE_ENDS_NEVER,
	SOON = MAPLE_ENDS_SOON,
	PERHAPS = MAPLE_ENDS_PERHAPS
};
enum { HOLD = 0x1000, WORD = 0x2000, AWAY = 0x3000, TIME = 0x4000 };

static struct maple_wait_time at_time; /* what stands at TIME */

static int peek(uint64_t at, struct maple_wait_time *time)
{
	*time = at_time;
	return at == TIME;
}

static void now(int clock, struct maple_wait_time *time)
{
	*time = (struct maple_wait_time){ clock == CLOCK_REALTIME ? 1000000000
								  : 500,
					  900000000 };
}

static enum maple_wait_end ends(long nr, uint64_t a0, uint64_t a1, uint64_t a2,
				uint64_t a3)
{
	const struct maple_wait_call call = { nr, { a0, a1, a2, a3 } };
	const struct maple_wait_view view = { HOLD, 100, peek, now };

	return maple_wait_ends(&call, &view);
}

static void at(int64_t sec, int64_t nsec)
{
	at_time = (struct maple_wait_time){ sec, nsec };
}

static void test_other_calls(void **state)
{
	assert_int_equal(ends(-1, 0, 0, 0, 0), SOON); /* a page comes in */
	assert_int_equal(ends(SYS_read, 0, TIME, 1, 0), PERHAPS);
	assert_int_equal(ends(SYS_accept, 3, 0, 0, 0), PERHAPS);
	assert_int_equal(ends(SYS_pause, 0, 0, 0, 0), NEVER);
	assert_int_equal(ends(SYS_rt_sigsuspend, 0, 0, 0, 0), NEVER);
	assert_int_equal(ends(SYS_sched_yield, 0, 0, 0, 0), NEVER);
	assert_int_equal(ends(SYS_exit, 0, 0, 0, 0), NEVER);
}

/* Ten slices of 100 ms are what a step sleeps at most. */
static void test_sleeps(void **state)
{
	at(1, 0);
	assert_int_equal(ends(SYS_nanosleep, TIME, 0, 0, 0), SOON);
	at(1, 1000000);
	assert_int_equal(ends(SYS_nanosleep, TIME, 0, 0, 0), NEVER);
	at(INT64_MAX, 999999999);
	assert_int_equal(ends(SYS_nanosleep, TIME, 0, 0, 0), NEVER);
	assert_int_equal(ends(SYS_nanosleep, AWAY, 0, 0, 0), PERHAPS);
	at(0, 5);
	assert_int_equal(ends(SYS_rt_sigtimedwait, 0, 0, TIME, 0), SOON);
	assert_int_equal(ends(SYS_rt_sigtimedwait, 0, 0, 0, 0), NEVER);
}

/* Until a time: what is left counts, on that clock. */
static void test_until(void **state)
{
	at(501, 900000000);
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_MONOTONIC,
			      TIMER_ABSTIME, TIME, 0),
			 SOON);
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, TIME, 0),
			 NEVER);
	at(502, 900000000);
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_MONOTONIC,
			      TIMER_ABSTIME, TIME, 0),
			 NEVER);
	at(1000000001, 0);
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_REALTIME,
			      TIMER_ABSTIME, TIME, 0),
			 SOON);
	at(3, 0); /* long over */
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_MONOTONIC,
			      TIMER_ABSTIME, TIME, 0),
			 SOON);
	at(INT64_MIN, 0); /* no time at all */
	assert_int_equal(ends(SYS_clock_nanosleep, CLOCK_MONOTONIC,
			      TIMER_ABSTIME, TIME, 0),
			 SOON);
}

static void test_futexes(void **state)
{
	int wait = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	int until = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;

	at(0, 100000000);
	assert_int_equal(ends(SYS_futex, WORD, wait, 0, TIME), SOON);
	assert_int_equal(ends(SYS_futex, WORD, wait, 0, 0), NEVER);
	assert_int_equal(ends(SYS_futex, HOLD, wait, 0, TIME), NEVER);
	assert_int_equal(ends(SYS_futex, WORD, FUTEX_WAKE, 1, TIME), NEVER);
	assert_int_equal(ends(SYS_futex, WORD, FUTEX_LOCK_PI, 0, TIME), SOON);
	at(510, 0);
	assert_int_equal(ends(SYS_futex, WORD, until, 0, TIME), NEVER);
	assert_int_equal(
		ends(SYS_futex, WORD, until | FUTEX_CLOCK_REALTIME, 0, TIME),
		SOON); /* that was long ago */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_calls),
		cmocka_unit_test(test_sleeps),
		cmocka_unit_test(test_until),
		cmocka_unit_test(test_futexes),
	};

	return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
