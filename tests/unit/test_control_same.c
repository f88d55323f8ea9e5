// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The same schedule makes the same run: of real programs choice by choice, time
 * after time, whatever else the machine does; and what the kernel does with a
 * thread for a while is no choice.
 */
#include "control_stage.h"

#define TIMES 10    /* by each policy */
#define INPUT 12000 /* bytes, that do not compress well */

static char *made; /* the folder that the programs work in */

static void write_input(const char *name, size_t n)
{
	FILE *f = fopen(name, "we");
	uint32_t word = 1;

	assert_non_null(f);
	for (size_t i = 0; i < n / 8; i++) {
		word = word * 1664525 + 1013904223;
		fprintf(f, "%07x\n", word >> 4 & (i & 1 ? 0xfffffff : 0xfff));
	}
	assert_int_equal(fclose(f), 0);
}

static int make_inputs(void **state)
{
	static char path[] = "/tmp/maple-same-XXXXXX";
	FILE *f;

	made = mkdtemp(path);
	if (!made || chdir(made))
		return -1;
	write_input("text", INPUT);
	f = fopen("threads.py", "we");
	fputs("import threading\n"
	      "done = []\n"
	      "def work(number):\n"
	      "    for i in range(100):\n"
	      "        done.append(number * i)\n"
	      "threads = [threading.Thread(target=work, args=(i,))\n"
	      "           for i in range(3)]\n"
	      "for t in threads:\n"
	      "    t.start()\n"
	      "for t in threads:\n"
	      "    t.join()\n"
	      "print(sum(done), file=open('sums', 'w'))\n",
	      f);
	/* Where its strings lie it draws itself, natively as well. */
	return fclose(f) || setenv("PYTHONHASHSEED", "0", 1);
}

static int remove_inputs(void **state)
{
	char command[64];

	leave_stages(state);
	snprintf(command, sizeof(command), "rm -r %s", made);
	return chdir("/") || system(command);
}

/* Runs it by one policy and seed, and says what differs first. */
static void repeat(struct stage *s, const char *name,
		   struct maple_run_control *c)
{
	struct maple_run first;
	uint32_t k = 0;

	control(s, c, false); /* the others have its output to overwrite */
	control(s, c, false);
	first = s->run;
	s->run = (struct maple_run){ 0 };
	assert_false(first.released);
	assert_int_equal(first.status, 0);
	assert_true(first.counts.points > 0 && first.ndecided > 1);
	for (int i = 1; i < TIMES; i++) {
		control(s, c, false);
		if (same_decisions(&first, &s->run))
			continue;
		while (k < first.ndecided && k < s->run.ndecided &&
		       same_switch(&first.decided[k], &s->run.decided[k]))
			k++;
		fail_msg("%s, policy %u, seed %lu: choice %u differs in run %d",
			 name, c->order.policy, (unsigned long)c->order.seed, k,
			 i + 1);
	}
	assert_int_equal(first.counts.points, s->run.counts.points);
	maple_run_deinit(&first);
}

static void test_real_programs_repeat(void **state)
{
	static char *const programs[][9] = {
		{ "/usr/bin/xz", "-T2", "-1", "--block-size=4KiB", "-k", "-f",
		  "text" },
		{ "/usr/bin/python3", "threads.py" },
	};
	static const enum maple_policy_kind policies[] = { MAPLE_POLICY_POS,
							   MAPLE_POLICY_PCT };
	struct maple_run_control c = { 0 };
	struct stage s = { .play = &plays[0], .budget = 4 };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		alone_open(&s.play->alone, (char **)programs[i]);
		s.play->open = true;
		for (int p = 0; p < 2; p++) {
			order_by(&c.order, policies[p], 1 + i);
			repeat(&s, programs[i][0], &c);
		}
		close_stage(&s);
	}
}

/* Nobody comes between a thread's read and its write for the kernel's sake. */
static void test_who_is_detained_is_waited_for(void **state)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_PCT };
	struct stage s;

	for (int sleeps = 0; sleeps < 2; sleeps++) {
		open_stage(&s, "control/detained", "30");
		s.play->alone.backend->options.sleeps = sleeps;
		/* Whoever has begun goes on, as long as it can. */
		for (int i = 0; i < 8; i++) {
			c.order.seed = i;
			control(&s, &c, false);
			assert_int_equal(s.run.end, MAPLE_END_ITSELF);
			assert_int_equal(s.run.status, 0);
		}
		assert_int_not_equal(search(&s, MAPLE_POLICY_POS, 20), 0);
		close_stage(&s);
	}
}

/* Runs it with no point but @site, and returns the status. */
static int status_by(struct stage *s, uint32_t site)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_PCT };
	struct maple_run_sink sink = { 0 };
	struct maple_run_order order = {
		.kind = MAPLE_RUN_CONTROL,
		.control = &c,
		.timeout = LIMIT,
	};
	uint8_t alone[SITES];
	struct maple_error err;

	memset(alone, 1, sizeof(alone));
	alone[site] = 0;
	order.alone = alone;
	order.nalone = sizeof(alone);
	order.in = order.out = order.err = open("/dev/null", O_RDWR | O_CLOEXEC);
	maple_run_deinit(&s->run);
	if (maple_backend_run(s->play->alone.backend, NULL, &order, &sink,
			      &s->run, &err))
		fail_msg("%s", err.text);
	close(order.in);
	assert_int_equal(s->run.end, MAPLE_END_ITSELF);
	return WEXITSTATUS(s->run.status);
}

/*
 * A replay has few points. Where the one is the first thread's write, what the
 * second one sets is lost each time, since the first has come there before the
 * second was created; and that is so at no other.
 */
static void test_who_is_new_comes_first(void **state)
{
	struct maple_run_control c = { .order.policy = MAPLE_POLICY_PCT };
	unsigned int lost, places = 0;
	struct stage s;

	open_stage(&s, "control/slow_start", NULL);
	s.play->alone.backend->options.sleeps = true;
	control(&s, &c, false); /* its sites are known from here on */
	for (uint32_t site = 0; site < 16; site++) {
		lost = 0;
		for (int i = 0; i < 4; i++)
			lost += status_by(&s, site);
		assert_true(lost == 0 || lost == 4);
		places += lost > 0;
	}
	assert_int_equal(places, 1);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_real_programs_repeat,
					  leave_stages),
		cmocka_unit_test_teardown(test_who_is_detained_is_waited_for,
					  leave_stages),
		cmocka_unit_test_teardown(test_who_is_new_comes_first,
					  leave_stages),
	};

	return cmocka_run_group_tests(tests, make_inputs, remove_inputs);
}
