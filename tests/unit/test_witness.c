// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The witness over atomic sets: each of the twelve patterns is told of a run
 * that had it, and of none in which the units came one after the other, were on
 * other objects or of other calls, or in which an access may have come later.
 * Of a forced run it is told if other runs had the accesses in one unit.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "predict/sets/witness.h"

#define X  0x1010u
#define Y  0x1020u
#define SP 0x7000u

enum { R = MAPLE_EV_READ, W = MAPLE_EV_WRITE };

static struct maple_witness *witness;
static uint32_t clocks[4];

static struct maple_event make(unsigned int thread, unsigned int kind,
			       uint64_t addr, uint32_t site)
{
	return (struct maple_event){
		.kind = (uint8_t)kind,
		.thread = (uint16_t)thread,
		.addr = addr,
		.site = site,
		.size = 4,
		.sp = SP,
		.clock = ++clocks[thread],
	};
}

static void begin(const struct maple_belonging *belonging, size_t n)
{
	maple_witness_destroy(witness);
	witness = maple_witness_create(belonging, n, false);
	assert_non_null(witness);
}

static int setup(void **state)
{
	(void)state;
	begin(NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	maple_witness_destroy(witness);
	witness = NULL;
	return 0;
}

static void event(unsigned int thread, unsigned int kind, uint64_t addr,
		  uint32_t site)
{
	struct maple_event e = make(thread, kind, addr, site);

	maple_witness_event(witness, &e);
}

/* The only violation that is told; NULL: there is none. */
static const struct maple_violated *only(void)
{
	const struct maple_violated *v;

	maple_witness_finish(witness);
	v = maple_witness_found(witness);
	if (v)
		assert_null(v->hh.next);
	return v;
}

/* Steps by role, kind and place, as they happen; sites in order from 1. */
struct row {
	unsigned int pattern;
	uint32_t idiom;
	const char *steps;
};

static const struct row rows[] = {
	{ 1, MAPLE_SET_1, "PRx QWx PWx" },
	{ 2, MAPLE_SET_1, "PRx QWx PRx" },
	{ 3, MAPLE_SET_1, "PWx QRx PWx" },
	{ 4, MAPLE_SET_1, "PWx QWx PRx" },
	{ 5, MAPLE_SET_1, "PWx QWx PWx" },
	{ 6, MAPLE_SET_2, "PWx QWx QWy PWy" },
	{ 6, MAPLE_SET_3, "PWx QWy QWx PWy" },
	{ 7, MAPLE_SET_4, "PWx QWy PWy QWx" },
	{ 8, MAPLE_SET_2, "PWx QRx QRy PWy" },
	{ 8, MAPLE_SET_3, "PWx QRy QRx PWy" },
	{ 9, MAPLE_SET_2, "PRx QWx QWy PRy" },
	{ 9, MAPLE_SET_3, "PRx QWy QWx PRy" },
	{ 10, MAPLE_SET_4, "PRx QWy PRy QWx" },
	{ 11, MAPLE_SET_4, "PWx QRy PWy QRx" },
	{ 12, MAPLE_SET_4, "PRx QRy PWy QWx" },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* How a row's steps are changed. */
struct how {
	bool serial;	/* P first */
	uint64_t apart; /* Q's object lies so far from P's */
	bool returns;	/* P's caller does something in between */
	bool again;	/* a site of P's comes again in between */
	bool atomic;
	bool pending; /* P's first access is */
};

/* The row's steps that are @role's, or all. */
static void steps(const struct row *row, const struct how *how, char role)
{
	uint32_t site = 1;
	bool first = true;

	for (const char *s = row->steps; *s; s += s[3] ? 4 : 3, site++) {
		bool q = *s == 'Q';
		struct maple_event e = make(
			q, s[1] == 'R' ? R : W,
			(s[2] == 'x' ? X : Y) + (q ? how->apart : 0), site);

		if (role && *s != role)
			continue;
		if (how->atomic)
			e.flags |= MAPLE_EVF_ATOMIC;
		if (how->pending && first)
			e.flags |= MAPLE_EVF_PENDING;
		maple_witness_event(witness, &e);
		if (first && how->again)
			maple_witness_event(witness, &e);
		if (first && how->returns) {
			struct maple_event up = make(0, R, 0x500000, 99);

			up.sp = SP + 64;
			maple_witness_event(witness, &up);
		}
		first = false;
	}
}

static const struct maple_violated *has(const struct row *row, struct how how)
{
	begin(NULL, 0);
	steps(row, &how, how.serial ? 'P' : 0);
	if (how.serial)
		steps(row, &how, 'Q');
	return only();
}

static void test_rows(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		const struct maple_violated *v =
			has(&rows[i], (struct how){ 0 });

		assert_non_null(v);
		assert_int_equal(v->pattern, rows[i].pattern);
		assert_int_equal(v->iroot.idiom, rows[i].idiom);
		assert_int_equal(v->set, 0);
		for (unsigned int k = 0; k < v->n; k++) {
			assert_int_equal(v->iroot.e[v->order[k]].site, k + 1);
			assert_int_equal(v->e[v->order[k]].thread,
					 v->q >> v->order[k] & 1);
		}
	}
}

static void test_not(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		const struct row *row = &rows[i];

		assert_null(has(row, (struct how){ .serial = true }));
		assert_null(has(row, (struct how){ .apart = 0x4000 }));
		assert_null(has(row, (struct how){ .returns = true }));
		assert_null(has(row, (struct how){ .atomic = true }));
	}
}

/* The round of a loop in which the first access was is over. */
static void test_round(void **state)
{
	(void)state;
	event(0, R, X, 1);
	event(1, W, X, 2);
	event(0, R, X, 1);
	event(0, W, X, 3);
	assert_null(only());
}

/* The round may be over where nobody sees its site come again. */
static void test_quiet(void **state)
{
	(void)state;
	for (unsigned int quiet = 0; quiet < 2; quiet++) {
		begin(NULL, 0);
		event(0, R, X, 1);
		if (quiet)
			event(1, MAPLE_EV_QUIET, 0, 1);
		event(1, W, X, 2);
		event(0, W, X, 3);
		assert_int_equal(only() != NULL, !quiet);
	}
}

/* It may have come after Q's, and then nothing was wrong: it is counted. */
static void test_pending(void **state)
{
	struct maple_witness_stats stats;

	(void)state;
	assert_null(has(&rows[0], (struct how){ .pending = true }));
	maple_witness_stats(witness, &stats);
	assert_int_equal(stats.unsure, 1);

	/* Its thread had gone on before Q came. */
	begin(NULL, 0);
	for (uint32_t site = 1; site <= 2; site++) {
		struct maple_event e = make(0, R, site == 1 ? X : Y, site);

		e.flags = site == 1 ? MAPLE_EVF_PENDING : 0;
		maple_witness_event(witness, &e);
	}
	event(1, W, X, 3);
	event(0, W, X, 4);
	assert_non_null(only());
}

/* One that ended long ago is not mixed with what comes now. */
static void test_many(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		event(0, R, X, 1);
		event(0, W, X, 2);
		event(1, R, X, 3);
		event(1, W, X, 4);
	}
	assert_null(only());
	begin(NULL, 0);
	for (int i = 0; i < 1000; i++) {
		event(0, R, X, 1);
		event(1, W, X, 4);
		event(0, W, X, 2);
	}
	assert_non_null(only());
}

/* Sites 1, 2 of P and 3 of Q are on one object each. */
static void on_objects(uint64_t of_q)
{
	event(0, W, X, 1);
	event(1, R, X + of_q, 3);
	event(1, R, Y + of_q, 4);
	event(0, W, Y, 2);
}

/* Whether Q's read of both is told, where P writes @y under that lock. */
static const struct maple_violated *under(uint64_t x, uint64_t y)
{
	begin(NULL, 0);
	if (x)
		event(0, MAPLE_EV_LOCK, x, MAPLE_SITE_CALL | 1);
	event(0, W, X, 1);
	if (x)
		event(0, MAPLE_EV_UNLOCK, x, MAPLE_SITE_CALL | 2);
	event(1, R, X, 3);
	event(1, R, Y, 4);
	if (y)
		event(0, MAPLE_EV_LOCK, y, MAPLE_SITE_CALL | 3);
	event(0, W, Y, 2);
	if (y)
		event(0, MAPLE_EV_UNLOCK, y, MAPLE_SITE_CALL | 4);
	return only();
}

/* What other locks keep is another thing, though it lies beside. */
static void test_guards(void **state)
{
	(void)state;
	assert_non_null(under(0, 0));
	assert_non_null(under(0x9000, 0x9000));
	assert_null(under(0x9000, 0x9040));
	assert_null(under(0, 0x9040));
}

static void test_objects(void **state)
{
	static const struct maple_belonging fields[] = {
		{ 1, 0, 3, false },
		{ 2, 16, 3, false },
		{ 3, 0, 3, false },
		{ 4, 16, 3, false },
	};
	static const struct maple_belonging globals[] = {
		{ 1, 0, 7, true },
		{ 2, 0, 7, true },
		{ 3, 0, 7, true },
		{ 4, 0, 7, true },
	};

	(void)state;
	begin(fields, 4);
	on_objects(0);
	assert_non_null(only());
	assert_int_equal(maple_witness_found(witness)->set, 3);

	/* The end of one and the beginning of another one that lies beside. */
	begin(NULL, 0);
	event(0, W, X, 1);
	event(1, R, Y, 3);
	event(1, R, X, 4);
	event(0, W, Y, 2);
	assert_non_null(only());
	begin(fields, 4);
	event(0, W, X, 1);
	event(1, R, Y, 3);
	event(1, R, X, 4);
	event(0, W, Y, 2);
	assert_null(only());

	/* A declared one is one wherever it lies. */
	begin(globals, 4);
	event(0, W, X, 1);
	event(1, R, X, 3);
	event(1, R, 0x90000, 4);
	event(0, W, 0x90000, 2);
	assert_non_null(only());
	assert_int_equal(maple_witness_found(witness)->set, 7);
}

/* Another order of the row's is forced once @mates have seen P's and Q's. */
static const struct maple_violated *
forced(const struct row *row, const struct maple_mates *mates, uint64_t moved)
{
	struct maple_event log[4];
	uint32_t n = 0;

	begin(NULL, 0);
	for (const char *s = row->steps; *s; s += s[3] ? 4 : 3, n++) {
		log[n] = make(*s == 'Q', s[1] == 'R' ? R : W,
			      s[2] == 'x' ? X : Y + moved, n + 1);
		log[n].sp = SP + 64 * n;
	}
	maple_witness_forced(witness, log, n, mates, NULL, NULL);
	return only();
}

static void test_forced(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROWS; i++) {
		struct maple_mates mates = { 0 };
		const struct row *row = &rows[i];

		assert_null(forced(row, &mates, 0));
		assert_null(has(row, (struct how){ .serial = true }));
		assert_true(
			maple_mates_join(&mates, maple_witness_mates(witness)));
		assert_non_null(forced(row, &mates, 0));
		/* Of two objects. */
		if (strchr(row->steps, 'y'))
			assert_null(forced(row, &mates, 0x40));
		maple_mates_deinit(&mates);
	}
}

/* Of a site that is executed often the log does not have each time. */
static void test_forced_often(void **state)
{
	static struct maple_event log[1002];
	struct maple_mates mates = { 0 };

	(void)state;
	assert_null(has(&rows[0], (struct how){ .serial = true }));
	assert_true(maple_mates_join(&mates, maple_witness_mates(witness)));
	for (uint32_t times = 1; times <= 1000; times += 999) {
		begin(NULL, 0);
		for (uint32_t i = 0; i < times; i++)
			log[i] = make(0, R, X, 1);
		log[times] = make(1, W, X, 2);
		log[times + 1] = make(0, W, X, 3);
		maple_witness_forced(witness, log, times + 2, &mates, NULL,
				     NULL);
		assert_int_equal(only() != NULL, times == 1);
	}
	maple_mates_deinit(&mates);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not, setup, teardown),
		cmocka_unit_test_setup_teardown(test_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quiet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_guards, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forced_often, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
