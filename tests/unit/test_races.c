// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites race, and that it is enough to stand at locks and at these: no
 * order of conflicting accesses is lost. That is tried out: of small random
 * programs all schedules are carried out on paper, those that may change
 * threads anywhere, and those that may where it should be enough.
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
#include "predict/before/races.h"

#define X 0x1000u
#define L 0x2000u

static struct maple_races *races;

static void event(unsigned int thread, unsigned int kind, uint64_t addr,
		  uint32_t site)
{
	struct maple_event e = {
		.kind = (uint8_t)kind,
		.thread = (uint16_t)thread,
		.addr = addr,
		.site = site,
		.size = 4,
	};

	if (kind == MAPLE_EV_CREATE || kind == MAPLE_EV_JOIN)
		e.aux = site;
	if (kind == MAPLE_EV_FREE)
		e.value = 64;
	maple_races_event(races, &e);
}

static void shared_lock(unsigned int thread, unsigned int kind)
{
	struct maple_event e = { .kind = (uint8_t)kind,
				 .thread = (uint16_t)thread,
				 .addr = L,
				 .site = MAPLE_SITE_CALL,
				 .flags = MAPLE_EVF_SHARED };

	maple_races_event(races, &e);
}

static int setup(void **state)
{
	(void)state;
	races = maple_races_create();
	return !races;
}

static int teardown(void **state)
{
	(void)state;
	maple_races_destroy(races);
	return 0;
}

static void assert_races(uint32_t site)
{
	assert_true(maple_races_has(races, site));
}

static void assert_none(uint32_t sites)
{
	for (uint32_t i = 0; i < sites; i++)
		assert_false(maple_races_has(races, i));
}

static void test_unordered(void **state)
{
	(void)state;
	event(0, MAPLE_EV_READ, X, 1);
	event(1, MAPLE_EV_READ, X, 2);
	assert_none(8);
	event(1, MAPLE_EV_WRITE, X, 3);
	assert_races(1);
	assert_false(maple_races_has(races, 2));
	assert_races(3);
	/* Another word. */
	event(0, MAPLE_EV_WRITE, X + 8, 4);
	event(1, MAPLE_EV_WRITE, X + 16, 5);
	assert_false(maple_races_has(races, 4));
	/* What functions do for a call; calls have numbers of their own. */
	event(1, MAPLE_EV_WRITE, X + 8, MAPLE_SITE_CALL | 5);
	event(1, MAPLE_EV_WRITE, X + 24, MAPLE_SITE_CALL | 4);
	assert_races(4);
	assert_races(MAPLE_SITE_CALL | 5);
	assert_false(maple_races_has(races, 5));
	assert_false(maple_races_has(races, MAPLE_SITE_CALL | 4));
}

static void test_lock_orders(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, 1);
	event(0, MAPLE_EV_LOCK, L, MAPLE_SITE_CALL);
	event(0, MAPLE_EV_WRITE, X, 2);
	event(0, MAPLE_EV_UNLOCK, L, MAPLE_SITE_CALL);
	event(1, MAPLE_EV_LOCK, L, MAPLE_SITE_CALL);
	event(1, MAPLE_EV_WRITE, X, 3);
	event(1, MAPLE_EV_UNLOCK, L, MAPLE_SITE_CALL);
	assert_none(8);
	event(0, MAPLE_EV_READ, X, 4); /* it did not take the lock again */
	assert_races(3);
	assert_races(4);
	assert_false(maple_races_has(races, 2));
}

static void test_readers_are_not_ordered(void **state)
{
	(void)state;
	shared_lock(0, MAPLE_EV_LOCK);
	event(0, MAPLE_EV_WRITE, X, 1);
	shared_lock(0, MAPLE_EV_UNLOCK);
	shared_lock(1, MAPLE_EV_LOCK);
	event(1, MAPLE_EV_READ, X, 2);
	shared_lock(1, MAPLE_EV_UNLOCK);
	assert_races(1);
	assert_races(2);
	/* A writer is, with both. */
	event(2, MAPLE_EV_LOCK, L, MAPLE_SITE_CALL);
	event(2, MAPLE_EV_WRITE, X, 3);
	event(2, MAPLE_EV_UNLOCK, L, MAPLE_SITE_CALL);
	shared_lock(1, MAPLE_EV_LOCK);
	event(1, MAPLE_EV_WRITE, X, 4);
	assert_false(maple_races_has(races, 3));
	assert_false(maple_races_has(races, 4));
}

static void test_creation_orders(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, 1);
	event(0, MAPLE_EV_CREATE, 0, 1);
	event(1, MAPLE_EV_START, 0, MAPLE_SITE_NONE);
	event(1, MAPLE_EV_WRITE, X, 2);
	event(1, MAPLE_EV_EXIT, 0, MAPLE_SITE_NONE);
	event(0, MAPLE_EV_JOIN, 0, 1);
	event(0, MAPLE_EV_WRITE, X, 3);
	assert_none(8);
}

/* What came before the last thing that is ordered is ordered as well. */
static void test_many_sites(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		event(0, MAPLE_EV_WRITE, X, i);
	event(0, MAPLE_EV_CREATE, 0, 1);
	event(1, MAPLE_EV_START, 0, MAPLE_SITE_NONE);
	event(0, MAPLE_EV_READ, X, 3);
	event(0, MAPLE_EV_READ, X, 1); /* once more: it only wrote before */
	event(1, MAPLE_EV_WRITE, X, 4);
	assert_races(1);
	assert_races(3);
	assert_races(4);
	assert_false(maple_races_has(races, 0));
	assert_false(maple_races_has(races, 2));
}

/* Who comes to memory behind its end came to another thing. */
static void test_end_of_memory(void **state)
{
	(void)state;
	event(0, MAPLE_EV_WRITE, X, 1);
	event(0, MAPLE_EV_FREE, X, 2);
	event(1, MAPLE_EV_WRITE, X, 3);
	assert_none(8);
	event(0, MAPLE_EV_FREE, X, 4);
	assert_races(3);
	assert_races(4);
}

/* What is too much to keep races. */
static void test_bounds(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 1001; i++)
		event(0, MAPLE_EV_WRITE, X, i);
	assert_false(maple_races_has(races, 999));
	assert_races(1000);
	for (uint64_t i = 0; i <= 1u << 18; i++)
		event(0, MAPLE_EV_WRITE, 0x100000 + 8 * i, 2000);
	assert_races(2000);
}

/* ---- All schedules of a program. ---- */

#define THREADS	 3
#define STEPS	 5
#define OUTCOMES 4096

struct step {
	uint8_t kind, what; /* READ, WRITE: variable; LOCK, UNLOCK: lock */
};

static struct program {
	unsigned int threads, n[THREADS];
	struct step step[THREADS][STEPS];
} program;

static struct going {
	unsigned int at[THREADS], now, depth;
	bool taken[2];
	uint8_t order[THREADS * STEPS]; /* the threads, as they went */
} going;

static bool raced[THREADS * STEPS]; /* by site, in any schedule */
static bool anywhere;
static uint64_t outcome[OUTCOMES];
static unsigned int outcomes;
static uint32_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % n;
}

static uint32_t site_of(unsigned int thread, unsigned int at)
{
	return thread * STEPS + at;
}

static void make(void)
{
	memset(&program, 0, sizeof(program));
	program.threads = 2 + rnd(2);
	for (unsigned int t = 0; t < program.threads; t++) {
		int held = -1;

		program.n[t] = program.threads == 2 ? STEPS : STEPS - 2;
		for (unsigned int i = 0; i < program.n[t]; i++) {
			struct step *s = &program.step[t][i];
			bool last = i == program.n[t] - 1;

			if (held >= 0 && (last || !rnd(3))) {
				*s = (struct step){ MAPLE_EV_UNLOCK,
						    (uint8_t)held };
				held = -1;
			} else if (held < 0 && !last && !rnd(2)) {
				held = (int)rnd(2);
				*s = (struct step){ MAPLE_EV_LOCK,
						    (uint8_t)held };
			} else {
				*s = (struct step){ rnd(2) ? MAPLE_EV_READ
							   : MAPLE_EV_WRITE,
						    (uint8_t)rnd(2) };
			}
		}
	}
}

static bool can_go(unsigned int t)
{
	const struct step *s = &program.step[t][going.at[t]];

	return going.at[t] < program.n[t] &&
	       (s->kind != MAPLE_EV_LOCK || !going.taken[s->what]);
}

/* Whether a thread may stand before what @t does next. */
static bool is_point(unsigned int t)
{
	return anywhere || program.step[t][going.at[t]].kind == MAPLE_EV_LOCK ||
	       raced[site_of(t, going.at[t])];
}

/* How its conflicting accesses were ordered, a bit for each pair. */
static void conclude(void)
{
	unsigned int at[THREADS] = { 0 }, when[THREADS * STEPS];
	uint64_t sum = 1469598103934665603ull;

	teardown(NULL);
	assert_false(setup(NULL));
	for (unsigned int i = 0; i < going.depth; i++) {
		unsigned int t = going.order[i];
		const struct step *s = &program.step[t][at[t]];
		bool lock = s->kind == MAPLE_EV_LOCK ||
			    s->kind == MAPLE_EV_UNLOCK;

		when[site_of(t, at[t])] = i;
		event(t, s->kind, (lock ? L : X) + 8u * s->what,
		      lock ? MAPLE_SITE_CALL : site_of(t, at[t]));
		at[t]++;
	}
	for (uint32_t i = 0; i < THREADS * STEPS; i++)
		raced[i] |= maple_races_has(races, i);
	for (uint32_t a = 0; a < THREADS * STEPS; a++)
		for (uint32_t b = a + 1; b < THREADS * STEPS; b++) {
			const struct step *sa, *sb;

			if (a / STEPS == b / STEPS ||
			    a % STEPS >= program.n[a / STEPS] ||
			    b % STEPS >= program.n[b / STEPS])
				continue;
			sa = &program.step[a / STEPS][a % STEPS];
			sb = &program.step[b / STEPS][b % STEPS];
			if (sa->what != sb->what || sa->kind > MAPLE_EV_WRITE ||
			    sb->kind > MAPLE_EV_WRITE ||
			    sa->kind + sb->kind == 2 * MAPLE_EV_READ)
				continue;
			sum = (sum ^ (when[a] < when[b]) ^ (a << 8) ^
			       (b << 16)) *
			      1099511628211ull;
		}
	for (unsigned int i = 0; i < outcomes; i++)
		if (outcome[i] == sum)
			return;
	assert_true(outcomes < OUTCOMES);
	outcome[outcomes++] = sum;
}

static void explore(void)
{
	struct going was = going;
	bool stays = going.depth && can_go(going.now) && !is_point(going.now);
	bool gone = false;

	for (unsigned int t = 0; t < program.threads; t++) {
		const struct step *s = &program.step[t][going.at[t]];

		if (!can_go(t) || (stays && t != going.now))
			continue;
		gone = true;
		if (s->kind == MAPLE_EV_LOCK || s->kind == MAPLE_EV_UNLOCK)
			going.taken[s->what] = s->kind == MAPLE_EV_LOCK;
		going.at[t]++;
		going.now = t;
		going.order[going.depth++] = (uint8_t)t;
		explore();
		going = was;
	}
	if (!gone)
		conclude();
}

static void explore_all(bool everywhere)
{
	memset(&going, 0, sizeof(going));
	anywhere = everywhere;
	outcomes = 0;
	explore();
}

static void test_no_order_is_lost(void **state)
{
	unsigned int fewer = 0;

	(void)state;
	for (seed = 1; seed < 400; seed += 2) {
		uint32_t kept = seed;
		bool before[THREADS * STEPS];
		unsigned int all;

		make();
		memset(raced, 0, sizeof(raced));
		/* What it shows to race are points from then on. */
		do {
			memcpy(before, raced, sizeof(before));
			explore_all(false);
		} while (memcmp(before, raced, sizeof(before)));
		all = outcomes;
		for (uint32_t i = 0; i < THREADS * STEPS; i++)
			fewer += i % STEPS < program.n[i / STEPS] &&
				 program.step[i / STEPS][i % STEPS].kind <=
					 MAPLE_EV_WRITE &&
				 !raced[i];
		explore_all(true);
		if (all != outcomes)
			fail_msg("program %u: %u orders of %u", kept, all,
				 outcomes);
		assert_memory_equal(before, raced, sizeof(before));
		seed = kept;
	}
	assert_true(fewer > 100); /* accesses that are no points */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_unordered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_orders, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_readers_are_not_ordered,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_creation_orders, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_end_of_memory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_sites, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_no_order_is_lost, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
