// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How long a schedule is held: a controlled run for a time, any other one for
 * time of the CPU. Who waits is not let go for it.
 */
#include "control_stage.h"

/* @program's run as @kind, which is held for @hold seconds, was let go. */
static bool is_let_go(const char *program, enum maple_run_kind kind, double hold)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_LIST };
	const struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = kind,
		.schedule = MAPLE_SCHEDULE_OLDER,
		.control = kind == MAPLE_RUN_CONTROL ? &c : NULL,
		.timeout = LIMIT,
		.grace = 30,
		.hold = hold,
		.in = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	struct maple_error err;
	struct stage s;
	bool released;

	open_stage(&s, program, NULL);
	order.out = order.err = order.in;
	if (maple_backend_run(s.play->alone.backend, NULL, &order, &sink,
			      &s.run, &err))
		fail_msg("%s", err.text);
	close(order.in);
	assert_int_equal(s.run.end, MAPLE_END_ITSELF);
	released = s.run.released;
	close_stage(&s);
	return released;
}

static void test_who_computes_is_let_go(void **state)
{
	assert_true(is_let_go("control/long_waits", MAPLE_RUN_PROFILE, 0.005));
	assert_true(is_let_go("control/long_waits", MAPLE_RUN_CONTROL, 0.005));
}

static void test_who_waits_is_not(void **state)
{
	assert_false(is_let_go("control/outside", MAPLE_RUN_PROFILE, 0.5));
}

static void test_nobody_is_without_a_limit(void **state)
{
	assert_false(is_let_go("control/outside", MAPLE_RUN_PROFILE, 0));
	assert_false(is_let_go("targets/bank_account", MAPLE_RUN_PROFILE, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_who_computes_is_let_go,
					  leave_stages),
		cmocka_unit_test_teardown(test_who_waits_is_not, leave_stages),
		cmocka_unit_test_teardown(test_nobody_is_without_a_limit,
					  leave_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
