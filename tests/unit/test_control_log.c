// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What the log of a controlled run says: its accesses, as many as a site may
 * record, their values, and what code without sites does to static variables.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "control_stage.h"

/* With the log on, each point that is an access is an event, at least. */
static void test_log_has_the_accesses(void **state)
{
	struct maple_run_control c = { .log = true };
	struct stage s;
	uint64_t all;

	open_stage(&s, "control/the_queue", NULL);
	control(&s, &c, false);
	all = s.events;
	assert_true(all >= s.run.counts.points);
	c.log = false;
	control(&s, &c, false);
	assert_true(s.events < all / 2);
	close_stage(&s);
}

static uint32_t most_of_a_site(const struct stage *s)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < SITES; i++)
		if (s->accesses[i] > most)
			most = s->accesses[i];
	return most;
}

/* What is executed often is a point each time, and logged some times. */
static void test_log_has_a_budget(void **state)
{
	struct maple_run_control c = { .log = true };
	struct stage s;
	uint64_t points;

	open_stage(&s, "targets/fiftieth", NULL);
	order_by(&c.order, MAPLE_POLICY_RW, 1);
	control(&s, &c, false);
	points = s.run.counts.points;
	assert_true(most_of_a_site(&s) > 10);
	assert_int_equal(s.quiet, 0);
	s.budget = 10;
	control(&s, &c, false);
	assert_int_equal(s.run.counts.points, points);
	assert_int_equal(most_of_a_site(&s), 10);
	assert_true(s.quiet >= 1);
	close_stage(&s);
	/* What went quiet before there was a second thread is heard again. */
	open_stage(&s, "control/often", NULL);
	s.budget = 10;
	order_by(&c.order, MAPLE_POLICY_RW, 1);
	control(&s, &c, false);
	assert_true(s.born >= 10);
	close_stage(&s);
}

/* A log with values, and what it says of one thread after the other. */
struct values {
	struct maple_event last[2]; /* the last access, and what stood there */
	unsigned int accesses, writes, holds, releases, entries;
	uint64_t addr, value; /* of the variable that is written most */
};

static void take_value(void *ctx, const struct maple_event *event)
{
	struct values *v = ctx;

	v->holds += event->kind == MAPLE_EV_HOLD;
	v->releases += event->kind == MAPLE_EV_RELEASE;
	v->entries += event->kind == MAPLE_EV_NEXT;
	if (event->kind == MAPLE_EV_STEP) {
		assert_true(maple_event_is_memory(v->last[0].kind));
		assert_int_equal(event->thread, v->last[0].thread);
		if (v->addr == v->last[0].addr)
			assert_int_equal((int)event->value, (int)v->value);
		if (v->last[0].kind == MAPLE_EV_READ)
			assert_int_equal(event->value, v->last[0].value);
		if (v->last[0].kind != MAPLE_EV_READ) {
			v->writes++;
			v->addr = v->last[0].addr;
			v->value = v->last[0].value;
		}
	}
	if (maple_event_is_memory(event->kind)) {
		assert_true(event->flags & MAPLE_EVF_EXACT);
		v->accesses++;
	}
	v->last[0] = *event;
}

/*
 * With values the list makes the same run, though more is patched, and each
 * access says what stood there before and after.
 */
static void test_values(void **state)
{
	struct values v = { 0 };
	const struct maple_run_sink sink = { .ctx = &v, .event = take_value };
	struct maple_run_control c;
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
		.fresh = true,
	};
	struct maple_run was, plain;
	struct maple_error err;
	struct stage s;

	open_stage(&s, "targets/bank_account", NULL);
	assert_in_range(search(&s, MAPLE_POLICY_POS, 200), 1, 200);
	c = schedule_of(&s, &was);
	control(&s, &c, true);
	plain = s.run;
	s.run = (struct maple_run){ 0 };
	c.values = true;
	order.in = order.out = order.err = open("/dev/null", O_RDWR);
	for (unsigned int i = 0; i < REPLAYS; i++) {
		v = (struct values){ 0 };
		maple_run_deinit(&s.run);
		assert_int_equal(maple_backend_run(s.play->alone.backend, NULL,
						   &order, &sink, &s.run, &err),
				 0);
		assert_true(failed(&s.run));
		assert_true(same_decisions(&plain, &s.run));
		assert_true(v.accesses >= 4 && v.writes >= 2);
		assert_true(v.holds && v.holds >= v.releases);
		assert_int_equal(v.entries, s.run.counts.followed);
	}
	/* And the next one has none. */
	c.values = order.fresh = false;
	v = (struct values){ 0 };
	maple_run_deinit(&s.run);
	assert_int_equal(maple_backend_run(s.play->alone.backend, NULL, &order,
					   &sink, &s.run, &err),
			 0);
	assert_true(failed(&s.run));
	assert_int_equal(v.accesses + v.holds + v.entries, 0);
	close(order.in);
	maple_run_deinit(&plain);
	maple_run_deinit(&was);
	close_stage(&s);
}

/* What a run's reads have found. */
struct reads {
	struct maple_event last; /* nobody has written there since */
	unsigned int n, again, unknown;
};

static void take_read(void *ctx, const struct maple_event *event)
{
	struct reads *r = ctx;

	if (!maple_event_is_memory(event->kind))
		return;
	assert_false(event->flags & MAPLE_EVF_EXACT);
	if (event->kind != MAPLE_EV_READ) {
		r->last.size = 0;
		return;
	}
	r->n++;
	r->unknown += !(event->flags & MAPLE_EVF_VALUED);
	if (r->last.addr == event->addr && r->last.size == event->size) {
		assert_int_equal(r->last.value, event->value);
		r->again++;
	}
	r->last = *event;
}

/* What reads find is known when it is asked for, whoever else runs. */
static void test_reads_have_values(void **state)
{
	struct reads r = { 0 };
	const struct maple_run_sink sink = { .ctx = &r, .event = take_read };
	struct maple_run_control c = { .log = true, .reads = true };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
	};
	struct maple_error err;
	struct stage s;

	open_stage(&s, "control/index_stack", NULL);
	order.in = order.out = order.err = open("/dev/null", O_RDWR);
	for (unsigned int i = 0; i < 40; i++) {
		order_by(&c.order, MAPLE_POLICY_POS, i);
		c.reads = i < 30;
		r.unknown = r.n = 0;
		maple_run_deinit(&s.run);
		assert_int_equal(maple_backend_run(s.play->alone.backend, NULL,
						   &order, &sink, &s.run, &err),
				 0);
		assert_true(r.n > 10);
		assert_int_equal(r.unknown, c.reads ? 0 : r.n);
	}
	assert_true(r.again > 10);
	close(order.in);
	close_stage(&s);
}

/* The last write that another thread than main() made to 8 static bytes. */
static void take_static(void *ctx, const struct maple_event *event)
{
	if (event->kind == MAPLE_EV_WRITE && event->thread &&
	    event->size == 8 && !(event->site & MAPLE_SITE_CALL))
		*(uint64_t *)ctx = event->addr;
}

/* What such a run is to watch: what "jit_cell" has in common with made code. */
static uint32_t find_variable(struct stage *s)
{
	uint64_t addr = 0;
	const struct maple_run_sink sink = { .ctx = &addr,
					     .event = take_static };
	struct maple_run_control c = { .log = true };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
		.in = open("/dev/null", O_RDWR | O_CLOEXEC),
	};
	const struct maple_run_image *image;
	struct maple_error err;

	order.out = order.err = order.in;
	maple_run_deinit(&s->run);
	assert_int_equal(maple_backend_run(s->play->alone.backend, NULL, &order,
					   &sink, &s->run, &err),
			 0);
	close(order.in);
	for (unsigned int i = 0; i < s->run.nimages; i++) {
		image = &s->run.images[i];
		if (image->is_main && addr >= image->lo && addr < image->hi)
			return maple_registry_variable(
				s->play->alone.options.registry, image->index,
				addr - image->bias);
	}
	fail_msg("no static variable was written");
	return MAPLE_SITE_NONE;
}

/* Microseconds a run of a program that cannot fail takes, the least of many. */
static double price(struct stage *s, struct maple_run_control *c)
{
	double least = 1, at;

	for (unsigned int i = 0; i < 100; i++) {
		order_by(&c->order, MAPLE_POLICY_POS, i);
		at = maple_clock_now();
		control(s, c, false);
		at = maple_clock_now() - at;
		least = at < least ? at : least;
		assert_false(failed(&s->run));
	}
	return least * 1e6;
}

/* The clean twin, with and without a net. */
static void test_net_finds_nothing(void **state)
{
	struct maple_run_control c = { 0 };
	struct stage s;
	uint32_t net;
	double without;

	open_stage(&s, "control/jit_cell", "locked");
	net = find_variable(&s);
	c.net = &net;
	without = price(&s, &c);
	c.nnet = 1;
	print_message("a run without a net, with one: %.0f, %.0f us\n", without,
		      price(&s, &c));
	replay(&s);
	close_stage(&s);
}

/* Some virtual machines hand out watchpoints that never tell of a hit. */
static bool watchpoints_hit(void)
{
	static volatile uint64_t word;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uint64_t)&word,
		.bp_len = sizeof(word),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t count = 0;

	word++;
	if (fd < 0 || read(fd, &count, sizeof(count)) != sizeof(count))
		count = 0;
	close(fd);
	return count > 0;
}

/*
 * What code without sites does to a variable is a point where that is watched,
 * and a schedule that stops there repeats in another process. Not watched, it
 * is none, and nothing fails.
 */
static void test_unknown_code_is_a_point(void **state)
{
	struct maple_run_control c = { 0 };
	struct stage s;
	uint32_t net;
	unsigned int i;

	if (!watchpoints_hit())
		skip();
	open_stage(&s, "control/jit_cell", NULL);
	net = find_variable(&s);
	c.net = &net;
	for (c.nnet = 0; c.nnet < 2; c.nnet++) {
		for (i = 0; i < 60; i++) {
			order_by(&c.order, MAPLE_POLICY_POS, i);
			control(&s, &c, false);
			if (failed(&s.run))
				break;
		}
		assert_int_equal(i < 60, c.nnet);
	}
	print_message("jit_cell: run %u, %u switches\n", i + 1, s.run.ndecided);
	replay(&s);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_log_has_the_accesses),
		T(test_log_has_a_budget),
		T(test_values),
		T(test_reads_have_values),
		T(test_unknown_code_is_a_point),
		T(test_net_finds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
