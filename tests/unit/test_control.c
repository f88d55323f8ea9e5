// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs by the backend, without a campaign: bugs are found by a
 * policy within few runs, and the schedule that a run had, given as a list,
 * makes it again, in forked processes and in executed ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "base/clock.h"
#include "bench/alone.h"

#define REPLAYS 20
#define LIMIT	5 /* seconds for a run */

struct stage {
	struct alone alone;
	char *argv[4];
	char program[4096];
	struct maple_run run; /* the last one */
	uint64_t events;      /* ... of it */
};

/* @name and its argument, or NULL. */
static void open_stage(struct stage *s, const char *name, const char *arg)
{
	char *end;

	*s = (struct stage){ 0 };
	snprintf(s->program, sizeof(s->program), "%s", alone_agent());
	end = strrchr(s->program, '/');
	snprintf(end, s->program + sizeof(s->program) - end, "/tests/%s", name);
	s->argv[0] = s->program;
	s->argv[1] = (char *)arg;
	alone_open(&s->alone, s->argv);
}

static void close_stage(struct stage *s)
{
	maple_run_deinit(&s->run);
	alone_close(&s->alone);
}

static void count_event(void *ctx, const struct maple_event *event)
{
	struct stage *s = ctx;

	s->events++;
}

static void control(struct stage *s, const struct maple_run_control *control,
		    bool fresh)
{
	const struct maple_run_sink sink = { .ctx = s, .event = count_event };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = control,
		.timeout = LIMIT,
		.fresh = fresh,
		.in = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	struct maple_error err;

	order.out = order.err = order.in;
	s->events = 0;
	maple_run_deinit(&s->run);
	if (maple_backend_run(s->alone.backend, NULL, &order, &sink, &s->run,
			      &err))
		fail_msg("%s", err.text);
	close(order.in);
	if (!s->run.delivered)
		fail_msg("%s", s->run.why_not);
}

static bool failed(const struct maple_run *run)
{
	assert_true(run->end == MAPLE_END_ITSELF ||
		    run->end == MAPLE_END_DEADLOCK);
	return run->end == MAPLE_END_DEADLOCK || run->status;
}

/* What can be said of a schedule by a policy alone. */
static void order_by(struct maple_policy_order *o,
		     enum maple_policy_kind policy, uint64_t seed)
{
	*o = (struct maple_policy_order){ .policy = policy, .seed = seed };
	/* Two points of the first ten or so. */
	o->nchanges = 2;
	o->change[0] = 1 + seed % 7;
	o->change[1] = o->change[0] + seed / 7 % 7;
}

/* The first run that fails, of @most; 0: none did. */
static unsigned int search(struct stage *s, enum maple_policy_kind policy,
			   unsigned int most)
{
	struct maple_run_control c = { 0 };

	for (unsigned int i = 1; i <= most; i++) {
		order_by(&c.order, policy, i);
		control(s, &c, false);
		if (failed(&s->run))
			return i;
	}
	return 0;
}

/* The last run's schedule; *@was owns what it is made of. */
static struct maple_run_control schedule_of(struct stage *s,
					    struct maple_run *was)
{
	*was = s->run;
	s->run = (struct maple_run){ 0 };
	assert_int_equal(was->counts.over + was->counts.uncounted, 0);
	return (struct maple_run_control){
		.order.policy = MAPLE_POLICY_LIST,
		.list = was->decided,
		.nlist = was->ndecided,
		.names = was->names,
		.nnames = was->nnames,
	};
}

static bool same_decisions(const struct maple_run *a, const struct maple_run *b)
{
	return a->ndecided == b->ndecided &&
	       !memcmp(a->decided, b->decided,
		       a->ndecided * sizeof(*a->decided));
}

/* The last run again, @REPLAYS times, half of them executed. */
static void replay(struct stage *s)
{
	struct maple_run was;
	struct maple_run_control c = schedule_of(s, &was);

	for (unsigned int i = 0; i < REPLAYS; i++) {
		control(s, &c, i & 1);
		assert_int_equal(s->run.counts.missed, 0);
		assert_int_equal(s->run.end, was.end);
		if (was.end == MAPLE_END_ITSELF)
			assert_int_equal(s->run.status, was.status);
		assert_true(same_decisions(&s->run, &was));
	}
	maple_run_deinit(&was);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pos_finds_and_lists_repeat),
		cmocka_unit_test(test_each_policy_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
