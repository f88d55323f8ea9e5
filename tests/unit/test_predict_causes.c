// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What speaks against an iRoot: orders that the program makes itself.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "predict/predict.h"

#define X    0x10000ull /* what is handed over */
#define Y    0x11000ull
#define FLAG 0x12000ull /* how, under M */
#define M    0x20000ull
#define N    0x21000ull
#define COND 0x22000ull
#define CALL MAPLE_SITE_CALL
#define R    MAPLE_EV_READ
#define W    MAPLE_EV_WRITE
#define MANY 256

static struct maple_predict *p;
static struct {
	struct maple_iroot iroot;
	struct maple_predict_facts facts;
} pred[MANY];
static unsigned int npred;
static uint32_t clocks[MAPLE_THREADS];

static void predicted(void *ctx, const struct maple_iroot *iroot,
		      const struct maple_predict_facts *facts)
{
	assert_true(npred < MANY);
	pred[npred].iroot = *iroot;
	pred[npred++].facts = *facts;
}

static void event(unsigned int thread, uint8_t kind, uint32_t site,
		  uint64_t addr, uint32_t aux, uint8_t flags)
{
	struct maple_event e = {
		.thread = (uint16_t)thread,
		.kind = kind,
		.site = site,
		.addr = addr,
		.size = 4,
		.aux = aux,
		.flags = flags,
		.clock = ++clocks[thread],
	};

	assert_int_equal(maple_predict_event(p, &e), 0);
}

/* Two threads; main does nothing more. */
static void begin(unsigned int idioms)
{
	struct maple_predict_options options = { .idioms = idioms };
	struct maple_predict_sink sink = { .predicted = predicted };

	npred = 0;
	memset(clocks, 0, sizeof(clocks));
	assert_int_equal(maple_predict_create(&options, &sink, &p), 0);
	event(0, MAPLE_EV_CREATE, CALL | 1, 0, 1, 0);
	event(0, MAPLE_EV_CREATE, CALL | 1, 0, 2, 0);
}

static void end(void)
{
	assert_int_equal(maple_predict_finish(p), 0);
	maple_predict_destroy(p);
}

static void data(unsigned int thread, uint8_t kind, uint32_t site, uint64_t addr)
{
	event(thread, kind, site, addr, 0, 0);
}

static void lock(unsigned int thread, uint64_t mutex)
{
	event(thread, MAPLE_EV_LOCK, CALL | 10, mutex, 0, 0);
}

static void unlock(unsigned int thread, uint64_t mutex)
{
	event(thread, MAPLE_EV_UNLOCK, CALL | 11, mutex, 0, 0);
}

static void locked(unsigned int thread, uint64_t mutex, uint8_t kind,
		   uint32_t site, uint64_t addr)
{
	lock(thread, mutex);
	data(thread, kind, site, addr);
	unlock(thread, mutex);
}

static enum maple_against how(uint8_t kind0, uint32_t site0, uint8_t kind1,
			      uint32_t site1)
{
	for (unsigned int i = 0; i < npred; i++) {
		const struct maple_iroot_event *e = pred[i].iroot.e;

		if (pred[i].iroot.idiom == MAPLE_IDIOM_1 &&
		    e[0].site == site0 && e[0].kind == kind0 &&
		    e[1].site == site1 && e[1].kind == kind1)
			return pred[i].facts.against;
	}
	fail_msg("%u => %u was not predicted", site0, site1);
	return MAPLE_OPEN;
}

static bool against(uint8_t kind0, uint32_t site0, uint8_t kind1, uint32_t site1)
{
	return how(kind0, site0, kind1, site1) == MAPLE_AGAINST;
}

/* 1 hands X over to 2 by a flag: 2 cannot be first any more. */
static void test_turned(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	locked(1, M, W, 2, FLAG);
	locked(2, M, R, 3, FLAG);
	data(2, W, 4, X);
	end();
	assert_true(against(W, 4, W, 1));
	assert_false(against(W, 1, W, 4));
	/* The flag itself can be read too early. */
	assert_false(against(R, 3, W, 2));
}

/* All of the section came before, also what it did after the flag. */
static void test_section(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	lock(1, M);
	data(1, W, 1, FLAG);
	data(1, W, 2, X);
	unlock(1, M);
	locked(2, M, R, 3, FLAG);
	data(2, W, 4, X);
	end();
	assert_true(against(W, 4, W, 2));
}

/* Another lock, no lock, or nothing read: nothing says who must be first. */
static void test_open(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	locked(1, M, W, 2, FLAG);
	locked(2, N, R, 3, FLAG);
	data(2, R, 3, FLAG);
	locked(2, M, W, 5, FLAG);
	data(2, W, 4, X);
	end();
	assert_false(against(W, 4, W, 1));
}

/* Sections of one lock may swap; what an earlier one has learned remains. */
static void test_exclusive(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	lock(1, M);
	data(1, R, 1, FLAG);
	data(1, W, 2, FLAG);
	unlock(1, M);
	lock(2, M);
	data(2, R, 3, FLAG);
	data(2, W, 4, FLAG);
	unlock(2, M);
	locked(2, M, W, 5, FLAG);
	end();
	assert_int_equal(how(W, 4, R, 1), MAPLE_INFORMED);
	assert_int_equal(how(W, 2, R, 3), MAPLE_OPEN);
	assert_true(against(W, 5, R, 1));
	assert_false(
		against(MAPLE_EV_UNLOCK, CALL | 11, MAPLE_EV_LOCK, CALL | 10));
}

/* Knowledge is handed on, here by a third thread. */
static void test_transitive(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	locked(1, M, W, 2, FLAG);
	locked(0, M, R, 3, FLAG);
	locked(0, N, W, 5, FLAG + 64);
	locked(2, N, R, 6, FLAG + 64);
	data(2, W, 4, X);
	end();
	assert_true(against(W, 4, W, 1));
}

/* 1 writes twice before it hands over: only the second can be read. */
static void test_overtaken(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	data(1, W, 2, X);
	locked(1, M, W, 3, FLAG);
	locked(2, M, R, 4, FLAG);
	data(2, R, 5, X);
	end();
	assert_true(against(W, 1, R, 5));
	assert_false(against(W, 2, R, 5));
}

/* 2 reads twice what it got: only the first depends on 1. */
static void test_met(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	locked(1, M, W, 3, FLAG);
	locked(2, M, R, 4, FLAG);
	data(2, R, 5, X);
	data(2, R, 6, X);
	end();
	assert_false(against(W, 1, R, 5));
	assert_true(against(W, 1, R, 6));
}

/* Open once is open: the second time the reader does not wait. */
static void test_once(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	data(1, W, 1, X);
	locked(1, M, W, 2, FLAG);
	locked(2, M, R, 3, FLAG);
	data(2, W, 4, X);
	data(2, W, 4, Y);
	data(1, W, 1, Y);
	end();
	assert_false(against(W, 4, W, 1));
}

/* @thread takes what hangs on the list at FLAG, or puts it back. */
static void takes(unsigned int thread)
{
	lock(thread, M);
	data(thread, R, 20, FLAG);
	data(thread, W, 21, FLAG);
	unlock(thread, M);
}

static void uses(unsigned int thread)
{
	takes(thread);
	data(thread, W, 1, X);
	data(thread, R, 2, X);
	locked(thread, M, W, 22, FLAG);
}

/* X goes from one to the other, each time by the list. */
static void test_pool(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	uses(1);
	uses(2);
	uses(1);
	uses(2);
	end();
	assert_true(against(W, 1, R, 2));
	assert_true(against(R, 2, W, 1));
	/* What is under the list's lock is no memory of a pool. */
	assert_false(against(W, 22, R, 20));
}

/* Who has put it back reads it: the next one knew nothing of that. */
static void test_pool_late(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	uses(1);
	uses(2);
	uses(1);
	data(1, R, 3, X);
	uses(2);
	end();
	assert_false(against(R, 3, W, 1));
	assert_false(against(W, 1, R, 3));
}

/* Once from one to the other is no pool: it may have been chance. */
static void test_pool_once(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	uses(1);
	uses(2);
	end();
	assert_false(against(R, 2, W, 1));
}

/* A timeout taught nothing, a signal did. */
static void wake(uint8_t flags)
{
	begin(1u << MAPLE_IDIOM_1);
	event(2, MAPLE_EV_WAIT, CALL | 20, COND, 0, 0);
	data(1, W, 1, X);
	data(1, W, 2, Y);
	event(1, MAPLE_EV_SIGNAL, CALL | 21, COND, 0, 0);
	data(1, W, 3, Y);
	event(2, MAPLE_EV_WAKE, CALL | 20, COND, 0, flags);
	locked(2, M, W, 4, FLAG);
	locked(0, M, R, 5, FLAG);
	data(0, W, 6, X);
	end();
}

static void test_wake(void **state)
{
	wake(0);
	assert_true(against(W, 6, W, 1));
	wake(MAPLE_EVF_TIMEOUT);
	assert_false(against(W, 6, W, 1));
}

/* A post says nothing of the section after it. */
static void test_post(void **state)
{
	begin(1u << MAPLE_IDIOM_1);
	event(1, MAPLE_EV_POST, CALL | 20, COND, 0, 0);
	data(1, W, 1, X);
	locked(1, M, W, 2, FLAG);
	event(2, MAPLE_EV_TAKE, CALL | 21, COND, 0, 0);
	data(2, W, 3, X);
	end();
	assert_false(against(W, 3, W, 1));
}

/* 1's pair of writes is over before 2 reads, or it is not. */
static void handed(bool flag)
{
	begin(1u << MAPLE_IDIOM_1 | 1u << MAPLE_IDIOM_2);
	data(2, R, 3, Y + 8);
	data(1, W, 1, X);
	data(1, W, 2, X);
	locked(1, M, W, 4, FLAG);
	locked(2, M, flag ? R : W, 5, FLAG);
	data(2, R, 6, X);
	end();
}

static void test_compound(void **state)
{
	for (int flag = 0; flag < 2; flag++) {
		bool found = false;

		handed(flag);
		for (unsigned int i = 0; i < npred; i++) {
			if (pred[i].iroot.idiom != MAPLE_IDIOM_2 ||
			    pred[i].iroot.e[1].site != 6)
				continue;
			found = true;
			assert_int_equal(pred[i].facts.against,
					 flag ? MAPLE_AGAINST : MAPLE_OPEN);
		}
		assert_true(found);
	}
}

/*
 * Each writes its own and reads the other's: in one section of the same lock
 * or in two.
 */
static void crosswise(bool split)
{
	begin(1u << MAPLE_IDIOM_1 | 1u << MAPLE_IDIOM_5);
	for (unsigned int t = 1; t < 3; t++) {
		lock(t, M);
		data(t, W, 2 * t, t == 1 ? X : Y);
		if (split) {
			unlock(t, M);
			lock(t, M);
		}
		data(t, R, 2 * t + 1, t == 1 ? Y : X);
		unlock(t, M);
	}
	end();
}

static void test_sections_crosswise(void **state)
{
	for (int split = 0; split < 2; split++) {
		bool found = false;

		crosswise(split);
		for (unsigned int i = 0; i < npred; i++) {
			const struct maple_iroot_event *e = pred[i].iroot.e;

			if (pred[i].iroot.idiom != MAPLE_IDIOM_5 ||
			    e[0].site != 2 || e[1].site != 5 || e[2].site != 4)
				continue;
			found = true;
			assert_int_equal(pred[i].facts.against,
					 split ? MAPLE_OPEN : MAPLE_AGAINST);
		}
		assert_true(found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turned),
		cmocka_unit_test(test_section),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_exclusive),
		cmocka_unit_test(test_transitive),
		cmocka_unit_test(test_overtaken),
		cmocka_unit_test(test_met),
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_pool_late),
		cmocka_unit_test(test_pool_once),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_compound),
		cmocka_unit_test(test_sections_crosswise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
