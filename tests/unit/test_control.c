// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs by the backend, without a campaign: bugs are found by a
 * policy within few runs, and the schedule that a run had, given as a list,
 * makes it again, in forked processes and in executed ones.
 */
#include "control_stage.h"

struct bug {
	const char *program, *arg;
	unsigned int within; /* runs of pos */
};

/* A few times the runs that each takes in the median. */
static const struct bug bugs[] = {
	{ "targets/bank_account", NULL, 100 },
	{ "targets/lost_wakeup", NULL, 100 },
	{ "targets/lock_order", NULL, 100 },
	{ "targets/queue_free", NULL, 100 },
	{ "control/account", NULL, 200 },
	{ "control/driver_stop", NULL, 100 },
	{ "control/lazy_init", NULL, 100 },
	{ "control/reorder", "3", 100 },
	{ "control/reorder", "10", 200 },
	{ "control/shared_sort", NULL, 100 },
	{ "control/stolen_wakeup", NULL, 300 },
	{ "control/the_queue", NULL, 200 },
	{ "control/token_ring", NULL, 200 },
	{ "control/two_stage", "2", 200 },
	{ "control/two_stage", "5", 200 },
	{ "control/wrong_lock", "3", 100 },
	{ "control/timed_out", NULL, 300 },
	{ "control/which_waiter", NULL, 200 },
};

static void test_pos_finds_and_lists_repeat(void **state)
{
	struct stage s;
	unsigned int n;

	for (size_t i = 0; i < sizeof(bugs) / sizeof(*bugs); i++) {
		open_stage(&s, bugs[i].program, bugs[i].arg);
		n = search(&s, MAPLE_POLICY_POS, bugs[i].within);
		print_message("%s %s: run %u, %u switches, %llu points\n",
			      bugs[i].program, bugs[i].arg ? bugs[i].arg : "",
			      n, s.run.ndecided,
			      (unsigned long long)s.run.counts.points);
		assert_in_range(n, 1, bugs[i].within);
		replay(&s);
		close_stage(&s);
	}
}

static void test_clean_ones_stay_clean(void **state)
{
	stay_clean("targets/clean/all_locks", NULL, 20, false);
	stay_clean("targets/clean/c11_pipeline", NULL, 20, false);
	stay_clean("targets/clean/mutex_counter", NULL, 20, false);
	stay_clean("targets/clean/signal_fork", NULL, 20, false);
	stay_clean("targets/clean/spin_wait", NULL, 20, false);
	stay_clean("targets/clean/timed_queue", NULL, 20, false);
	stay_clean("control/cond_ends", NULL, 20, false);
	stay_clean("control/exit_parked", NULL, 20, false);
}

/*
 * Some 20 s natively, and a run may take 5. What is outside takes its time, and
 * so do those who sleep meanwhile.
 */
static void test_time_is_the_runs_own(void **state)
{
	static const char *const timers[] = { "fd",	 "poll",  "epoll",
					      "alarm",	 "pause", "suspend",
					      "sigwait", NULL };
	struct maple_run_control c = { 0 };
	struct stage s;

	stay_clean("control/two_pollers", NULL, 20, false);
	open_stage(&s, "control/two_pollers", NULL);
	order_by(&c.order, MAPLE_POLICY_POS, 1);
	control(&s, &c, false);
	assert_true(s.run.counts.jumps >= 10);
	replay(&s);
	close_stage(&s);
	for (unsigned int i = 0; timers[i]; i++) {
		stay_clean("control/timers", timers[i], 5, false);
		open_stage(&s, "control/timers", timers[i]);
		order_by(&c.order, MAPLE_POLICY_POS, 1);
		control(&s, &c, false);
		assert_false(failed(&s.run));
		/* Ten times or more. */
		assert_in_range(s.run.counts.jumps + s.run.counts.early, 10,
				1000);
		close_stage(&s);
	}
	stay_clean("control/outside", "child", 2, false);
	/* Without haste, which is the policies'. */
	open_stage(&s, "control/outside", "timer");
	c.order.policy = MAPLE_POLICY_LIST;
	control(&s, &c, false);
	assert_false(failed(&s.run));
	close_stage(&s);
}

/* A timeout that comes early is an order like any other, and is told apart. */
static void test_timeouts_may_come_early(void **state)
{
	struct stage s;

	open_stage(&s, "control/timed_out", NULL);
	assert_in_range(search(&s, MAPLE_POLICY_RW, 300), 1, 300);
	assert_int_equal(s.run.counts.early, 1);
	replay(&s);
	assert_int_equal(s.run.counts.early, 1);
	close_stage(&s);
}

/* With the machine's time a run that waits for a second does so. */
static void test_real_time_goes_by(void **state)
{
	struct maple_run_control c = { 0 };
	struct stage s;

	open_stage(&s, "control/outside", "timer");
	order_by(&c.order, MAPLE_POLICY_POS, 1);
	c.order.real_time = true;
	control(&s, &c, false);
	assert_int_equal(s.run.counts.jumps + s.run.counts.early, 0);
	assert_false(failed(&s.run));
	close_stage(&s);
}

/* What nothing from outside ends has the same decisions again. */
static void test_whole_schedules_repeat(void **state)
{
	static const char *const programs[] = { "targets/clean/all_locks",
						"targets/clean/c11_pipeline",
						"targets/clean/mutex_counter",
						"targets/clean/spin_wait",
						"control/cond_ends" };
	struct maple_run_control c = { 0 };
	struct stage s;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		open_stage(&s, programs[i], NULL);
		order_by(&c.order, MAPLE_POLICY_POS, 3);
		control(&s, &c, false);
		print_message("%s: %u switches, %llu points, %llu yields\n",
			      programs[i], s.run.ndecided,
			      (unsigned long long)s.run.counts.points,
			      (unsigned long long)s.run.counts.yields);
		replay(&s);
		close_stage(&s);
	}
}

static void test_each_policy_finds(void **state)
{
	static const enum maple_policy_kind policies[] = { MAPLE_POLICY_RW,
							   MAPLE_POLICY_PCT };
	struct stage s;

	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++) {
		open_stage(&s, "targets/bank_account", NULL);
		assert_in_range(search(&s, policies[i], 500), 1, 500);
		replay(&s);
		close_stage(&s);
	}
}

/* The number that the second stage has for what the first calls @site. */
static uint32_t number_in(struct stage *first, struct stage *second,
			  uint32_t site)
{
	struct maple_registry *to = second->play->alone.options.registry;
	struct maple_site_info info;
	uint32_t index;

	if (site == MAPLE_SITE_NONE)
		return site;
	assert_int_equal(maple_registry_site(first->play->alone.options.registry,
					     site, &info),
			 0);
	assert_int_equal(maple_registry_add(to, info.path, &index, NULL), 0);
	if (info.is_call)
		return maple_registry_call(to, index, info.offset);
	return maple_registry_find(to, info.build_id, info.offset, false,
				   info.second);
}

/* One run's list by a backend that has not met the program's calls yet. */
static void test_list_outlives_its_backend(void **state)
{
	struct stage first, second;
	struct maple_run_control c;
	struct maple_run was;

	open_stage(&first, "control/account", NULL);
	assert_in_range(search(&first, MAPLE_POLICY_POS, 200), 1, 200);
	c = schedule_of(&first, &was);
	/* There is one CPU for the two. */
	maple_cpu_give_back(&first.play->alone.cpu);
	open_stage(&second, "control/account", NULL);
	for (uint32_t i = 0; i < was.ndecided; i++)
		was.decided[i].site =
			number_in(&first, &second, was.decided[i].site);
	for (unsigned int i = 0; i < REPLAYS; i++) {
		control(&second, &c, false);
		assert_true(failed(&second.run));
		assert_int_equal(second.run.counts.missed, 0);
	}
	maple_run_deinit(&was);
	close_stage(&second);
	close_stage(&first);
}

/* What the shortest of ten runs takes that end like that. */
static double least(struct stage *s, const struct maple_run_control *c,
		    enum maple_end end)
{
	double before, took, least = LIMIT;

	for (unsigned int i = 0; i < 10; i++) {
		before = maple_clock_now();
		control(s, c, false);
		took = maple_clock_now() - before;
		assert_int_equal(s->run.end, end);
		if (took < least)
			least = took;
	}
	return least;
}

/*
 * All wait: that is known at once, and not after some looks, which take as long
 * as a hundred runs that come to their end.
 */
static void test_deadlock_is_known_at_once(void **state)
{
	struct maple_run_control c = { 0 };
	double passed, deadlocked;
	struct maple_run was;
	struct stage s;

	open_stage(&s, "targets/lock_order", NULL);
	for (unsigned int i = 1; i <= 100; i++) {
		order_by(&c.order, MAPLE_POLICY_POS, i);
		control(&s, &c, false);
		if (!failed(&s.run))
			break;
	}
	passed = least(&s, &c, MAPLE_END_ITSELF);
	assert_in_range(search(&s, MAPLE_POLICY_POS, 100), 1, 100);
	c = schedule_of(&s, &was);
	deadlocked = least(&s, &c, MAPLE_END_DEADLOCK);
	print_message("# a run: %.1f ms, a deadlock: %.1f ms\n", passed * 1e3,
		      deadlocked * 1e3);
	assert_true(deadlocked < 40 * passed);
	maple_run_deinit(&was);
	close_stage(&s);
}

/* The beginning is the list's, and the log of all of it is a list like any. */
static void test_a_policy_goes_on_behind(void **state)
{
	struct maple_run was;
	struct maple_run_control c;
	struct stage s;

	open_stage(&s, "control/index_stack", NULL);
	for (unsigned int i = 0; i < 10; i++) {
		c = (struct maple_run_control){ 0 };
		order_by(&c.order, MAPLE_POLICY_POS, i);
		control(&s, &c, false);
		c = schedule_of(&s, &was);
		c.nlist = c.nlist * (i + 1) / 12;
		order_by(&c.order, MAPLE_POLICY_LIST, i + 1000);
		c.order.behind = 1 + MAPLE_POLICY_POS;
		control(&s, &c, i & 1);
		assert_int_equal(s.run.counts.missed, 0);
		for (uint32_t k = 0; k < c.nlist; k++)
			assert_true(same_switch(&s.run.decided[k],
						&was.decided[k]));
		replay(&s);
		maple_run_deinit(&was);
	}
	close_stage(&s);
}

/* Sites that are left alone are no points; the stem is made anew for others. */
static void test_sites_can_be_left_alone(void **state)
{
	struct maple_run_control c = { 0 };
	struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
	};
	uint64_t points;
	uint8_t alone[4096];
	struct stage s;
	struct maple_error err;

	memset(alone, 1, sizeof(alone));
	open_stage(&s, "control/the_queue", NULL);
	control(&s, &c, false);
	points = s.run.counts.points;
	order.in = order.out = order.err = open("/dev/null", O_RDWR);
	for (unsigned int i = 0; i < 40; i++) {
		order.alone = i % 20 < 10 ? NULL : alone;
		order.nalone = sizeof(alone);
		maple_run_deinit(&s.run);
		assert_int_equal(maple_backend_run(s.play->alone.backend, NULL,
						   &order, &sink, &s.run, &err),
				 0);
		if (order.alone)
			assert_true(s.run.counts.points < points / 2);
		else
			assert_int_equal(s.run.counts.points, points);
	}
	close(order.in);
	close_stage(&s);
}

static void refuse(struct stage *s, const struct maple_run_control *control,
		   int error)
{
	const struct maple_run_sink sink = { 0 };
	struct maple_run_order order = { .kind = MAPLE_RUN_CONTROL,
					 .control = control };
	struct maple_error err;

	assert_int_equal(maple_backend_run(s->play->alone.backend, NULL, &order,
					   &sink, &s->run, &err),
			 -error);
	assert_true(strlen(err.text) > 10);
}

static void test_what_cannot_be_is_refused(void **state)
{
	struct maple_policy_switch call = { .site = MAPLE_SITE_CALL | 77,
					    .hit = 1 };
	struct maple_run_control c = { 0 };
	struct stage s;

	open_stage(&s, "control/account", NULL);
	c.order.policy = MAPLE_POLICIES;
	refuse(&s, &c, EINVAL);
	c.order.policy = MAPLE_POLICY_PCT;
	c.order.nchanges = MAPLE_POLICY_CHANGES + 1;
	refuse(&s, &c, EINVAL);
	refuse(&s, NULL, EINVAL);
	c.order = (struct maple_policy_order){ .policy = MAPLE_POLICY_LIST,
					       .behind = 1 + MAPLE_POLICY_LIST };
	refuse(&s, &c, EINVAL);
	/* Of a call that nobody knows. */
	c = (struct maple_run_control){ .order.policy = MAPLE_POLICY_LIST,
					.list = &call,
					.nlist = 1 };
	refuse(&s, &c, ENOENT);
	c.nlist = 0;
	s.play->alone.cpu.shared = true;
	refuse(&s, &c, EBUSY);
	s.play->alone.cpu.shared = false;
	control(&s, &c, false);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_clean_ones_stay_clean),
		T(test_time_is_the_runs_own),
		T(test_timeouts_may_come_early),
		T(test_real_time_goes_by),
		T(test_whole_schedules_repeat),
		T(test_list_outlives_its_backend),
		T(test_deadlock_is_known_at_once),
		T(test_a_policy_goes_on_behind),
		T(test_sites_can_be_left_alone),
		T(test_what_cannot_be_is_refused),
		T(test_pos_finds_and_lists_repeat),
		T(test_each_policy_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
