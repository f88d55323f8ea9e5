// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Reports: what a finding looks like, and that JSON loses nothing of it.
 *
 * beside: guests
 */
#include "report_rig.h"

static struct maple_edge edges[2];

static const char *text(const struct maple_report_style *style)
{
	FILE *out = open_buffer();

	maple_report_text(out, &finding, style);
	fclose(out);
	return buffer;
}

static void a_finding_in_unicode(void **state)
{
	static const struct maple_report_style style = { .unicode = true };

	assert_string_equal(
		text(&style),
		"BUG: maple: SIGSEGV in consume / close_queue\n"
		"\n"
		"In this order, idiom 2:\n"
		"\n"
		"  thread 0.1                              thread 0 (main)\n"
		"\n"
		"  1 queue.c:41 consume\n"
		"    reads queue\n"
		"      └─────────────────────────────────▶ 2 queue.c:57"
		" close_queue\n"
		"                                            writes queue\n"
		"  3 queue.c:43 consume ◀──────────────────────┘\n"
		"    reads queue\n"
		"\n"
		"What happened: signal 11 (SIGSEGV), address 0x8\n"
		"  thread 0.1 was running:\n"
		"    #0  queue.c:43 consume (queue+0x1234)\n"
		"    #1  0xdeadbeefcafef00d\n"
		"\n"
		"Control: forced 5/5 fails, reversed 0/5\n"
		"Command: ./queue a b ?\xf4\x8f\xbe\x80\n"
		"Replay: mapletest replay 3fa9c1\n"
		"SUMMARY: maple: SIGSEGV in consume / close_queue\n");
}

/* Idiom 5: both arrows cross, and each starts above another moment. */
static void crossing_arrows_in_ascii(void **state)
{
	static const struct maple_report_style style = { .width = 80 };

	moments[0] = (struct maple_moment){ place("f", 1), 'L', 0, "0.1",
					    "a",	   0,	0, -1 };
	moments[1] = (struct maple_moment){ place("g", 2), 'L', 1, "0.2",
					    "b",	   0,	2, -1 };
	moments[2] = (struct maple_moment){
		place("g", 3), 'L', 1, "0.2", "a", 0, 1, 0, 0, MAPLE_REACH_NOW
	};
	moments[3] = (struct maple_moment){
		place("f", 4), 'L', 0, "0.1", "b", 0, 3, 1, 0, MAPLE_REACH_NOW
	};
	finding.nmoments = 4;
	finding.class = "deadlock";
	finding.kind = MAPLE_FAILURE_DEADLOCK;
	finding.what = "deadlock";
	finding.flipped_fails = 2;
	stacks[0].state = "waits for mutex b, held by 0.2";
	assert_string_equal(
		text(&style),
		"BUG: maple: SIGSEGV in consume / close_queue\n"
		"\n"
		"In this order, deadlock:\n"
		"\n"
		"  thread 0.1                              thread 0.2\n"
		"\n"
		"  1 queue.c:1 f\n"
		"    locks a\n"
		"      |                                   2 queue.c:2 g\n"
		"      |                                     locks b\n"
		"      `---------------------------------> 3 queue.c:3 g\n"
		"                                            waits for a\n"
		"  4 queue.c:4 f <--------------2--------------'\n"
		"    waits for b\n"
		"\n"
		"What happened: deadlock\n"
		"  thread 0.1 waits for mutex b, held by 0.2:\n"
		"    #0  queue.c:43 consume (queue+0x1234)\n"
		"    #1  0xdeadbeefcafef00d\n"
		"  thread 0:\n"
		"    (its stack is not known)\n"
		"\n"
		"Control: forced 5/5 fails, reversed 2/5\n"
		"The reversed order fails as well: it is not the cause.\n"
		"Command: ./queue a b ??\n"
		"Replay: mapletest replay 3fa9c1\n"
		"SUMMARY: maple: SIGSEGV in consume / close_queue\n");
	finding.serial_runs = 5;
	assert_non_null(strstr(
		text(&style),
		"Control: forced 5/5 fails, reversed 2/5, one thread after the "
		"other 0/5\n"
		"The reversed order fails as well: it is not the cause.\n"
		"One thread after the other, the older first, does not fail.\n"));
	finding.serial_fails = 1;
	assert_non_null(strstr(text(&style),
			       "the other 1/5\n"
			       "The reversed order fails as well: it is not "
			       "the cause.\n"
			       "So does one thread after the other.\n"));
}

static unsigned int widest(const char *s)
{
	unsigned int most = 0;

	for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
		unsigned int width = 0;

		for (const char *p = s; *p && *p != '\n'; p++)
			width += (*p & 0xc0) != 0x80;
		most = width > most ? width : most;
	}
	return most;
}

static void long_names_stay_within_the_width(void **state)
{
	struct maple_report_style style = { .unicode = true };
	char name[300];

	memset(name, 'n', sizeof(name));
	name[299] = 0;
	for (int i = 0; i < 3; i++)
		moments[i].place.function = moments[i].variable = name;
	frames[0].place.function = name;
	for (unsigned int width = 40; width <= 200; width += 20) {
		style.width = width;
		assert_in_range(widest(text(&style)), 70,
				width < 80    ? 80
				: width > 120 ? 120
					      : width);
	}
}

static void nothing_of_the_target_reaches_the_terminal_raw(void **state)
{
	struct maple_report_style style = { .unicode = true, .output = true };

	moments[0].variable = "a\033]0;x\a\xc2\x9b\xff\xe2\x80\xae\xc3\xa9";
	finding.title = "\033[31m";
	text(&style);
	assert_null(strchr(buffer, '\033'));
	assert_null(strchr(buffer, '\a'));
	assert_non_null(strstr(buffer, "reads a?]0;x????\xc3\xa9\n"));
	assert_non_null(strstr(buffer, "  | line\n  | ?[31mred\n"));
	style.output = style.unicode = false;
	text(&style);
	assert_null(strstr(buffer, "  | "));
	for (const char *p = buffer; *p; p++)
		assert_in_range(*p, '\n', '~');
}

/* Nor what a binary has in it, which nobody has run yet. */
static void nothing_of_the_binary_reaches_the_terminal_raw(void **state)
{
	static const struct maple_report_style style = { .unicode = true };
	struct maple_static_place_pair pair = {
		.function = { (char *)"\033[31mf", (char *)"g\a" },
		.file = { (char *)"a/\033]0;x\a.c", NULL },
		.line = { 1, 2 },
		.variable = (char *)"v\033\xc2\x9b",
	};
	const struct maple_unreached map = {
		.met = { [MAPLE_MET_UNEXECUTED] = 1 }, .pair = &pair, .n = 1
	};
	FILE *out = open_buffer();

	maple_report_unreached(out, &map, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "[31mf"));
	assert_null(strchr(buffer, '\033'));
	assert_null(strchr(buffer, '\a'));
	assert_null(strstr(buffer, "\xc2\x9b"));
}

/* Each group under a line of its own, and of one order which it was. */
static void a_map_tells_what_was_in_which_order(void **state)
{
	static const struct maple_report_style style = { 0 };
	struct maple_static_place_pair pair[4] = { 0 };
	const struct maple_unreached map = { .met = { 1, 1, 1, 1 },
					     .observed = true,
					     .debug = true,
					     .pair = pair,
					     .n = 4 };
	FILE *out = open_buffer();

	for (unsigned int i = 0; i < 4; i++) {
		pair[i] = (struct maple_static_place_pair){
			.function = { (char *)"f", (char *)"g" },
			.file = { (char *)"a/f.c", (char *)"a/g.c" },
			.line = { 10 + i, 20 + i },
			.variable = (char *)"v",
			.executed = { true, i > 0 },
			.seen = i,
			.later = 0,
		};
	}
	maple_report_unreached(out, &map, &style);
	fclose(out);
	assert_string_equal(
		strchr(buffer, '\n'),
		"\n       4  in all\n"
		"       3  with both ends executed by some run\n"
		"       1    in both orders, one end right after the other\n"
		"       1    in one order only\n"
		"       1    never right after each other\n"
		"       1  with an end that no run has executed\n"
		"\nto reach these, write a test that calls the two from two"
		" threads; no run has executed\nlines with a *\n"
		"f (f.c) and g (g.c)\n    v: 10 and 20*\n"
		"\nruns have executed these, and never one right after the"
		" other in two threads\n"
		"f (f.c) and g (g.c)\n    v: 11 and 21\n"
		"\nof these runs have shown one order, and not the other\n"
		"f (f.c) and g (g.c)\n    v: 22 before 12\n");
}

/* A library's code at the user's line: a row more, and the arrow is longer. */
static void what_was_inlined_stands_below_the_users_line(void **state)
{
	static const struct maple_report_style style = { .unicode = true };

	moments[0].place.function = "store::front::Counter::add_and_keep";
	moments[0].place.inlined = "std::__atomic_base::load";
	moments[0].place.inlined_file = "/usr/include/c++/12/atomic_base.h";
	moments[0].place.inlined_line = 488;
	frames[0].place = moments[0].place;
	text(&style);
	assert_non_null(strstr(buffer,
			       "  1 queue.c:41 Counter::add_and_keep\n"
			       "    reads queue\n"
			       "    inlined atomic_base.h:488 load\n"
			       "      └─────────────────────────────────▶ 2 "));
	assert_non_null(strstr(buffer, "    #0  queue.c:41 "
				       "store::front::Counter::add_and_keep "
				       "(queue+0x1234)\n"
				       "          inlined atomic_base.h:488 "
				       "std::__atomic_base::load\n"));
}

static void who_called_stands_below(void **state)
{
	static const struct maple_report_style style = { .unicode = true };

	moments[0].callers = "show:31, reader:37";
	text(&style);
	assert_non_null(strstr(buffer,
			       "    reads queue\n"
			       "    called from show:31, reader:37\n"
			       "      └─────────────────────────────────▶ 2 "));
}

static void replays_without_an_order_are_told(void **state)
{
	static const struct maple_report_style style = { .unicode = true };
	struct maple_finding *const list[] = { &finding };
	FILE *out;

	finding.class = NULL;
	finding.nmoments = 0;
	finding.forced_fails = 0;
	assert_non_null(strstr(text(&style),
			       "without any order being forced. Replayed: 0/5 "
			       "fail: not reproduced by the same schedule.\n"));
	out = open_buffer();
	maple_report_list(out, list, 1, &style);
	fclose(out);
	assert_non_null(strstr(buffer, "(replayed 0/5, seen 1)"));
	finding.forced_fails = 2;
	assert_non_null(strstr(text(&style),
			       "Replayed: 2/5 fail by the same schedule.\n"));
	finding.forced_runs = 0;
	assert_non_null(strstr(text(&style), "there is nothing to reverse.\n"));
}

static void an_order_that_does_not_fail_again_is_told(void **state)
{
	static const struct maple_report_style style = { .unicode = true };

	assert_null(strstr(text(&style), "not reproduced"));
	finding.forced_fails = 0;
	assert_non_null(strstr(text(&style),
			       "Control: forced 0/5 fails, reversed 0/5\n"
			       "It did not fail again: not reproduced.\n"));
	finding.class = NULL;
	finding.switches = "0.1 goes on";
	assert_non_null(strstr(text(&style),
			       "with one of them left out 0/5\n"
			       "It did not fail again: not reproduced.\n"));
}

/* Of what says itself what is wrong, the end; of the rest, when asked. */
static void what_was_printed_is_shown(void **state)
{
	struct maple_report_style style = { .unicode = true };
	char output[1024] = "";

	for (int i = 1; i <= 30; i++)
		sprintf(output + strlen(output), "line %d\n", i);
	finding.output = output;
	assert_null(strstr(text(&style), "printed"));
	finding.kind = MAPLE_FAILURE_EXIT;
	assert_non_null(
		strstr(text(&style),
		       "\nWhat the program printed, the last 20 of 30 lines "
		       "(--verbose: all):\n  | line 11\n"));
	assert_null(strstr(buffer, "| line 10\n"));
	assert_non_null(strstr(buffer, "  | line 30\n\n"));
	style.output = true;
	assert_non_null(strstr(text(&style),
			       "\nWhat the program printed:\n  | line 1\n"));
	finding.kind = MAPLE_FAILURE_ORACLE;
	finding.output = NULL;
	finding.oracle = "no end of line";
	assert_non_null(
		strstr(text(&style),
		       "\nWhat the oracle printed:\n  | no end of line\n\n"));
}

static void colour_only_when_asked(void **state)
{
	struct maple_report_style style = { .colour = true };

	assert_non_null(strstr(text(&style), "\033[1;31mBUG: maple: "));
	style.colour = false;
	assert_null(strchr(text(&style), '\033'));
}

static void set_cycle(void)
{
	edges[0] = (struct maple_edge){ "0.1",		"b",   0x2000,
					place("f", 13), "0.2", place("g", 21) };
	edges[1] = (struct maple_edge){ "0.2",		"a",   0x1000,
					place("g", 22), "0.1", place("f", 12) };
	finding.kind = MAPLE_FAILURE_DEADLOCK;
	finding.class = NULL;
	finding.nmoments = 0;
	finding.title = "deadlock in f / g";
	finding.what = "deadlock: every thread waits for another";
	finding.output = NULL;
	finding.nedges = 2;
	finding.edges = edges;
	stacks[0].state = "waits for b at queue.c:13, held by 0.2 since "
			  "queue.c:21";
	stacks[0].nframes = 1;
	finding.nstacks = 1;
}

static void a_cycle_of_locks(void **state)
{
	static const struct maple_report_style style = { .unicode = true };

	set_cycle();
	assert_string_equal(
		text(&style),
		"BUG: maple: deadlock in f / g\n"
		"\n"
		"What happened: deadlock: every thread waits for another\n"
		"  0.1 holds a (queue.c:12), waits for b (queue.c:13),"
		" held by 0.2\n"
		"  0.2 holds b (queue.c:21), waits for a (queue.c:22),"
		" held by 0.1\n"
		"  thread 0.1 waits for b at queue.c:13, held by 0.2 since"
		" queue.c:21:\n"
		"    #0  queue.c:43 consume (queue+0x1234)\n"
		"\n"
		"It failed without any order being forced. Replayed: 5/5 fail"
		" by the same schedule.\n"
		"Command: ./queue a b ?\xf4\x8f\xbe\x80\n"
		"Replay: mapletest replay 3fa9c1\n"
		"SUMMARY: maple: deadlock in f / g\n");
	/* A lock taken twice. */
	finding.nedges = 1;
	edges[0].holder = "0.1";
	edges[0].since = place("f", 12);
	assert_non_null(strstr(text(&style),
			       "  0.1 holds b (queue.c:12), waits for b "
			       "(queue.c:13), held by itself\n"));
}

static void a_cycle_comes_back_from_json(void **state)
{
	struct maple_finding *back;
	char *json, *again;

	set_cycle();
	json = maple_report_finding_encode(&finding);
	assert_non_null(json);
	assert_int_equal(maple_report_finding_decode(json, &back, NULL), 0);
	again = maple_report_finding_encode(back);
	assert_string_equal(json, again);
	assert_int_equal(back->nedges, 2);
	assert_string_equal(back->edges[0].holder, "0.2");
	assert_string_equal(back->edges[1].variable, "a");
	assert_int_equal(back->edges[0].place.line, 13);
	assert_int_equal(back->edges[1].since.line, 12);
	assert_true(back->edges[0].address == 0x2000);
	maple_finding_destroy(back);
	free(json);
	free(again);
}

static void a_finding_comes_back_from_json_as_it_was(void **state)
{
	struct maple_finding *back;
	char *json = maple_report_finding_encode(&finding), *again;
	struct maple_error err = { "" };

	assert_non_null(json);
	assert_int_equal(maple_report_finding_decode(json, &back, &err), 0);
	again = maple_report_finding_encode(back);
	assert_string_equal(json, again);
	assert_string_equal(back->id, finding.id);
	assert_int_equal(back->kind, MAPLE_FAILURE_SIGNAL);
	assert_true(back->seed == finding.seed);
	assert_true(back->address == UINT64_MAX);
	assert_string_equal(back->argv[2], argv[2]);
	assert_null(back->argv[3]);
	assert_string_equal(back->output, finding.output);
	assert_null(back->cwd);
	assert_int_equal(back->forced_fails, 5);
	assert_int_equal(back->nmoments, 3);
	assert_int_equal(back->moments[2].from, 1);
	assert_int_equal(back->moments[1].kind, 'W');
	assert_int_equal(back->moments[0].place.offset, 0x1234);
	assert_int_equal(back->nstacks, 2);
	assert_true(back->stacks[0].failed && !back->stacks[1].failed);
	assert_true(back->stacks[0].frames[1].pc == 0xdeadbeefcafef00d);
	maple_finding_destroy(back);
	free(json);
	free(again);
}

/* Two orders of one run; of the second, a step that died and one that waits. */
/* Three threads, and no column is wide enough for what they do. */
static void a_column_for_each_thread(void **state)
{
	static const struct maple_report_style style = { .unicode = true };
	static const struct maple_report_style wide = { .width = 120 };

	moments[0] = (struct maple_moment){ place("put", 1), 'W', 0, "0.1",
					    "size",	     0,	  0, -1 };
	moments[1] = (struct maple_moment){ place("get", 2), 'R', 1, "0.2",
					    "size",	     0,	  1, 0 };
	moments[2] = (struct maple_moment){ place("drop", 3), 'W', 2, "0",
					    "entries",	      0,   2, 1 };
	moments[3] = (struct maple_moment){ place("put", 4), 'R', 0, "0.1",
					    "entries",	     0,	  3, 2 };
	finding.nmoments = 4;
	finding.class = "pattern 9";
	assert_non_null(strstr(
		text(&style),
		"In this order, pattern 9:\n"
		"\n"
		"  thread 0.1              thread 0.2              thread 0"
		" (main)\n"
		"\n"
		"  1 queue.c:1 put\n"
		"    writes size\n"
		"      └─────────────────▶ 2 queue.c:2 get\n"
		"                            reads size\n"
		"                              └─────────────────▶ 3 queue.c:3"
		" drop\n"
		"                                                    writes"
		" entries\n"
		"      ▼───────────────────────────────────────────────┘\n"
		"  4 queue.c:4 put\n"
		"    reads entries\n"));
	assert_non_null(strstr(
		text(&wide),
		"                                              "
		"`---------------------------------> 3 queue.c:3 drop\n"
		"                                                             "
		"                       writes entries\n"
		"  4 queue.c:4 put <-------------------------------------------"
		"------------------------'\n"
		"    reads entries\n"));
	/* Forty stand further to the right than a terminal is wide. */
	moments[3].role = 39;
	assert_non_null(strstr(text(&style), " 4 queue.c:4 put\n"));
}

static void set_two_orders(void)
{
	moments[0] = (struct maple_moment){ place("f", 1), 'R',	   0, "0.1",
					    "a",	   0x1000, 0, -1 };
	moments[1] = (struct maple_moment){ place("g", 2), 'W',	   1, "0.2",
					    "a",	   0x1000, 1, 0 };
	moments[2] = (struct maple_moment){ place("f", 3), 'W', 0, "0.1",
					    "c->size",	   8,	0, -1 };
	moments[3] = (struct maple_moment){ place("g", 4), 'R', 1, "0.2",
					    "c->size",	   0,	1, 2 };
	moments[0].value = "1";
	moments[1].value = "3";
	moments[1].was = "1";
	moments[0].type = moments[1].type = "int";
	moments[2].order = moments[3].order = 1;
	moments[2].reach = MAPLE_REACH_NOW;
	moments[3].reach = MAPLE_REACH_NOT;
	moments[2].type = moments[3].type = "size_t";
	moments[2].origin = "malloc at c.c:7 + 8";
	stacks[0].before = "it had read stop = 0 at queue.c:12; 0.2 wrote 1 to"
			   " it at queue.c:40, after that";
	finding.nmoments = 4;
}

static void all_orders_of_a_run_with_what_was_reached(void **state)
{
	static const struct maple_report_style style = { .width = 80 };

	set_two_orders();
	assert_non_null(strstr(
		text(&style),
		"In this order, idiom 2:\n"
		"\n"
		"  thread 0.1                              thread 0.2\n"
		"\n"
		"  1 queue.c:1 f\n"
		"    reads a = 1\n"
		"      `---------------------------------> 2 queue.c:2 g\n"
		"                                            writes a = 3"
		" (was 1)\n"
		"\n"
		"Then, in the same run, in this order:\n"
		"\n"
		"  thread 0.1                              thread 0.2\n"
		"\n"
		"  1 queue.c:3 f\n"
		"    was writing c->size\n"
		"      `---------------------------------> 2 queue.c:4 g\n"
		"                                            not reached: reads"
		" c->size\n"
		"\n"
		"  a: int\n"
		"  c->size: size_t (malloc at c.c:7 + 8)\n"
		"\n"
		"What happened:"));
	assert_non_null(strstr(
		buffer,
		"  thread 0.1 was running:\n"
		"    it had read stop = 0 at queue.c:12; 0.2 wrote 1 to it at"
		" queue.c:40, after\n"
		"      that\n"));
}

static void names_too_long_for_a_column_keep_end_and_value(void **state)
{
	static const struct maple_report_style style = { .width = 80 };

	set_two_orders();
	moments[1].variable = "main: accounts.of[1].the_bank.balance";
	assert_non_null(
		strstr(text(&style), " writes ~.of[1].the_bank.balance = 3\n"));
}

static void orders_come_back_from_json(void **state)
{
	struct maple_error err = { "" };
	struct maple_finding *back;
	json_t *object;
	char *json;

	set_two_orders();
	json = maple_report_finding_encode(&finding);
	object = json_loads(json, 0, NULL);
	/* The iRoot is the first one's. */
	assert_int_equal(json_array_size(json_object_get(object, "iroot")), 2);
	json_decref(object);
	assert_int_equal(maple_report_finding_decode(json, &back, &err), 0);
	assert_int_equal(back->nmoments, 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(back->moments[i].order, moments[i].order);
		assert_int_equal(back->moments[i].reach, moments[i].reach);
		assert_string_equal(back->moments[i].type, moments[i].type);
	}
	assert_string_equal(back->moments[1].value, "3");
	assert_string_equal(back->moments[1].was, "1");
	assert_string_equal(back->moments[2].origin, moments[2].origin);
	assert_string_equal(back->stacks[0].before, stacks[0].before);
	maple_finding_destroy(back);
	free(json);
}

/* Before there was "reached", the last two locks of a deadlock were never had. */
static void an_older_deadlock_still_waits(void **state)
{
	struct maple_error err = { "" };
	struct maple_finding *back;

	assert_int_equal(
		maple_report_finding_decode(
			"{\"id\":\"1\",\"kind\":\"deadlock\",\"title\":\"t\","
			"\"idiom\":7,\"moments\":[{\"kind\":\"L\",\"event\":0},"
			"{\"kind\":\"L\",\"event\":1}]}",
			&back, &err),
		0);
	assert_int_equal(back->moments[0].reach, MAPLE_REACH_DONE);
	assert_int_equal(back->moments[1].reach, MAPLE_REACH_NOW);
	assert_string_equal(back->class, "deadlock");
	maple_finding_destroy(back);
	assert_int_equal(
		maple_report_finding_decode(
			"{\"id\":\"1\",\"kind\":\"exit\",\"title\":\"t\","
			"\"moments\":[{\"kind\":\"R\",\"reached\":\"so\"}]}",
			&back, &err),
		-EBADMSG);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_finding_in_unicode),
		TEST(crossing_arrows_in_ascii),
		TEST(a_column_for_each_thread),
		TEST(all_orders_of_a_run_with_what_was_reached),
		TEST(names_too_long_for_a_column_keep_end_and_value),
		TEST(orders_come_back_from_json),
		TEST(an_older_deadlock_still_waits),
		TEST(long_names_stay_within_the_width),
		TEST(nothing_of_the_target_reaches_the_terminal_raw),
		TEST(nothing_of_the_binary_reaches_the_terminal_raw),
		TEST(a_map_tells_what_was_in_which_order),
		TEST(what_was_inlined_stands_below_the_users_line),
		TEST(who_called_stands_below),
		TEST(replays_without_an_order_are_told),
		TEST(an_order_that_does_not_fail_again_is_told),
		TEST(what_was_printed_is_shown),
		TEST(colour_only_when_asked),
		TEST(a_cycle_of_locks),
		TEST(a_cycle_comes_back_from_json),
		TEST(a_finding_comes_back_from_json_as_it_was),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(buffer);
	return failed;
}
