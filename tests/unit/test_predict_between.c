// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What comes in the middle of an instruction, or before a wait.
 *
 * beside: guests
 */
#include "predict_rig.h"

#define U MAPLE_EV_UPDATE

static bool splits(void *ctx, uint32_t site)
{
	assert_ptr_equal(ctx, obs);
	return site < 50;
}

/* With threads 1 and 2. */
static void begin_split(bool can)
{
	struct maple_predict_options options = {
		.idioms = 1u << MAPLE_IDIOM_2,
		.splits = can ? splits : NULL,
		.splits_ctx = obs,
	};

	begin(&options);
	create(1);
	create(2);
}

/* Index among the predicted of: @site's read, @other's write, its own write. */
static int between(uint32_t site, uint32_t other)
{
	for (unsigned int i = 0; i < npred; i++)
		if (pred[i].idiom == MAPLE_IDIOM_2 &&
		    pred[i].e[0].site == site && pred[i].e[0].kind == R &&
		    pred[i].e[1].site == other && pred[i].e[1].kind == W &&
		    pred[i].e[2].site == site && pred[i].e[2].kind == W)
			return (int)i;
	return -1;
}

static void under(unsigned int t, uint64_t mutex, uint8_t flags, uint32_t site)
{
	raw((struct maple_event){ .thread = (uint16_t)t,
				  .kind = MAPLE_EV_LOCK,
				  .site = CALL | (10 * t),
				  .addr = mutex,
				  .flags = flags });
	data(t, U, site, X, 4);
	raw((struct maple_event){ .thread = (uint16_t)t,
				  .kind = MAPLE_EV_UNLOCK,
				  .site = CALL | (10 * t + 1),
				  .addr = mutex,
				  .flags = flags });
}

/* On several CPUs, a write comes between the halves of an instruction. */
static void test_between(void **state)
{
	const struct maple_predict_facts *f;

	begin_split(true);
	data(1, U, 1, X, 4);
	data(2, U, 1, X, 4);
	data(2, W, 2, X + 2, 4);
	end();
	assert_int_equal(npred, 2);
	assert_true(between(1, 1) >= 0);
	f = &facts[between(1, 2)];
	assert_true(between(1, 2) >= 0);
	assert_true(f->disjoint && f->unserializable && !f->ordered);
	assert_int_equal(f->against, MAPLE_OPEN);
	assert_int_equal(f->e[0].thread, 1);
	assert_int_equal(f->e[1].thread, 2);
	assert_int_equal(f->e[2].thread, 1);
	assert_int_equal(f->e[2].occurrence, 0);

	begin_split(true); /* two locks, or one that both only read under */
	under(1, M, 0, 1);
	under(2, M + 64, 0, 2);
	end();
	assert_true(between(1, 2) >= 0 && between(2, 1) >= 0);
	begin_split(true);
	under(1, M, MAPLE_EVF_SHARED, 1);
	under(2, M, MAPLE_EVF_SHARED, 2);
	end();
	assert_true(between(1, 2) >= 0 && between(2, 1) >= 0);
}

/* ... unless a lock, happens-before or the instruction itself is against it. */
static void test_nothing_between(void **state)
{
	begin_split(true);
	under(1, M, 0, 1);
	under(2, M, 0, 2);
	end();
	assert_int_equal(npred, 0);
	begin_split(true);
	under(1, M, 0, 1);
	under(2, M, MAPLE_EVF_SHARED, 2);
	end();
	assert_int_equal(npred, 0);
	begin_split(true); /* before, and after, all the other does */
	data(0, U, 1, X, 4);
	create(3);
	data(3, U, 2, X, 4);
	sync(0, MAPLE_EV_JOIN, CALL | 1, 0, 3);
	data(0, U, 3, X, 4);
	end();
	for (uint32_t site = 1; site <= 3; site++)
		for (uint32_t other = 1; other <= 3; other++)
			assert_int_equal(between(site, other), -1);
	begin_split(true); /* no write, no other thread, no common byte */
	data(1, U, 1, X, 4);
	data(2, R, 2, X, 4);
	data(1, W, 3, X, 4);
	data(2, U, 4, X + 4, 4);
	end();
	assert_int_equal(between(1, 3), -1);
	assert_int_equal(between(1, 2), -1);
	assert_int_equal(between(1, 4), -1);
	begin_split(true); /* LOCK; but a plain one can be met by it */
	data(1, U, 50, X, 4);
	data(2, U, 51, X, 4);
	data(2, U, 1, X, 4);
	end();
	assert_true(between(1, 50) >= 0);
	assert_int_equal(between(50, 1), -1);
	assert_int_equal(between(50, 51), -1);
	assert_int_equal(between(51, 50), -1);
	begin_split(false);
	data(1, U, 1, X, 4);
	data(2, U, 1, X, 4);
	end();
	assert_int_equal(between(1, 1), -1);
}

/* What a run with the instruction split in two shows. */
static void test_observed_between(void **state)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_2,
		.e = { { 1, R }, { 1, W }, { 1, W } },
	};

	begin_split(true);
	data(1, R, 1, X, 4);
	data(2, R, 1, X, 4);
	data(2, W, 1, X, 4);
	data(1, W, 1, X, 4);
	end();
	assert_int_equal(nobs, 1);
	assert_memory_equal(&obs[0], &iroot, sizeof(iroot));
	begin_split(true); /* one after the other */
	data(1, R, 1, X, 4);
	data(1, W, 1, X, 4);
	data(2, R, 1, X, 4);
	data(2, W, 1, X, 4);
	end();
	assert_int_equal(nobs, 0);
}

#define C 0x30000ull
#define N MAPLE_EV_NOTIFY
#define S MAPLE_EV_SLEEP

/* A wait at @call, with the mutex taken before at call site @call - 1. */
static void wait_on(unsigned int t, uint32_t call)
{
	sync(t, MAPLE_EV_LOCK, CALL | (call - 1), M, 0);
	sync(t, MAPLE_EV_UNLOCK, CALL | call, M, 0);
	sync(t, MAPLE_EV_WAIT, CALL | call, C, 0);
}

static void woken(unsigned int t, uint32_t call)
{
	sync(t, MAPLE_EV_WAKE, CALL | call, C, 0);
	sync(t, MAPLE_EV_LOCK, CALL | call, M, 0);
	sync(t, MAPLE_EV_UNLOCK, CALL | (call + 1), M, 0);
}

/* The signal came as it should, but nothing makes it come then. */
static void test_signal_could_be_early(void **state)
{
	const struct maple_predict_facts *f;

	begin(NULL);
	create(1);
	wait_on(1, 11);
	sync(0, MAPLE_EV_SIGNAL, CALL | 20, C, 0);
	woken(1, 11);
	end();
	f = facts_of(N, CALL | 20, S, CALL | 11);
	assert_int_equal(f->e[0].thread, 0);
	assert_int_equal(f->e[1].thread, 1);
	assert_int_equal(f->e[1].occurrence, 0);
	assert_int_equal(f->e[1].ngates, 1);
	assert_int_equal(f->e[1].gate[0], CALL | 10);
	assert_true(find(obs, nobs, N, CALL | 20, S, CALL | 11) < 0);
	assert_true(find(pred, npred, S, CALL | 11, N, CALL | 20) < 0);
}

static void test_signal_was_early(void **state)
{
	begin(NULL);
	create(1);
	sync(0, MAPLE_EV_BROADCAST, CALL | 20, C, 0);
	wait_on(1, 11);
	end();
	assert_true(find(obs, nobs, N, CALL | 20, S, CALL | 11) >= 0);
}

/* What ended one wait is not lost on the next one. */
static void test_signal_was_heard(void **state)
{
	begin(NULL);
	create(1);
	wait_on(1, 11);
	sync(0, MAPLE_EV_SIGNAL, CALL | 20, C, 0);
	woken(1, 11);
	wait_on(1, 21);
	end();
	assert_true(find(obs, nobs, N, CALL | 20, S, CALL | 21) < 0);
	/* ... which it cannot precede unheard, either */
	assert_true(find(pred, npred, N, CALL | 20, S, CALL | 21) < 0);
}

/* Under the wait's mutex, or by its own thread, it cannot be too early. */
static void test_signal_in_time(void **state)
{
	struct maple_predict_options none = { .no_conditions = true };

	begin(NULL);
	create(1);
	wait_on(1, 11);
	sync(0, MAPLE_EV_LOCK, CALL | 19, M, 0);
	sync(0, MAPLE_EV_SIGNAL, CALL | 20, C, 0);
	sync(0, MAPLE_EV_UNLOCK, CALL | 21, M, 0);
	woken(1, 11);
	sync(1, MAPLE_EV_SIGNAL, CALL | 30, C, 0);
	end();
	assert_true(find(pred, npred, N, CALL | 20, S, CALL | 11) < 0);
	assert_true(find(pred, npred, N, CALL | 30, S, CALL | 11) < 0);
	begin(&none);
	create(1);
	wait_on(1, 11);
	sync(0, MAPLE_EV_SIGNAL, CALL | 20, C, 0);
	end();
	assert_int_equal(npred, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_could_be_early),
		cmocka_unit_test(test_signal_was_early),
		cmocka_unit_test(test_signal_was_heard),
		cmocka_unit_test(test_signal_in_time),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_nothing_between),
		cmocka_unit_test(test_observed_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
