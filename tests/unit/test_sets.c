// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Atomic sets: each row of the table of violations (algorithms.md 17), by a run
 * in which the two units came one after the other, is predicted; and nothing is
 * where a lock is held throughout, where one happens before the other, and
 * where it is another object or another unit. What is predicted is told from
 * the log of a run that has it, and of one that has not.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "predict/sets/sets.h"

#define X     0x1010u
#define Y     0x1020u
#define L     0x9000u
#define M     0x9100u
#define SP    0x7000u
#define CALL  MAPLE_SITE_CALL
#define FOUND 64

enum { R = MAPLE_EV_READ, W = MAPLE_EV_WRITE };

static struct maple_sets *sets;
static struct maple_iroot found[FOUND];
static struct maple_predict_facts facts[FOUND];
static unsigned int nfound;
static uint32_t clocks[4];

static void on_predicted(void *ctx, const struct maple_iroot *iroot,
			 const struct maple_predict_facts *what)
{
	(void)ctx;
	assert_true(nfound < FOUND);
	facts[nfound] = *what;
	found[nfound++] = *iroot;
}

static struct maple_event make(unsigned int thread, unsigned int kind,
			       uint64_t addr, uint32_t site)
{
	struct maple_event e = {
		.kind = (uint8_t)kind,
		.thread = (uint16_t)thread,
		.addr = addr,
		.site = site,
		.size = 4,
		.sp = SP,
		.clock = ++clocks[thread],
	};

	if (kind == MAPLE_EV_CREATE || kind == MAPLE_EV_JOIN)
		e.aux = site;
	if (kind == MAPLE_EV_FREE || kind == MAPLE_EV_ALLOC)
		e.value = 64;
	return e;
}

static void at(unsigned int thread, unsigned int kind, uint64_t addr,
	       uint32_t site, uint32_t sp)
{
	struct maple_event e = make(thread, kind, addr, site);

	e.sp = sp;
	maple_sets_event(sets, &e);
}

static void event(unsigned int thread, unsigned int kind, uint64_t addr,
		  uint32_t site)
{
	at(thread, kind, addr, site, SP);
}

/* The caller of the function that @thread was in does something. */
static void returns(unsigned int thread)
{
	at(thread, R, 0x500000u + 4096 * thread, 99, SP + 64);
}

static void begin(void)
{
	struct maple_predict_sink sink = { .predicted = on_predicted };

	maple_sets_destroy(sets);
	sets = maple_sets_create(&sink);
	assert_non_null(sets);
	nfound = 0;
}

static int setup(void **state)
{
	(void)state;
	begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	maple_sets_destroy(sets);
	sets = NULL;
	return 0;
}

static void finish(void)
{
	maple_sets_finish(sets);
}

/* Whether the iRoot of @idiom with sites 1 to 4 and these kinds is there. */
static int has(uint32_t idiom, const uint32_t *site, const uint8_t *kind)
{
	unsigned int n = maple_iroot_events(idiom);

	for (unsigned int i = 0; i < nfound; i++) {
		unsigned int k = 0;

		while (k < n && found[i].e[k].site == site[k] &&
		       found[i].e[k].kind == kind[k])
			k++;
		if (found[i].idiom == idiom && k == n)
			return 1;
	}
	return 0;
}

/*
 * The rows: kinds of P's first and second access (sites 1, 2), and of Q's, in
 * the order in which it makes them (sites 3, 4); where each is.
 */
struct row {
	uint32_t idiom;
	uint8_t p[2], q[2];
	uint64_t pat[2], qat[2];
	uint32_t site[4]; /* of the iRoot's events */
	uint8_t kind[4];
};

static const struct row rows[] = {
	{ MAPLE_SET_1, { R, W }, { W }, { X, X }, { X }, { 1, 3, 2 }, { R, W, W } },
	{ MAPLE_SET_1, { R, R }, { W }, { X, X }, { X }, { 1, 3, 2 }, { R, W, R } },
	{ MAPLE_SET_1, { W, W }, { R }, { X, X }, { X }, { 1, 3, 2 }, { W, R, W } },
	{ MAPLE_SET_1, { W, R }, { W }, { X, X }, { X }, { 1, 3, 2 }, { W, W, R } },
	{ MAPLE_SET_1, { W, W }, { W }, { X, X }, { X }, { 1, 3, 2 }, { W, W, W } },
	{ MAPLE_SET_2,
	  { W, W },
	  { W, W },
	  { X, Y },
	  { X, Y },
	  { 1, 3, 4, 2 },
	  { W, W, W, W } },
	{ MAPLE_SET_3,
	  { W, W },
	  { W, W },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { W, W, W, W } },
	{ MAPLE_SET_4,
	  { W, W },
	  { W, W },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { W, W, W, W } },
	{ MAPLE_SET_2,
	  { W, W },
	  { R, R },
	  { X, Y },
	  { X, Y },
	  { 1, 3, 4, 2 },
	  { W, R, R, W } },
	{ MAPLE_SET_3,
	  { W, W },
	  { R, R },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { W, R, R, W } },
	{ MAPLE_SET_2,
	  { R, R },
	  { W, W },
	  { X, Y },
	  { X, Y },
	  { 1, 3, 4, 2 },
	  { R, W, W, R } },
	{ MAPLE_SET_3,
	  { R, R },
	  { W, W },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { R, W, W, R } },
	{ MAPLE_SET_4,
	  { R, R },
	  { W, W },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { R, W, W, R } },
	{ MAPLE_SET_4,
	  { W, W },
	  { R, R },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { W, R, R, W } },
	{ MAPLE_SET_4,
	  { R, W },
	  { R, W },
	  { X, Y },
	  { Y, X },
	  { 1, 4, 3, 2 },
	  { R, W, R, W } },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* How the two units of a row are executed. */
struct how {
	uint64_t each;	/* a lock around each access, */
	uint64_t both;	/* ... and one around the two of a unit */
	uint64_t apart; /* Q's object lies so far from P's */
	int returns;	/* P's second access is another call's */
	int ordered;	/* P's thread creates Q's when it has done */
};

static void one(unsigned int thread, unsigned int kind, uint64_t addr,
		uint32_t site, uint64_t lock)
{
	if (lock)
		event(thread, MAPLE_EV_LOCK, lock, CALL | site);
	event(thread, kind, addr, site);
	if (lock)
		event(thread, MAPLE_EV_UNLOCK, lock, CALL | (site + 16));
}

static void execute(const struct row *row, const struct how *how)
{
	begin();
	if (how->both)
		event(0, MAPLE_EV_LOCK, how->both, CALL | 30);
	one(0, row->p[0], row->pat[0], 1, how->each);
	if (how->returns)
		returns(0);
	one(0, row->p[1], row->pat[1], 2, how->each);
	if (how->both)
		event(0, MAPLE_EV_UNLOCK, how->both, CALL | 31);
	if (how->ordered)
		event(0, MAPLE_EV_CREATE, 0, 1);
	if (how->both)
		event(1, MAPLE_EV_LOCK, how->both, CALL | 32);
	one(1, row->q[0], row->qat[0] + how->apart, 3, how->each);
	if (row->q[1])
		one(1, row->q[1], row->qat[1] + how->apart, 4, how->each);
	if (how->both)
		event(1, MAPLE_EV_UNLOCK, how->both, CALL | 33);
	finish();
}

static int row_has(const struct row *row)
{
	return has(row->idiom, row->site, row->kind);
}

static void test_rows(void **state)
{
	struct how none = { 0 }, locked = { .each = L };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &none);
		if (!row_has(&rows[i]))
			fail_msg("row %u is not predicted", i);
		execute(&rows[i], &locked);
		if (!row_has(&rows[i]))
			fail_msg("row %u is not predicted with locks", i);
		assert_false(facts[0].disjoint);
		assert_int_equal(facts[0].e[0].ngates, 1);
	}
}

static void test_common_lock_held_throughout(void **state)
{
	struct how how = { .both = L };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &how);
		assert_int_equal(nfound, 0);
	}
}

/* One lock is released in between, another is not: each has to be. */
static void test_each_lock_is_released(void **state)
{
	struct how how = { .both = M, .each = L };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &how);
		assert_int_equal(nfound, 0);
	}
}

static void test_ordered(void **state)
{
	struct how how = { .ordered = 1 };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &how);
		assert_int_equal(nfound, 0);
	}
}

static void test_other_object(void **state)
{
	struct how how = { .apart = 0x4000 };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &how);
		assert_int_equal(nfound, 0);
	}
}

static void test_other_unit(void **state)
{
	struct how how = { .returns = 1 };

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		execute(&rows[i], &how);
		assert_false(row_has(&rows[i]));
	}
}

/* Of a unit: @lock is held at its second location, L at its first. */
static void two_locations(const struct row *row, uint64_t lock)
{
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < 2; i++) {
			uint64_t addr = t ? row->qat[i] : row->pat[i];

			one(t, t ? row->q[i] : row->p[i], addr, 2 * t + i + 1,
			    addr == X ? L : lock);
		}
	finish();
}

/* What different locks keep is no set by itself. */
static void test_other_locks(void **state)
{
	static const struct maple_belonging given[] = {
		{ 1, 0, 1, true },
		{ 2, 0, 1, true },
		{ 3, 0, 1, true },
		{ 4, 0, 1, true },
	};
	unsigned int seen = 0;

	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		if (rows[i].pat[0] == rows[i].pat[1])
			continue;
		begin();
		two_locations(&rows[i], M);
		assert_int_equal(nfound, 0);
		begin();
		two_locations(&rows[i], 0);
		assert_true(row_has(&rows[i]));
		begin();
		two_locations(&rows[i], L);
		assert_true(row_has(&rows[i]));
		begin();
		assert_true(maple_sets_belong(sets, given, 4));
		two_locations(&rows[i], M);
		assert_true(row_has(&rows[i]));
		seen++;
	}
	assert_true(seen > 0);
}

/* What a callee does is its caller's, if that has been there before. */
static void test_callee_is_part(void **state)
{
	static const uint32_t site[] = { 1, 3, 2 };
	static const uint8_t kind[] = { R, W, W };

	(void)state;
	at(0, R, X, 1, SP);
	at(0, W, X, 2, SP - 64);
	event(1, W, X, 3);
	finish();
	assert_true(has(MAPLE_SET_1, site, kind));
}

/* The next round of a loop is another unit. */
static void test_round_ends_unit(void **state)
{
	static const uint32_t site[] = { 2, 3, 1 };
	static const uint8_t kind[] = { W, W, R };

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		event(0, R, X, 1);
		event(0, W, X, 2);
	}
	event(1, W, X, 3);
	finish();
	assert_false(has(MAPLE_SET_1, site, kind));
	assert_int_equal(nfound, 1);
}

/* A site that is executed unseen from here on may have begun the next round. */
static void test_quiet_ends_unit(void **state)
{
	static const uint32_t site[] = { 1, 3, 2 };
	static const uint8_t kind[] = { R, W, W };

	(void)state;
	for (unsigned int quiet = 0; quiet < 2; quiet++) {
		begin();
		event(0, R, X, 1);
		if (quiet)
			event(1, MAPLE_EV_QUIET, 0, 1);
		event(0, W, X, 2);
		event(1, W, X, 3);
		finish();
		assert_int_equal(has(MAPLE_SET_1, site, kind), !quiet);
	}
}

/* A block is a set by itself, wherever it lies; and no more when it is freed. */
static void test_blocks(void **state)
{
	static const uint32_t site[] = { 1, 3, 4, 2 };
	static const uint8_t kind[] = { W, R, R, W };

	(void)state;
	for (unsigned int frees = 0; frees < 2; frees++) {
		begin();
		event(2, MAPLE_EV_ALLOC, 0x10f0, CALL | 7);
		event(0, W, 0x10f8, 1);
		event(0, W, 0x1108, 2);
		returns(0);
		if (frees)
			event(2, MAPLE_EV_FREE, 0x10f0, CALL | 8);
		event(1, R, 0x10f8, 3);
		event(1, R, 0x1108, 4);
		finish();
		assert_int_equal(has(MAPLE_SET_2, site, kind), !frees);
	}
	/* Without the block, neither is in the other's neighbourhood. */
	begin();
	event(0, W, 0x10f8, 1);
	event(0, W, 0x1108, 2);
	event(1, R, 0x10f8, 3);
	event(1, R, 0x1108, 4);
	finish();
	assert_int_equal(nfound, 0);
}

/* Two read sides keep nobody out; a read and a write side do. */
static void test_shared_locks(void **state)
{
	(void)state;
	for (unsigned int both = 0; both < 2; both++) {
		struct maple_event e;

		begin();
		for (unsigned int t = 0; t < 2; t++) {
			e = make(t, MAPLE_EV_LOCK, L, CALL | t);
			e.flags = !t || both ? MAPLE_EVF_SHARED : 0;
			maple_sets_event(sets, &e);
			event(t, t ? W : R, X, 10 * t + 1);
			if (!t)
				event(t, R, X, 2);
			e.kind = MAPLE_EV_UNLOCK;
			maple_sets_event(sets, &e);
		}
		finish();
		assert_int_equal(nfound, both);
	}
}

/* A counter that all change by atomic instructions is meant so. */
static void test_atomic_instructions(void **state)
{
	(void)state;
	for (unsigned int atomic = 0; atomic < 2; atomic++) {
		begin();
		for (uint32_t site = 1; site < 4; site++) {
			struct maple_event e =
				make(site / 3, MAPLE_EV_UPDATE, X, site);

			e.flags = atomic ? MAPLE_EVF_ATOMIC : 0;
			maple_sets_event(sets, &e);
		}
		finish();
		assert_int_equal(!nfound, atomic);
	}
}

/* ---- what happened ---- */

static bool same(void *ctx, uint32_t a, uint32_t b)
{
	(void)ctx;
	return a == b;
}

/*
 * Whether a log of the row's accesses, by their sites in @order, has it; the
 * one at site @up is another call's
 */
static int told(const struct row *row, const char *order, uint32_t up)
{
	struct maple_iroot iroot = { .idiom = row->idiom };
	struct maple_event log[8];
	unsigned int n = maple_iroot_events(row->idiom), i, k;

	for (i = 0; i < n; i++) {
		iroot.e[i].site = row->site[i];
		iroot.e[i].kind = row->kind[i];
	}
	for (k = 0; order[k]; k++) {
		uint32_t site = (uint32_t)(order[k] - '0');
		unsigned int q = site > 2, second = !(site & 1);

		log[k] = make(q, q ? row->q[second] : row->p[second],
			      q ? row->qat[second] : row->pat[second], site);
		log[k].aux = site == up; /* another call */
	}
	return maple_sets_happened(log, k, &iroot, same, NULL);
}

static void test_happened(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];
		const char *order = row->idiom == MAPLE_SET_1	? "132"
				    : row->idiom == MAPLE_SET_4 ? "1324"
								: "1342";
		const char *serial = row->idiom == MAPLE_SET_1 ? "123" : "1234";

		assert_true(told(row, order, 0));
		assert_false(told(row, serial, 0));
		assert_false(told(row, order, 2));
		/* Another round of the loop has begun in between. */
		assert_false(told(row,
				  row->idiom == MAPLE_SET_1   ? "1312"
				  : row->idiom == MAPLE_SET_4 ? "13124"
							      : "13412",
				  0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_common_lock_held_throughout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each_lock_is_released,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_ordered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_object, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_other_unit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_other_locks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_callee_is_part, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_round_ends_unit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_quiet_ends_unit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_locks, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_atomic_instructions, setup,
						teardown),
		cmocka_unit_test(test_happened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
