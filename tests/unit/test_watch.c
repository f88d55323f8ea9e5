// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What mapled watch decides: what a line says, what a stretch has cost, how long
 * the pause behind it is, whose turn it is, and that its knowledge survives.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../daemon/watch/line.h"
#include "../../daemon/watch/price.h"
#include "../../daemon/watch/state.h"

static struct maple_watch_state state, again;

static void assert_near(double is, double wanted)
{
	if (is < wanted - 1e-6 || is > wanted + 1e-6)
		fail_msg("%f is not %f", is, wanted);
}

/* ---- lines ---- */

static void a_line_says_what_is_left_open(void **unused)
{
	struct maple_watch_lines lines = { 0 };
	const struct maple_watch_line *l;

	assert_null(maple_watch_lines_add(&lines, "root /usr/sbin/nginx"));
	assert_null(maple_watch_lines_add(
		&lines, "root\t/opt/*/server  force share=0.5% processes=3 "
			"stretch=2.5s"));
	assert_int_equal(lines.n, 2);
	l = &lines.line[0];
	assert_string_equal(l->user, "root");
	assert_string_equal(l->glob, "/usr/sbin/nginx");
	assert_near(l->share, 0.01);
	assert_near(l->stretch, 5);
	assert_int_equal(l->processes, 16);
	assert_false(l->force);
	l = &lines.line[1];
	assert_string_equal(l->glob, "/opt/*/server");
	assert_near(l->share, 0.005);
	assert_near(l->stretch, 2.5);
	assert_int_equal(l->processes, 3);
	assert_true(l->force);
	maple_watch_lines_deinit(&lines);
}

static void a_user_who_is_removed_is_told_of_and_no_mistake(void **unused)
{
	struct maple_watch_lines lines = { 0 };
	size_t at = 0;

	assert_null(maple_watch_lines_add(&lines, "no-one-at-all /bin/true"));
	assert_null(maple_watch_lines_add(&lines, "root /bin/true"));
	assert_null(maple_watch_lines_add(&lines, "no-one-again /bin/true"));
	assert_string_equal(maple_watch_lines_stranger(&lines, &at),
			    "no-one-at-all");
	assert_string_equal(maple_watch_lines_stranger(&lines, &at),
			    "no-one-again");
	assert_null(maple_watch_lines_stranger(&lines, &at));
	maple_watch_lines_deinit(&lines);
}

static void what_makes_no_sense_is_no_line(void **unused)
{
	static const char *const wrong[] = {
		"",
		"root",
		"/bin/true root",
		"root bin/true",
		"root /bin/true share=",
		"root /bin/true share=%",
		"root /bin/true share=0.001%",
		"root /bin/true share=101%",
		"root /bin/true share=nan%",
		"root /bin/true share=1",
		"root /bin/true share=0x1%",
		"root /bin/true share=1.2.3%",
		"root /bin/true stretch=0s",
		"root /bin/true stretch=5",
		"root /bin/true stretch=601s",
		"root /bin/true processes=0",
		"root /bin/true processes=65",
		"root /bin/true processes=1.5",
		"root /bin/true processes=",
		"root /bin/true Force",
		"root /bin/true /bin/false",
	};
	struct maple_watch_lines lines = { 0 };
	char text[400] = "root /";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (!maple_watch_lines_add(&lines, wrong[i]))
			fail_msg("'%s' is taken", wrong[i]);
	memset(text + strlen(text), 'x', 300);
	assert_non_null(maple_watch_lines_add(&lines, text));
	assert_int_equal(lines.n, 0);
}

static void a_line_is_there_once_and_there_is_an_end(void **unused)
{
	struct maple_watch_lines lines = { 0 };
	char text[64];

	for (int i = 0; i < MAPLE_WATCH_LINES; i++) {
		snprintf(text, sizeof(text), "root /bin/%d", i);
		assert_null(maple_watch_lines_add(&lines, text));
		assert_non_null(maple_watch_lines_add(&lines, text));
	}
	assert_non_null(maple_watch_lines_add(&lines, "root /bin/more"));
	assert_int_equal(lines.n, MAPLE_WATCH_LINES);
	maple_watch_lines_deinit(&lines);
}

/* ---- price ---- */

static void what_is_beyond_the_habit_was_lost(void **unused)
{
	/* It uses half a CPU and waits a tenth of the time, for 100 s. */
	const struct maple_price_sample before = { 1000, 50, 10 };
	const struct maple_price_sample begin = { 1100, 100, 20 };
	const struct maple_price_sample as_ever = { 1110, 105, 21 };
	const struct maple_price_sample more = { 1110, 107, 24 };
	const struct maple_price_sample idle = { 1110, 100, 20 };
	const struct maple_price_sample fewer = { 1110, 60, 23 };

	assert_near(maple_price_lost(&before, &begin, &as_ever), 0);
	assert_near(maple_price_lost(&before, &begin, &more), 2 + 3);
	/* Less of one does not pay for more of the other. */
	assert_near(maple_price_lost(&before, &begin, &idle), 0);
	assert_near(maple_price_lost(&before, &begin, &fewer), 2);
	/* Without a habit it is all ours; threads that ended took theirs along. */
	assert_near(maple_price_lost(&begin, &begin, &more), 7 + 4);
	assert_near(maple_price_lost(&begin, &fewer, &more), 47 + 1);
}

static void the_pause_keeps_the_average(void **unused)
{
	/* 0.5 s of CPU within 5 s: 1 % of 50 s. */
	assert_near(maple_price_pause(0.5, 5, 0.01), 45);
	assert_near(maple_price_pause(0.5, 5, 0.001), 495);
	assert_near(maple_price_pause(20, 5, 1), 15);
	/* It was cheap; but never one right behind the other. */
	assert_near(maple_price_pause(0.01, 5, 0.5), 1);
	assert_near(maple_price_pause(0, 0, 0.01), 1);
}

static void a_process_is_looked_at(void **unused)
{
	struct maple_price_sample first, second;
	volatile unsigned int work = 0;

	assert_true(maple_price_look(getpid(), &first));
	do {
		for (unsigned int i = 0; i < 1000000; i++)
			work = work + i;
		assert_true(maple_price_look(getpid(), &second));
	} while (second.used <= first.used);
	assert_true(second.at >= first.at && second.waited >= first.waited);
	assert_false(maple_price_look(-1, &first));
}

/* ---- state ---- */

static struct maple_scan *scan_of(unsigned int n)
{
	static struct maple_scan scan;

	memset(&scan, 0, sizeof(scan));
	scan.n = scan.matching = n;
	for (unsigned int i = 0; i < n; i++)
		scan.process[i] =
			(struct maple_scan_process){ 100 + (pid_t)i, 1000 + i };
	return &scan;
}

static struct maple_watch_entry *one_entry(void)
{
	struct maple_watch_lines lines = { 0 };
	static struct maple_watch_state none;

	assert_null(maple_watch_lines_add(&lines, "root /bin/[ab]* force"));
	maple_watch_state_take(&state, &lines, &none, 5000);
	maple_watch_lines_deinit(&lines);
	assert_int_equal(state.n, 1);
	assert_int_equal(state.entry[0].since, 5000);
	return &state.entry[0];
}

static void each_process_has_its_turn(void **unused)
{
	struct maple_watch_entry *e = one_entry();
	struct maple_watch_process *p;

	assert_null(maple_watch_entry_next(e, 5000));
	maple_watch_entry_update(e, scan_of(3));
	for (int64_t now = 5001; now < 5010; now++) {
		p = maple_watch_entry_next(e, now);
		assert_int_equal(p->is.pid, 100 + (now - 5001) % 3);
		p->last = now;
	}
	/* Another one of the same number is another one. */
	scan_of(3);
	e->process[0].stretches = e->process[1].stretches = 7;
	struct maple_scan *scan = scan_of(2);
	scan->process[1].started++;
	maple_watch_entry_update(e, scan);
	assert_int_equal(e->n, 2);
	assert_int_equal(e->process[0].stretches, 7);
	assert_int_equal(e->process[1].stretches, 0);
	assert_int_equal(maple_watch_entry_next(e, 5010)->is.pid, 101);
}

static void what_fails_is_left_alone_for_longer_each_time(void **unused)
{
	static const int64_t pauses[] = { 60,  120,  240,  480,
					  960, 1920, 3600, 3600 };
	struct maple_watch_entry *e = one_entry();
	int64_t now = 5000;

	maple_watch_entry_update(e, scan_of(1));
	for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
		struct maple_watch_process *p = maple_watch_entry_next(e, now);

		assert_non_null(p);
		maple_watch_process_fail(p, now, "it is\ntraced\033[1m");
		assert_string_equal(p->note, "it is traced [1m");
		assert_null(maple_watch_entry_next(e, now + pauses[i] - 1));
		now += pauses[i];
	}
	assert_non_null(maple_watch_entry_next(e, now));
}

static bool is_process(const struct maple_scan_process *a,
		       const struct maple_scan_process *b)
{
	return a->pid == b->pid && a->started == b->started;
}

static bool is_job(const struct maple_watch_job *a,
		   const struct maple_watch_job *b)
{
	return a->number == b->number && a->began == b->began &&
	       is_process(&a->carrier, &b->carrier) &&
	       is_process(&a->process, &b->process);
}

static void knowledge_survives(void **unused)
{
	char path[] = "/tmp/maple-watch.XXXXXX";
	struct maple_watch_entry *e = one_entry();
	struct maple_watch_lines lines = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	maple_watch_entry_update(e, scan_of(MAPLE_WATCH_PROCESSES));
	maple_watch_process_fail(&e->process[1], 5000, "one word  and another");
	e->spent = 12.5;
	e->due = 6000.25;
	e->stretches = 3;
	e->predicted = UINT64_MAX;
	e->kept = 4;
	e->job = (struct maple_watch_job){ 9, { 5, 6 }, { 7, 8 }, 5001 };
	assert_int_equal(maple_watch_state_write(&state, path, (gid_t)-1), 0);
	assert_int_equal(maple_watch_state_read(&again, path), 0);
	assert_int_equal(again.n, 1);
	assert_true(is_job(&again.entry[0].job, &e->job));
	assert_string_equal(again.entry[0].process[1].note,
			    "one word  and another");
	assert_string_equal(again.entry[0].process[2].note, "");
	assert_int_equal(again.entry[0].process[1].until, 5060);
	assert_int_equal(again.entry[0].n, MAPLE_WATCH_PROCESSES);
	assert_int_equal(again.entry[0].predicted, UINT64_MAX);
	assert_near(again.entry[0].spent, 12.5);
	assert_near(again.entry[0].due, 6000.25);
	/* Other words about the same are the same line; another is none of it. */
	assert_null(maple_watch_lines_add(&lines, "root /bin/x"));
	assert_null(maple_watch_lines_add(&lines, "root /bin/[ab]* share=2%"));
	maple_watch_state_take(&state, &lines, &again, 7000);
	assert_int_equal(state.entry[0].stretches, 0);
	assert_int_equal(state.entry[0].since, 7000);
	assert_int_equal(state.entry[1].stretches, 3);
	assert_int_equal(state.entry[1].since, 5000);
	assert_near(state.entry[1].line.share, 0.02);
	assert_false(state.entry[1].line.force);
	maple_watch_lines_deinit(&lines);
	unlink(path);
}

static void a_damaged_file_is_read_as_far_as_it_goes(void **unused)
{
	char path[] = "/tmp/maple-watch.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	dprintf(fd,
		"process 1 2 3 4 5 6 before any watch\njob 1 2 3 4 5 6\n"
		"watch root /bin/a 0.01 5 16 0 1 2 3 4 5 6 7 8 9 10 11 12 13\n"
		"process 1 2 3\nprocess x\njob 1\nwatch\nwatch root\n%c%c\n"
		"process 1 2 3 4 5 6\n",
		0, 0xff);
	for (int i = 0; i < 200; i++)
		dprintf(fd, "process %d 2 3 4 5 6 note\n", i);
	close(fd);
	assert_int_equal(maple_watch_state_read(&again, path), 0);
	assert_int_equal(again.n, 1);
	assert_int_equal(again.entry[0].n, MAPLE_WATCH_PROCESSES);
	assert_int_equal(again.entry[0].job.number, 0);
	assert_int_equal(again.entry[0].single, 13);
	unlink(path);
	assert_int_not_equal(maple_watch_state_read(&again, path), 0);
	assert_int_equal(again.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_what_is_left_open),
		cmocka_unit_test(
			a_user_who_is_removed_is_told_of_and_no_mistake),
		cmocka_unit_test(what_makes_no_sense_is_no_line),
		cmocka_unit_test(a_line_is_there_once_and_there_is_an_end),
		cmocka_unit_test(what_is_beyond_the_habit_was_lost),
		cmocka_unit_test(the_pause_keeps_the_average),
		cmocka_unit_test(a_process_is_looked_at),
		cmocka_unit_test(each_process_has_its_turn),
		cmocka_unit_test(what_fails_is_left_alone_for_longer_each_time),
		cmocka_unit_test(knowledge_survives),
		cmocka_unit_test(a_damaged_file_is_read_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
