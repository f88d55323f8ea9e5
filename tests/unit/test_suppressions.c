// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Suppressions: patterns, what each type looks at, lines that are none.
 *
 * beside: guests
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <maple/suppressions.h>

static char path[] = "/tmp/maple-test-XXXXXX";
static struct maple_error err;

static int make_file(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	return unlink(path);
}

static int read_text(const char *text, size_t n, struct maple_suppressions **s)
{
	FILE *out = fopen(path, "w");

	fwrite(text, 1, n, out);
	fclose(out);
	err.text[0] = 0;
	return maple_suppressions_read(path, s, &err);
}

/* Whether a file of one line suppresses @f. */
static bool suppressed(const char *line, const struct maple_finding *f)
{
	struct maple_suppressions *s;
	const char *by;
	bool matched;

	assert_int_equal(read_text(line, strlen(line), &s), 0);
	by = maple_suppressions_match(s, f);
	matched = by;
	if (by)
		assert_string_equal(by, line);
	maple_suppressions_destroy(s);
	return matched;
}

static struct maple_place place(char *function)
{
	return (struct maple_place){ .image = "/usr/lib/libqueue.so.1",
				     .function = function,
				     .file = "src/queue.c" };
}

static struct maple_moment moments[2];
static struct maple_frame frames[3];
static struct maple_stack stacks[2];
static struct maple_edge edges[2];
static struct maple_finding race, deadlock, hang;

static int setup(void **state)
{
	moments[0] = (struct maple_moment){ .place = place("consume"),
					    .kind = 'R',
					    .variable = "queue_head",
					    .from = -1 };
	moments[1] = (struct maple_moment){ .place = place("close_queue"),
					    .kind = 'W',
					    .variable = "queue_head" };
	for (int i = 0; i < 3; i++)
		frames[i] = (struct maple_frame){
			.place = { .image = "/bin/server", .file = "server.c" }
		};
	frames[0].place.function = "crash";
	frames[1].place.function = "handle";
	frames[2].place.function = "main";
	stacks[0] = (struct maple_stack){ .failed = true,
					  .nframes = 3,
					  .frames = frames };
	stacks[1] = (struct maple_stack){ .nframes = 1, .frames = &frames[2] };
	edges[0] = (struct maple_edge){ .variable = "left",
					.place = place("to_right"),
					.since = place("grab") };
	edges[1] = edges[0];
	race = (struct maple_finding){ .kind = MAPLE_FAILURE_SIGNAL,
				       .class = "idiom 1",
				       .nmoments = 2,
				       .moments = moments,
				       .nstacks = 1,
				       .stacks = stacks };
	deadlock = (struct maple_finding){ .kind = MAPLE_FAILURE_DEADLOCK,
					   .nedges = 2,
					   .edges = edges,
					   .nstacks = 1,
					   .stacks = &stacks[1] };
	hang = (struct maple_finding){ .kind = MAPLE_FAILURE_HANG,
				       .nstacks = 1,
				       .stacks = &stacks[1] };
	return 0;
}

static void patterns_match_anywhere_but_for_anchors(void **state)
{
	static const struct {
		const char *pattern;
		bool matches; /* "consume" */
	} cases[] = {
		{ "consume", true },	  { "onsu", true },
		{ "consumes", false },	  { "^consume$", true },
		{ "^consum$", false },	  { "^onsume", false },
		{ "consum$", false },	  { "sume$", true },
		{ "^c*e$", true },	  { "c*n*u*e", true },
		{ "c*x", false },	  { "*", true },
		{ "^*$", true },	  { "e*$", true },
		{ "^c*um", true },	  { "^*ume$", true },
		{ "c**e", true },	  { "^con*sum$", false },
		{ "con.ume", false },	  { "CONSUME", false },
		{ "a*a*a*a*a*b", false },
	};

	race.nstacks = 0;
	race.nmoments = 1;
	moments[0].variable = NULL;
	moments[0].place.file = moments[0].place.image = NULL;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char line[64];

		snprintf(line, sizeof(line), "race:%s", cases[i].pattern);
		if (suppressed(line, &race) != cases[i].matches)
			fail_msg("%s", line);
	}
	/* A sign within is itself. */
	moments[0].place.function = "a^b$c";
	assert_true(suppressed("race:a^b$c", &race));
}

static void race_looks_at_accesses_and_failed_stacks(void **state)
{
	assert_true(suppressed("race:close_queue", &race));
	assert_true(suppressed("race:queue.c", &race));
	assert_true(suppressed("race:libqueue", &race));
	assert_true(suppressed("race:^queue_head$", &race));
	assert_true(suppressed("race:handle", &race));
	assert_false(suppressed("race:elsewhere", &race));
	stacks[0].failed = false;
	assert_false(suppressed("race:handle", &race));
	assert_false(suppressed("race:*", &deadlock));
	assert_false(suppressed("race:*", &hang));
}

static void a_block_need_not_be_said_which_one(void **state)
{
	moments[0].origin = "malloc at q.c:12 (2nd by 0.1) + 8";
	assert_true(suppressed("race:^malloc at q.c:12 + 8$", &race));
	assert_true(suppressed("race:q.c:12 (2nd by 0.1)", &race));
	assert_false(suppressed("race:q.c:12 (1st by 0.1)", &race));
	assert_false(suppressed("race:^malloc at q.c:12 + 16$", &race));
	edges[0].variable = moments[0].origin;
	assert_true(suppressed("deadlock:^malloc at q.c:12 + 8$", &deadlock));
}

static void race_top_leaves_the_callers_out(void **state)
{
	assert_true(suppressed("race_top:consume", &race));
	assert_true(suppressed("race_top:crash", &race));
	assert_false(suppressed("race_top:handle", &race));
	assert_false(suppressed("race_top:*", &deadlock));
}

static void deadlock_looks_at_locks_and_all_stacks(void **state)
{
	assert_true(suppressed("deadlock:to_right", &deadlock));
	assert_true(suppressed("deadlock:grab", &deadlock));
	assert_true(suppressed("deadlock:^left$", &deadlock));
	assert_true(suppressed("deadlock:main", &deadlock));
	assert_false(suppressed("deadlock:elsewhere", &deadlock));
	assert_false(suppressed("deadlock:*", &race));
	assert_false(suppressed("deadlock:*", &hang));
}

static void mutex_is_a_lock_taken_twice_or_an_order_of_locks(void **state)
{
	assert_false(suppressed("mutex:*", &deadlock));
	deadlock.nedges = 1;
	assert_true(suppressed("mutex:to_right", &deadlock));
	assert_false(suppressed("mutex:*", &race));
	moments[0].kind = 'L';
	assert_false(suppressed("mutex:*", &race));
	moments[1].kind = 'U';
	assert_true(suppressed("mutex:consume", &race));
	race.nmoments = 0;
	assert_false(suppressed("mutex:*", &race));
}

static void thread_is_a_hang(void **state)
{
	assert_true(suppressed("thread:main", &hang));
	assert_false(suppressed("thread:crash", &hang));
	assert_false(suppressed("thread:*", &race));
	assert_false(suppressed("thread:*", &deadlock));
}

static void signal_is_a_failure_within_a_handler(void **state)
{
	assert_false(suppressed("signal:*", &race));
	frames[1].place.function = "__restore_rt";
	assert_true(suppressed("signal:crash", &race));
	assert_false(suppressed("signal:consume", &race));
	stacks[0].failed = false;
	assert_false(suppressed("signal:crash", &race));
}

static void called_from_lib_looks_at_images_alone(void **state)
{
	assert_true(suppressed("called_from_lib:libqueue.so", &race));
	assert_false(suppressed("called_from_lib:consume", &race));
	assert_false(suppressed("called_from_lib:server", &race));
	race.nmoments = 0;
	assert_true(suppressed("called_from_lib:server", &race));
}

/* It is no failure, so what is written for failures says nothing of it. */
static void
violation_looks_at_one_of_an_atomic_set_and_nothing_else_does(void **state)
{
	struct maple_finding violation = race;

	violation.kind = MAPLE_FAILURE_VIOLATION;
	violation.violation =
		(struct maple_violation){ .set = "the queue", .pattern = 1 };
	moments[1].callers = "stop:31, main:37";
	assert_true(suppressed("violation:consume", &violation));
	assert_true(suppressed("violation:queue_head", &violation));
	assert_true(suppressed("violation:^the queue$", &violation));
	assert_true(suppressed("violation:stop", &violation));
	assert_true(suppressed("violation:queue.c", &violation));
	assert_false(suppressed("violation:produce", &violation));
	assert_false(suppressed("race:consume", &violation));
	assert_false(suppressed("race_top:consume", &violation));
	assert_false(suppressed("called_from_lib:libqueue.so", &violation));
	assert_false(suppressed("violation:consume", &race));
	assert_false(suppressed("violation:to_right", &deadlock));
}

static void comments_and_blanks_are_no_suppressions(void **state)
{
	static const char text[] = "# known\n\n  \t\r\nrace:nothing  \r\n"
				   "  deadlock:to_right\n# race:consume\n"
				   "race:consume";
	struct maple_suppressions *s;
	unsigned int line = 0;

	assert_int_equal(read_text(text, strlen(text), &s), 0);
	assert_string_equal(maple_suppressions_unused(s, 0, &line),
			    "race:nothing");
	assert_int_equal(line, 4);
	assert_string_equal(maple_suppressions_match(s, &race), "race:consume");
	assert_null(maple_suppressions_match(s, &hang));
	assert_string_equal(maple_suppressions_unused(s, 1, &line),
			    "deadlock:to_right");
	assert_int_equal(line, 5);
	assert_null(maple_suppressions_unused(s, 2, &line));
	maple_suppressions_destroy(s);
	assert_int_equal(read_text("", 0, &s), 0);
	assert_null(maple_suppressions_match(s, &race));
	maple_suppressions_destroy(s);
	assert_null(maple_suppressions_match(NULL, &race));
	assert_null(maple_suppressions_unused(NULL, 0, &line));
}

static void bad_lines_are_named_by_file_and_line(void **state)
{
	static const char *const bad[] = {
		"race",	   "race:",    ":x",	 "Race:x",  "race :x", "rac:x",
		"raceX:x", "sorrow:x", "race:^", "race:^$", "race:$",
	};
	struct maple_suppressions *s;
	char text[64], where[64];

	snprintf(where, sizeof(where), "%s:3: ", path);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(text, sizeof(text), "race:x\n#\n%s\nrace:y\n", bad[i]);
		assert_int_equal(read_text(text, strlen(text), &s), -EINVAL);
		assert_null(s);
		if (strncmp(err.text, where, strlen(where)) != 0)
			fail_msg("%s: %s", bad[i], err.text);
	}
	assert_int_equal(read_text("race:a\0b\n", 9, &s), -EINVAL);
	assert_int_equal(maple_suppressions_read("/nonexistent", &s, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent"));
	assert_int_equal(maple_suppressions_read("/", &s, &err), -EIO);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(patterns_match_anywhere_but_for_anchors),
		TEST(race_looks_at_accesses_and_failed_stacks),
		TEST(a_block_need_not_be_said_which_one),
		TEST(race_top_leaves_the_callers_out),
		TEST(deadlock_looks_at_locks_and_all_stacks),
		TEST(mutex_is_a_lock_taken_twice_or_an_order_of_locks),
		TEST(thread_is_a_hang),
		TEST(signal_is_a_failure_within_a_handler),
		TEST(called_from_lib_looks_at_images_alone),
		TEST(violation_looks_at_one_of_an_atomic_set_and_nothing_else_does),
		TEST(comments_and_blanks_are_no_suppressions),
		TEST(bad_lines_are_named_by_file_and_line),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
