// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which crossings of writes and reads a run shows: predict/cells/crossed.c.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "predict/cells/crossed.h"

#define X 0x1000u
#define Y 0x1040u
#define L 0x2000u

/* Sites: thread 0 writes at 1 and reads at 2, thread 1 at 3 and 4. */
enum { WX = 1, RY, WY, RX };

static struct maple_races *races;
static struct maple_crossed *crossed;
static uint32_t barred;		    /* a site that never races */
static uint32_t followed, preceded; /* by a fence */
static uint32_t clocks[2];

static enum maple_cross may(void *ctx, uint32_t site, bool writes)
{
	(void)ctx;
	if (site == barred)
		return MAPLE_CROSS_NOT;
	return site == (writes ? followed : preceded) ? MAPLE_CROSS_FENCED
						      : MAPLE_CROSS_MAY;
}

static int setup(void **state)
{
	(void)state;
	barred = followed = preceded = 0;
	clocks[0] = clocks[1] = 0;
	races = maple_races_create();
	crossed = maple_crossed_create(races, may, NULL);
	return !races || !crossed;
}

static int teardown(void **state)
{
	(void)state;
	maple_crossed_destroy(crossed);
	maple_races_destroy(races);
	return 0;
}

static void flagged(unsigned int thread, unsigned int kind, uint64_t addr,
		    uint32_t site, unsigned int flags)
{
	struct maple_event e = {
		.kind = (uint8_t)kind,
		.thread = (uint16_t)thread,
		.clock = ++clocks[thread],
		.flags = (uint8_t)flags,
		.addr = addr,
		.site = site,
		.size = 4,
	};

	if (kind == MAPLE_EV_CREATE || kind == MAPLE_EV_JOIN)
		e.aux = site;
	maple_races_event(races, &e);
	maple_crossed_event(crossed, &e);
}

static void event(unsigned int thread, unsigned int kind, uint64_t addr,
		  uint32_t site)
{
	flagged(thread, kind, addr, site, 0);
}

static size_t found(void)
{
	size_t n;

	maple_crossed_found(crossed, &n);
	return n;
}

static void second(void)
{
	event(1, MAPLE_EV_WRITE, Y, WY);
	event(1, MAPLE_EV_READ, X, RX);
}

static void test_dekker(void **state)
{
	const struct maple_crossing *c;
	size_t n;

	(void)state;
	for (int i = 0; i < 2; i++) { /* once, however often */
		event(0, MAPLE_EV_WRITE, X, WX);
		event(0, MAPLE_EV_READ, Y, RY);
		second();
	}
	c = maple_crossed_found(crossed, &n);
	assert_int_equal(n, 1);
	assert_int_equal(c->write[0], WX);
	assert_int_equal(c->read[0], RY);
	assert_int_equal(c->write[1], WY);
	assert_int_equal(c->read[1], RX);
}

/* Both run the same code. */
static void test_same_sites(void **state)
{
	const struct maple_crossing *c;
	size_t n;

	(void)state;
	event(0, MAPLE_EV_WRITE, X, WX);
	event(1, MAPLE_EV_WRITE, Y, WX);
	event(0, MAPLE_EV_READ, Y, RY);
	event(1, MAPLE_EV_READ, X, RY);
	c = maple_crossed_found(crossed, &n);
	assert_int_equal(n, 1);
	assert_int_equal(c->write[0], c->write[1]);
	assert_int_equal(c->read[0], c->read[1]);
}

/* Peterson's: what stands between is written as well, and no fence. */
static void test_writes_between(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_WRITE, 0x3000, 9);
	event(0, MAPLE_EV_READ, Y, RY);
	event(1, MAPLE_EV_WRITE, Y, WY);
	event(1, MAPLE_EV_WRITE, 0x3000, 10);
	event(1, MAPLE_EV_READ, X, RX);
	assert_int_equal(found(), 1);
}

static void test_fences(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, WX);
	flagged(0, MAPLE_EV_UPDATE, 0x3000, 9, MAPLE_EVF_ATOMIC);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	assert_int_equal(found(), 0);
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_LOCK, L, MAPLE_SITE_CALL);
	event(0, MAPLE_EV_READ, Y, RY);
	event(0, MAPLE_EV_UNLOCK, L, MAPLE_SITE_CALL);
	second();
	assert_int_equal(found(), 0);
	/* An exchange is a write and a fence in one. */
	flagged(0, MAPLE_EV_WRITE, X, WX, MAPLE_EVF_ATOMIC);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	assert_int_equal(found(), 0);
}

/* Of which the binary tells: they are no sites. */
static void test_fences_told(void **state)
{
	(void)state;
	followed = WX;
	event(0, MAPLE_EV_WRITE, 0x3000, 9);
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	event(1, MAPLE_EV_WRITE, Y, WY);
	event(1, MAPLE_EV_READ, 0x3000, 10);
	assert_int_equal(found(), 0);
	followed = 0;
	preceded = RY;
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_READ, Y, RY);
	event(0, MAPLE_EV_READ, Y, 11);
	second();
	assert_int_equal(found(), 0);
	/* A write behind it is none of those. */
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_READ, Y, 11);
	second();
	assert_int_equal(found(), 1);
}

static void test_one_way(void **state)
{
	(void)state;
	/* One reads first: any order of that is one CPU's as well. */
	event(0, MAPLE_EV_READ, Y, RY);
	event(0, MAPLE_EV_WRITE, X, WX);
	second();
	/* Both write the same, or one thread does all of it. */
	event(0, MAPLE_EV_WRITE, Y, 5);
	event(0, MAPLE_EV_READ, X, 6);
	assert_int_equal(found(), 0);
}

static void test_own_write(void **state)
{
	(void)state;
	/* It reads what it has just written itself, and that first. */
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_WRITE, Y, 5);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	assert_int_equal(found(), 0);
}

static void test_ordered(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_READ, Y, RY);
	event(0, MAPLE_EV_CREATE, 0, 1);
	event(1, MAPLE_EV_START, 0, MAPLE_SITE_NONE);
	second();
	assert_int_equal(found(), 0);
}

static void test_same_lock(void **state)
{
	(void)state;
	for (unsigned int t = 0; t < 2; t++) {
		event(t, MAPLE_EV_LOCK, L, MAPLE_SITE_CALL);
		event(t, MAPLE_EV_WRITE, t ? Y : X, t ? WY : WX);
		event(t, MAPLE_EV_READ, t ? X : Y, t ? RX : RY);
		event(t, MAPLE_EV_UNLOCK, L, MAPLE_SITE_CALL);
	}
	assert_int_equal(found(), 0);
}

static void test_never_races(void **state)
{
	(void)state;
	barred = RY;
	event(0, MAPLE_EV_WRITE, X, WX);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	assert_int_equal(found(), 0);
}

static void test_too_far(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, WX);
	for (unsigned int i = 0; i < 100; i++)
		event(0, MAPLE_EV_READ, 0x4000, 9);
	event(0, MAPLE_EV_READ, Y, RY);
	second();
	assert_int_equal(found(), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dekker),  TEST(same_sites),  TEST(writes_between),
		TEST(fences),  TEST(one_way),	  TEST(own_write),
		TEST(ordered), TEST(same_lock),	  TEST(never_races),
		TEST(too_far), TEST(fences_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
