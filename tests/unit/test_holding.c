// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who holds which lock, by the events of a run.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "campaign/story/holding.h"

#define A 0x1000
#define B 0x2000

static struct maple_holding h;

static void event(unsigned int thread, unsigned int kind, uint64_t addr,
		  uint32_t site)
{
	struct maple_event e = { .thread = thread,
				 .kind = kind,
				 .addr = addr,
				 .value = 8,
				 .site = site };

	maple_holding_event(&h, &e);
}

/* The site where @thread's lock at @futex was acquired; 0: nobody has it. */
static uint32_t since(uint64_t futex, unsigned int thread)
{
	const struct maple_held *held = maple_holding_find(&h, futex, 9);

	if (!held)
		return 0;
	assert_int_equal(held->thread, thread);
	return held->site;
}

static int clean(void **state)
{
	maple_holding_deinit(&h);
	h = (struct maple_holding){ 0 };
	return 0;
}

static void held_until_released(void **state)
{
	assert_int_equal(since(A, 0), 0);
	event(1, MAPLE_EV_LOCK, A, 11);
	event(2, MAPLE_EV_LOCK, B, 22);
	assert_int_equal(since(A, 1), 11);
	assert_int_equal(since(B, 2), 22);
	event(1, MAPLE_EV_UNLOCK, A, 12);
	assert_int_equal(since(A, 1), 0);
	assert_int_equal(since(B, 2), 22);
}

/* Recursive: the first acquisition counts, the last release. */
static void held_as_often_as_taken(void **state)
{
	event(1, MAPLE_EV_LOCK, A, 11);
	event(1, MAPLE_EV_LOCK, A, 12);
	event(1, MAPLE_EV_UNLOCK, A, 13);
	assert_int_equal(since(A, 1), 11);
	event(1, MAPLE_EV_UNLOCK, A, 14);
	assert_int_equal(since(A, 1), 0);
}

/* The C library counts a recursive mutex in 32 bits. */
static void held_more_than_65536_times(void **state)
{
	const unsigned int often = 0x10001;
	unsigned int i;

	for (i = 0; i < often; i++)
		event(1, MAPLE_EV_LOCK, A, 11);
	for (i = 1; i < often; i++)
		event(1, MAPLE_EV_UNLOCK, A, 12);
	assert_int_equal(since(A, 1), 11);
	event(1, MAPLE_EV_UNLOCK, A, 12);
	assert_int_equal(since(A, 1), 0);
}

static void an_unlock_may_be_overtaken(void **state)
{
	event(1, MAPLE_EV_LOCK, A, 11);
	event(2, MAPLE_EV_LOCK, A, 21);
	event(1, MAPLE_EV_UNLOCK, A, 12);
	assert_int_equal(since(A, 2), 21);
}

/* A futex may lie within the lock; the nearest lock below it is meant. */
static void words_within(void **state)
{
	event(1, MAPLE_EV_LOCK, A, 11);
	event(2, MAPLE_EV_LOCK, A + 40, 21);
	assert_int_equal(since(A + 12, 1), 11);
	assert_int_equal(since(A + 40, 2), 21);
	assert_int_equal(since(A + 44, 2), 21);
	assert_int_equal(since(A - 4, 0), 0);
	assert_int_equal(since(A + 40 + 56, 0), 0);
}

static void others_come_first(void **state)
{
	event(9, MAPLE_EV_LOCK, A, 91);
	assert_int_equal(since(A, 9), 91);
	event(3, MAPLE_EV_LOCK, A, 31);
	assert_int_equal(since(A, 3), 31);
}

static void freed_memory_is_no_lock(void **state)
{
	for (unsigned int i = 0; i < 1000; i++)
		event(1, MAPLE_EV_LOCK, A + 64 * i, 11);
	event(2, MAPLE_EV_FREE, A + 64, 0);
	assert_int_equal(since(A, 1), 11);
	assert_int_equal(since(A + 64, 1), 0);
	assert_int_equal(since(A + 64 * 999, 1), 11);
}

static void waits_begin_and_end(void **state)
{
	event(1, MAPLE_EV_WAIT, A, 11);
	assert_int_equal(h.resting[1].kind, MAPLE_EV_WAIT);
	assert_int_equal(h.resting[1].addr, A);
	event(1, MAPLE_EV_WAKE, A, 11);
	assert_int_equal(h.resting[1].kind, 0);
	event(1, MAPLE_EV_BARRIER_IN, B, 12);
	assert_int_equal(h.resting[1].kind, MAPLE_EV_BARRIER_IN);
	event(1, MAPLE_EV_BARRIER_OUT, B, 12);
	assert_int_equal(h.resting[1].kind, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(held_until_released),
		TEST(held_as_often_as_taken),
		TEST(held_more_than_65536_times),
		TEST(an_unlock_may_be_overtaken),
		TEST(words_within),
		TEST(others_come_first),
		TEST(freed_memory_is_no_lock),
		TEST(waits_begin_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
