// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs without real-time priorities: who stands at a point sleeps.
 * They are the same runs as with priorities, choice by choice.
 */
#include "control_stage.h"

static void open_asleep(struct stage *s, const char *name, const char *arg)
{
	open_stage(s, name, arg);
	s->play->alone.backend->options.sleeps = true;
}

/* Of programs in which nobody is woken by libc: when that is seen may differ. */
static void test_the_same_choices(void **state)
{
	static const char *const programs[] = {
		"targets/bank_account",	       "targets/string_buffer",
		"targets/clean/mutex_counter", "targets/lost_wakeup",
		"control/the_queue",	       "control/account",
		"control/stolen_wakeup",       "control/which_waiter",
	};
	static const enum maple_policy_kind policies[] = { MAPLE_POLICY_RW,
							   MAPLE_POLICY_POS,
							   MAPLE_POLICY_PCT };
	struct maple_run_control c = { 0 };
	unsigned int open = 0;
	struct maple_run was;
	struct stage s;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		open_stage(&s, programs[i], NULL);
		for (unsigned int n = 0; n < 9; n++) {
			order_by(&c.order, policies[n % 3], n);
			s.play->alone.backend->options.sleeps = false;
			control(&s, &c, false);
			was = s.run;
			s.run = (struct maple_run){ 0 };
			s.play->alone.backend->options.sleeps = true;
			control(&s, &c, false);
			if (!same_decisions(&was, &s.run))
				fail_msg("%s, policy %u, seed %u: %u choices "
					 "with priorities, %u without",
					 programs[i], policies[n % 3], n,
					 was.ndecided, s.run.ndecided);
			assert_int_equal(was.counts.points, s.run.counts.points);
			open += s.run.counts.open > 0;
			maple_run_deinit(&was);
		}
		close_stage(&s);
	}
	assert_true(open > 50); /* of 72 */
}

static void test_bugs_are_found_and_repeat(void **state)
{
	static const struct {
		const char *program;
		unsigned int within;
	} bugs[] = {
		{ "targets/bank_account", 100 }, { "targets/lost_wakeup", 100 },
		{ "targets/queue_free", 100 },	 { "targets/lock_order", 100 },
		{ "control/account", 200 },	 { "control/token_ring", 200 },
		{ "control/timed_out", 300 },	 { "control/lazy_init", 100 },
	};
	struct stage s;

	for (size_t i = 0; i < sizeof(bugs) / sizeof(*bugs); i++) {
		open_asleep(&s, bugs[i].program, NULL);
		assert_in_range(search(&s, MAPLE_POLICY_POS, bugs[i].within), 1,
				bugs[i].within);
		replay(&s);
		close_stage(&s);
	}
}

static void test_clean_ones_stay_clean(void **state)
{
	stay_clean("targets/clean/c11_pipeline", NULL, 6, true);
	stay_clean("targets/clean/signal_fork", NULL, 6, true);
	stay_clean("targets/clean/spin_wait", NULL, 6, true);
	stay_clean("targets/clean/timed_queue", NULL, 6, true);
	stay_clean("control/cond_ends", NULL, 6, true);
	stay_clean("control/exit_parked", NULL, 6, true);
	stay_clean("control/two_pollers", NULL, 6, true);
}

/* Who is let go has to be woken. */
static void test_who_is_let_go_wakes(void **state)
{
	struct maple_run_control c = { 0 };
	const struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
		.grace = 30,
		.hold = 0.005,
	};
	struct maple_error err;
	struct stage s;

	open_asleep(&s, "control/long_waits", NULL);
	c.order.policy = MAPLE_POLICY_LIST;
	order.in = order.out = order.err = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(maple_backend_run(s.play->alone.backend, NULL, &order,
					   &sink, &s.run, &err),
			 0);
	close(order.in);
	assert_true(s.run.released);
	assert_int_equal(s.run.end, MAPLE_END_ITSELF);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_same_choices, leave_stages),
		cmocka_unit_test_teardown(test_bugs_are_found_and_repeat,
					  leave_stages),
		cmocka_unit_test_teardown(test_clean_ones_stay_clean,
					  leave_stages),
		cmocka_unit_test_teardown(test_who_is_let_go_wakes,
					  leave_stages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
