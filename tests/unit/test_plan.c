// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Plans: the steps that iRoots become, their flips, and what is none.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "any_plan.h"
#include "plan/plan.h"

static struct maple_iroot iroot_of(uint32_t idiom, uint32_t kind)
{
	struct maple_iroot iroot = { .idiom = idiom };

	for (uint32_t i = 0; i < maple_iroot_events(idiom); i++) {
		iroot.e[i].site = 100 + i;
		iroot.e[i].kind = kind;
	}
	return iroot;
}

static struct maple_plan plan_of(uint32_t idiom, unsigned int attempt)
{
	struct maple_iroot iroot = iroot_of(idiom, MAPLE_EV_WRITE);
	struct maple_plan plan;

	if (idiom == MAPLE_IDIOM_DEADLOCK)
		iroot = iroot_of(idiom, MAPLE_EV_LOCK);
	assert_int_equal(maple_plan_init(&plan, &iroot, attempt, 0, 7), 0);
	return plan;
}

/* The executed orders of algorithms.md 2, with all that binds the steps. */
static void test_forms(void **state)
{
	static const struct {
		uint32_t idiom;
		const char *events, *roles, *vars;
		int dep[4], pair[4];
		uint16_t pre[4];
	} want[] = {
		{ 1, "01", "PQ", "XX", { -1, 0 }, { -1, -1 }, { 0, 1 } },
		{ 2,
		  "012",
		  "PQP",
		  "XXX",
		  { -1, 0, 1 },
		  { -1, -1, 0 },
		  { 0, 1, 3 } },
		{ 3,
		  "0123",
		  "PQQP",
		  "XXXX",
		  { -1, 0, -1, 2 },
		  { -1, -1, -1, 0 },
		  { 0, 1, 2, 5 } },
		{ 4,
		  "0123",
		  "PQQP",
		  "XXYY",
		  { -1, 0, -1, 2 },
		  { -1, -1, -1, 0 },
		  { 0, 1, 2, 5 } },
		{ 5,
		  "0213",
		  "PQQP",
		  "XYXY",
		  { -1, -1, 0, 1 },
		  { -1, -1, 1, 0 },
		  { 0, 0, 3, 3 } },
		{ 6,
		  "0123",
		  "PQPQ",
		  "XXYY",
		  { -1, 0, -1, 2 },
		  { -1, -1, 0, -1 },
		  { 0, 1, 1, 6 } },
		{ 7,
		  "0213",
		  "PQQP",
		  "XYXY",
		  { -1, -1, 0, 1 },
		  { -1, -1, 1, 0 },
		  { 0, 0, 3, 3 } },
		{ 8,
		  "012",
		  "PQP",
		  "XXX",
		  { -1, -1, -1 },
		  { -1, -1, -1 },
		  { 0, 1, 3 } },
		{ 9,
		  "0123",
		  "PQQP",
		  "XXYY",
		  { -1, -1, -1, -1 },
		  { -1, -1, -1, -1 },
		  { 0, 1, 3, 7 } },
		{ 10,
		  "0213",
		  "PQQP",
		  "XYXY",
		  { -1, -1, -1, -1 },
		  { -1, -1, -1, -1 },
		  { 0, 1, 3, 7 } },
		{ 11,
		  "0231",
		  "PQPQ",
		  "XYYX",
		  { -1, -1, -1, -1 },
		  { -1, -1, -1, -1 },
		  { 0, 1, 3, 7 } },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct maple_plan plan = plan_of(want[i].idiom, 1);

		assert_int_equal(plan.nsteps, strlen(want[i].events));
		for (uint32_t s = 0; s < plan.nsteps; s++) {
			const struct maple_plan_step *step = &plan.step[s];

			assert_int_equal(step->event, want[i].events[s] - '0');
			assert_int_equal(step->site, 100 + step->event);
			assert_int_equal(step->role, want[i].roles[s] == 'Q');
			assert_int_equal(step->var, want[i].vars[s] == 'Y');
			assert_int_equal(step->dep, want[i].dep[s]);
			assert_int_equal(step->pair, want[i].pair[s]);
			assert_int_equal(step->pre, want[i].pre[s]);
		}
		assert_true(maple_plan_valid(&plan));
	}
}

static void test_rotated(void **state)
{
	struct maple_plan plan = plan_of(MAPLE_IDIOM_5, 2);
	const uint8_t events[] = { 2, 0, 3, 1 };

	assert_true(plan.flags & MAPLE_PLAN_ROTATED);
	for (int i = 0; i < 4; i++)
		assert_int_equal(plan.step[i].event, events[i]);
	assert_int_equal(plan.step[2].dep, 0);
	assert_int_equal(plan.step[2].pair, 1);
	assert_int_equal(plan.step[3].dep, 1);
	assert_int_equal(plan.step[3].pair, 0);
	assert_true(maple_plan_valid(&plan));
	assert_false(plan_of(MAPLE_IDIOM_5, 1).flags & MAPLE_PLAN_ROTATED);
	assert_false(plan_of(MAPLE_IDIOM_4, 2).flags & MAPLE_PLAN_ROTATED);
}

/* Rule 7. */
static void test_tries(void **state)
{
	const uint32_t flags[] = {
		MAPLE_PLAN_HINTED | MAPLE_PLAN_Q_FIRST | MAPLE_PLAN_GATED,
		MAPLE_PLAN_HINTED,
		0,
		MAPLE_PLAN_YOUNGER | MAPLE_PLAN_GATED,
		MAPLE_PLAN_HINTED | MAPLE_PLAN_Q_FIRST,
	};
	struct maple_iroot iroot = iroot_of(MAPLE_IDIOM_1, MAPLE_EV_WRITE);
	struct maple_plan plan;

	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(plan_of(1, i + 1).flags,
				 flags[i] | MAPLE_PLAN_TURNING);
		assert_int_equal(maple_plan_way(i + 6), flags[i]);
		maple_plan_init(&plan, &iroot, i + 1, 1, 9);
		assert_int_equal(plan.flags, flags[2 + i % 2]);
		assert_int_equal(plan.attempt, i + 1);
		assert_int_equal(plan.seed, 9);
	}
}

static void test_refused(void **state)
{
	struct maple_iroot iroot = iroot_of(MAPLE_IDIOM_2, MAPLE_EV_READ);
	struct maple_plan plan;

	iroot.e[1].kind = MAPLE_EV_UPDATE;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 0), -1);
	iroot.e[1].kind = MAPLE_EV_LOCK; /* locks are in no set */
	iroot.idiom = MAPLE_SET_1;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 0), -1);
	iroot.idiom = MAPLE_IDIOM_2;
	iroot.e[1].kind = MAPLE_EV_CREATE;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 0), -1);
	iroot.idiom = 0;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 0), -1);
	iroot.idiom = MAPLE_IDIOMS;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 0), -1);
}

static void test_flip(void **state)
{
	for (uint32_t idiom = 1; idiom < MAPLE_IDIOMS; idiom++) {
		for (unsigned int attempt = 1; attempt <= 4; attempt++) {
			struct maple_plan plan = plan_of(idiom, attempt);
			int lock = idiom == MAPLE_IDIOM_DEADLOCK;

			strcpy(plan.hint[0], "0.1");
			maple_plan_flip(&plan);
			assert_int_equal(plan.nsteps, 2);
			assert_int_equal(plan.step[0].event, 1);
			assert_int_equal(plan.step[0].role, 1);
			assert_int_equal(plan.step[0].dep, -1);
			assert_int_equal(plan.step[0].pair, -1);
			assert_int_equal(plan.step[0].pre, 0);
			assert_int_equal(plan.step[1].event, 0);
			assert_int_equal(plan.step[1].role, 0);
			assert_int_equal(plan.step[1].dep, lock ? -1 : 0);
			assert_int_equal(plan.step[1].pair, -1);
			assert_int_equal(plan.step[1].pre, 1);
			assert_string_equal(plan.hint[0], "0.1");
			assert_int_equal(plan.seed, 7);
			assert_true(plan.flags & MAPLE_PLAN_FLIPPED);
			assert_true(maple_plan_valid(&plan));
		}
	}
}

/* Each way in which a plan is not well-formed is refused, and said. */
static void test_invalid(void **state)
{
	const struct maple_plan good = plan_of(MAPLE_IDIOM_3, 1);
	struct maple_plan plan;

#define REFUSES(change, why)                                           \
	do {                                                           \
		plan = good;                                           \
		change;                                                \
		assert_false(maple_plan_valid(&plan));                 \
		assert_non_null(strstr(maple_plan_fault(&plan), why)); \
	} while (0)
	REFUSES(plan.idiom = MAPLE_IDIOMS, "of no idiom");
	REFUSES(plan.nsteps = 0, "has no step");
	REFUSES(plan.nsteps = MAPLE_PLAN_STEPS + 1, "MAPLE_PLAN_STEPS");
	REFUSES(plan.nsteps = UINT32_MAX, "MAPLE_PLAN_STEPS");
	REFUSES(plan.flags |= 1u << 31, "flags");
	REFUSES(plan.flags |= MAPLE_PLAN_FOLLOWED << 1, "flags");
	REFUSES(plan.step[1].role = MAPLE_PLAN_ROLES, "role");
	REFUSES(plan.step[1].role = 255, "role");
	REFUSES(plan.step[1].var = MAPLE_PLAN_VARS, "variable");
	REFUSES(plan.step[1].event = MAPLE_PLAN_STEPS, "event");
	REFUSES(plan.step[1].dep = 1, "depends on no earlier step");
	REFUSES(plan.step[1].dep = 127, "depends on no earlier step");
	REFUSES(plan.step[1].dep = -2, "depends on no earlier step");
	REFUSES(plan.step[1].dep = -128, "depends on no earlier step");
	REFUSES(plan.step[1].pre = 0, "what it depends on");
	REFUSES(plan.step[3].pair = 3, "begins with no earlier step");
	REFUSES(plan.step[3].pair = 127, "begins with no earlier step");
	REFUSES(plan.step[3].pair = -2, "begins with no earlier step");
	REFUSES(plan.step[3].pair = 1, "another role");
	REFUSES(plan.step[0].pre = 1, "later step");
	REFUSES(plan.step[3].pre |= 1u << 3, "later step");
	REFUSES(plan.step[3].pre |= 1u << 15, "later step");
	REFUSES(plan.step[0].kind = MAPLE_EV_UPDATE, "kind");
	REFUSES(plan.step[0].kind = 0, "kind");
	REFUSES(plan.step[0].kind = MAPLE_EV_FREE, "kind");
	REFUSES(plan.step[0].kind = 255, "kind");
	REFUSES(plan.step[2].ngates = MAPLE_PLAN_GATES + 1, "gates");
	REFUSES(plan.nguards = MAPLE_PLAN_GUARDS + 1, "guards");
	REFUSES(plan.ncovers = MAPLE_PLAN_COVERS + 1, "covers");
	REFUSES(memset(plan.hint[1], 'x', MAPLE_PLAN_NAME), "name");
#undef REFUSES
	assert_true(maple_plan_valid(&good));
	assert_null(maple_plan_fault(&good));
}

/* What no iRoot becomes is well-formed all the same, but no iRoot's plan. */
static void test_other_shapes(void **state)
{
	const struct maple_plan good = plan_of(MAPLE_IDIOM_3, 1);
	struct maple_iroot iroot;
	struct maple_plan plan;

#define OTHER(change)                                                  \
	do {                                                           \
		plan = good;                                           \
		change;                                                \
		assert_null(maple_plan_fault(&plan));                  \
		assert_int_equal(maple_plan_iroot(&plan, &iroot), -1); \
	} while (0)
	OTHER(plan.idiom = 0);
	OTHER(plan.nsteps = 3);
	OTHER(plan.flags |= MAPLE_PLAN_ROTATED);
	OTHER(plan.flags |= MAPLE_PLAN_FLIPPED);
	OTHER(plan.step[3].var = 1);
	OTHER(plan.step[2].dep = 1; plan.step[2].pre |= 2);
	OTHER(plan.step[0].role = 1; plan.step[3].pair = -1);
#undef OTHER
	assert_int_equal(maple_plan_iroot(&good, &iroot), 0);
	assert_int_equal(iroot.idiom, MAPLE_IDIOM_3);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(iroot.e[i].site, 100 + i);
}

/* Random ones are what the other tests run, so they must be well-formed. */
static void test_random_shapes(void **state)
{
	const struct maple_iroot_event at[] = {
		{ 1, MAPLE_EV_READ },
		{ 2, MAPLE_EV_UPDATE },
		{ 3, MAPLE_EV_LOCK },
		{ 4, MAPLE_EV_SLEEP },
	};
	unsigned int steps[MAPLE_PLAN_STEPS + 1] = { 0 }, iroots = 0;
	struct maple_iroot iroot;
	struct maple_plan plan;
	uint64_t seed = 1;

	for (int i = 0; i < 10000; i++) {
		any_plan(&plan, &seed, at, 4);
		assert_null(maple_plan_fault(&plan));
		steps[plan.nsteps]++;
		iroots += !maple_plan_iroot(&plan, &iroot);
	}
	for (int n = 1; n <= MAPLE_PLAN_STEPS; n++)
		assert_true(steps[n] > 10);
	assert_true(iroots < 1000);
}

/* Which instruction must not be one access. */
static void test_splits(void **state)
{
	struct maple_iroot iroot = {
		.idiom = MAPLE_IDIOM_2,
		.e = { { 7, MAPLE_EV_READ },
		       { 8, MAPLE_EV_WRITE },
		       { 7, MAPLE_EV_WRITE } },
	};
	struct maple_plan plan;

	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 7), 0);
	assert_true(maple_plan_splits(&plan, 7));
	assert_false(maple_plan_splits(&plan, 8));
	maple_plan_flip(&plan);
	assert_false(maple_plan_splits(&plan, 7));
	iroot.e[1].site = 7;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 7), 0);
	assert_true(maple_plan_splits(&plan, 7));
	iroot.e[0].kind = MAPLE_EV_WRITE;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 7), 0);
	assert_false(maple_plan_splits(&plan, 7));
	iroot.e[0].kind = MAPLE_EV_READ;
	iroot.e[0].site = iroot.e[2].site = MAPLE_SITE_CALL | 7;
	assert_int_equal(maple_plan_init(&plan, &iroot, 1, 0, 7), 0);
	assert_false(maple_plan_splits(&plan, MAPLE_SITE_CALL | 7));
	plan = plan_of(MAPLE_IDIOM_4, 1);
	assert_false(maple_plan_splits(&plan, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_rotated),
		cmocka_unit_test(test_tries),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_flip),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_other_shapes),
		cmocka_unit_test(test_random_shapes),
		cmocka_unit_test(test_splits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
