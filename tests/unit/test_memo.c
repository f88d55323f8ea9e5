// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo: what it keeps, and how it counts.
 *
 * beside: guests
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>
#include <jansson.h>
#include "memo/sql.h"
#include "memo_rig.h"

static int64_t iroot(struct fixture *f, uint64_t first, uint64_t second)
{
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 2,
		.use = { { "aa", "/bin/p", first, false, 'R', "f", "p.c", 3 },
			 { "bb", "/lib/l", second, true, 'W', NULL, NULL, 0 } },
	};
	int64_t row;

	OK(maple_memo_goal(f->memo, &key, &row, &err));
	return row;
}

static void a_goal_is_its_class_sites_kinds_and_contexts(void **state)
{
	struct fixture *f = *state;
	int64_t row = iroot(f, 1, 2);
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 2,
		.use = { { "aa", NULL, 1, false, 'W' },
			 { "bb", NULL, 2, true, 'W' } },
	};
	int64_t other;

	assert_int_equal(iroot(f, 1, 2), row);
	assert_int_not_equal(iroot(f, 1, 3), row);
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_not_equal(other, row); /* the kind */
	key.use[0].kind = 'R';
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_equal(other, row);
	key.use[1].call = false;
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_not_equal(other, row);
	key.use[1].call = true;
	key.use[1].context = 1ull << 63;
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_not_equal(other, row);
	OK(maple_memo_goal(f->memo, &key, &row, &err));
	assert_int_equal(other, row);
	key.class = "pattern 4";
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_not_equal(other, row);
	key.class = "Pattern 4";
	assert_int_equal(maple_memo_goal(f->memo, &key, &other, NULL), -EINVAL);
}

/* A class that no iRoot has, and more sites than one has. */
static void any_class_is_kept_and_counted(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_goal_key key = { .class = "list 8",
					   .n = MAPLE_GOAL_USES };
	struct maple_class_count c;
	int64_t row, other;

	for (unsigned int i = 0; i < MAPLE_GOAL_USES; i++)
		key.use[i] = (struct maple_memo_event){ "aa", NULL, 7,
							.kind = 'W',
							.context = i };
	OK(maple_memo_goal(f->memo, &key, &row, &err));
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_PREDICTED,
			   &err));
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_ATTEMPT, &err));
	key.n--;
	OK(maple_memo_goal(f->memo, &key, &other, &err));
	assert_int_not_equal(other, row);
	c = counts_of(f->memo, f->program, "list 8");
	assert_int_equal(c.predicted, 1);
	assert_int_equal(c.exposed, 0);
	assert_int_equal(counts_of(f->memo, f->program, "all").predicted, 1);
	key.n = MAPLE_GOAL_USES + 1;
	assert_int_equal(maple_memo_goal(f->memo, &key, &other, NULL), -EINVAL);
	key.n = 0;
	assert_int_equal(maple_memo_goal(f->memo, &key, &other, NULL), -EINVAL);
}

static struct maple_memo_state state_of(struct fixture *f, int64_t program,
					int64_t row)
{
	struct maple_memo_state s;

	OK(maple_memo_state(f->memo, program, row, &s, &err));
	return s;
}

static void mark(struct fixture *f, int64_t program, int64_t row,
		 enum maple_memo_mark mark)
{
	OK(maple_memo_mark(f->memo, program, row, mark, &err));
}

static void attempts_are_of_the_input_the_rest_of_the_executable(void **state)
{
	struct fixture *f = *state;
	int64_t row = iroot(f, 1, 2), campaign, other, stranger;
	struct maple_memo_state s = state_of(f, f->program, row);

	assert_false(s.predicted || s.exposed || s.failed || s.attempts);
	campaign = begin_campaign(f->memo, "big");
	OK(maple_memo_program(f->memo, campaign, "aa", "/bin/p", &other, &err));
	OK(maple_memo_program(f->memo, campaign, "cc", "/bin/q", &stranger,
			      &err));
	assert_int_not_equal(other, f->program);

	mark(f, f->program, row, MAPLE_MEMO_PREDICTED);
	mark(f, f->program, row, MAPLE_MEMO_ATTEMPT);
	mark(f, f->program, row, MAPLE_MEMO_FAILED);
	mark(f, other, row, MAPLE_MEMO_ATTEMPT);
	mark(f, other, row, MAPLE_MEMO_ATTEMPT);
	mark(f, other, row, MAPLE_MEMO_FAILED);
	mark(f, other, row, MAPLE_MEMO_FAILED);
	s = state_of(f, f->program, row);
	assert_true(s.predicted && !s.exposed);
	assert_int_equal(s.failed, 3);
	assert_int_equal(s.attempts, 1);
	mark(f, f->program, row, MAPLE_MEMO_OBSERVED);
	s = state_of(f, other, row);
	assert_true(!s.predicted && s.exposed);
	assert_int_equal(s.failed, 3);
	assert_int_equal(s.attempts, 2);
	s = state_of(f, stranger, row);
	assert_false(s.predicted || s.exposed || s.failed || s.attempts);
}

/* As those of iRoots are, which are forced otherwise. */
static void tries_of_patterns_are_kept(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_lesson l = {
		.key = { .class = "pattern 9",
			 .n = 4,
			 .use = { { "aa", "/bin/p", 1, false, 'W' },
				  { "aa", "/bin/p", 2, false, 'W' },
				  { "aa", "/bin/p", 3, false, 'W' },
				  { "aa", "/bin/p", 4, false, 'W' } } },
	};
	struct maple_memo_run start = { .kind = "controlled" };
	struct maple_query *s;
	int64_t run;

	for (unsigned int i = 1; i <= 2; i++) {
		OK(maple_memo_learn(f->memo, f->program, &l, 1, &err));
		assert_int_equal(l.state.attempts, i - 1);
		start.goal = l.goal;
		start.attempt = i;
		mark(f, f->program, l.goal, MAPLE_MEMO_ATTEMPT);
		OK(maple_memo_run_begin(f->memo, f->campaign, &start, &run,
					&err));
		mark(f, f->program, l.goal,
		     i == 1 ? MAPLE_MEMO_FAILED : MAPLE_MEMO_BROKE);
	}
	OK(maple_sql_prepare(f->memo,
			     "SELECT min(attempt), max(attempt), count(*)"
			     " FROM runs WHERE goal IS NOT NULL",
			     "", &s, NULL));
	assert_int_equal(maple_sql_step(f->memo, s, NULL), 1);
	assert_int_equal(maple_sql_number(s, 0), 1);
	assert_int_equal(maple_sql_number(s, 1), 2);
	assert_int_equal(maple_sql_number(s, 2), 2);
	maple_sql_finish(s);
	OK(maple_memo_learn(f->memo, f->program, &l, 1, &err));
	assert_int_equal(l.state.attempts, 2);
	assert_int_equal(l.state.failed, 1);
	assert_true(l.state.broke && !l.state.exposed);
}

static int64_t begin_apart(struct maple_memo *memo, const char *input)
{
	static char *const argv[] = { "prog", NULL };
	const struct maple_memo_campaign c = { .argv = argv,
					       .cwd = "/tmp",
					       .input = input,
					       .strategy = "ranked",
					       .version = "0.1",
					       .apart = true };
	int64_t id;

	OK(maple_memo_campaign_begin(memo, &c, &id, &err));
	return id;
}

static void named(char *const *argv, const char *requests, const char *wanted)
{
	char *input = maple_memo_input(argv, requests);

	assert_string_equal(input, wanted);
	assert_string_equal(maple_memo_command(input), wanted + 2);
	free(input);
}

static void without_a_name_an_input_is_its_command(void **state)
{
	static char *const plain[] = { "./p", NULL };
	static char *const words[] = {
		"/bin/p", "a b", "", "it's", "-x=1", NULL
	};
	static char *const other[] = { "p", "a", "b", NULL };

	named(plain, NULL, "$ p");
	named(plain, "curl -s x", "$ p & curl -s x");
	named(words, NULL, "$ p 'a b' '' 'it'\\''s' -x=1");
	named(other, NULL, "$ p a b");
	assert_null(maple_memo_command("p"));
	assert_null(maple_memo_command(NULL));
}

static void of_a_long_command_the_end_is_a_hash(void **state)
{
	char longer[600], *argv[] = { "p", longer, NULL }, *one, *two;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	one = maple_memo_input(argv, NULL);
	longer[sizeof(longer) - 2] = 'y';
	two = maple_memo_input(argv, NULL);
	assert_int_equal(strlen(one), strlen(two));
	assert_true(strlen(one) < 256);
	assert_int_equal(strncmp(one, "$ p xxx", 7), 0);
	assert_string_not_equal(one, two);
	free(one);
	free(two);
	/* No character is cut in two. */
	for (unsigned int i = 0; i + 2 < sizeof(longer); i += 2)
		memcpy(longer + i, "\xc3\xa4", 2);
	for (unsigned int i = 0; i < 2; i++) {
		argv[0] = i ? "p" : "pp";
		one = maple_memo_input(argv, NULL);
		assert_int_equal((unsigned char)strstr(one, "... ")[-1], 0xa4);
		free(one);
	}
}

static int64_t library_iroot(struct fixture *f, const char *first)
{
	struct maple_memo_goal_key key = {
		.class = "idiom 2",
		.n = 3,
		.use = { { first, "/lib/l", 1, false, 'R' },
			 { "bb", "/lib/l", 2, false, 'W' },
			 { "dd", "/lib/m", 3, true, 'R' } },
	};
	int64_t row;

	OK(maple_memo_goal(f->memo, &key, &row, &err));
	return row;
}

/* The cases of a test program: exposed in one says nothing of another. */
static void what_stands_apart_inherits_nothing(void **state)
{
	struct fixture *f = *state;
	int64_t rows[] = { iroot(f, 1, 2), library_iroot(f, "bb") };
	int64_t one, two;
	struct maple_memo_state s;

	OK(maple_memo_program(f->memo, begin_apart(f->memo, "one"), "aa",
			      "/bin/p", &one, &err));
	OK(maple_memo_program(f->memo, begin_apart(f->memo, "two"), "aa",
			      "/bin/p", &two, &err));
	for (int i = 0; i < 2; i++) {
		mark(f, f->program, rows[i], MAPLE_MEMO_OBSERVED);
		mark(f, one, rows[i], MAPLE_MEMO_EXPOSED);
		mark(f, one, rows[i], MAPLE_MEMO_FAILED);
		mark(f, two, rows[i], MAPLE_MEMO_PREDICTED);
		s = state_of(f, one, rows[i]);
		assert_true(s.exposed && s.failed == 1);
		s = state_of(f, two, rows[i]);
		assert_true(s.predicted && !s.exposed && !s.failed);
		s = state_of(f, f->program, rows[i]);
		assert_true(s.exposed && !s.failed);
	}
	assert_int_equal(counts_of(f->memo, two, "all").predicted, 2);
	assert_int_equal(counts_of(f->memo, two, "all").exposed, 0);
	assert_int_equal(counts_of(f->memo, one, "all").exposed, 2);
	/* Once apart, always: what was known before is nobody's to inherit. */
	OK(maple_memo_program(f->memo, begin_campaign(f->memo, "two"), "aa",
			      "/bin/p", &two, &err));
	assert_false(state_of(f, two, rows[0]).exposed);
}

static void programs_share_what_lies_in_libraries(void **state)
{
	struct fixture *f = *state;
	int64_t inside = library_iroot(f, "bb");
	int64_t across = library_iroot(f, "aa");
	int64_t stranger, campaign = begin_campaign(f->memo, NULL);
	struct maple_memo_state s;
	struct maple_class_count c;

	OK(maple_memo_program(f->memo, campaign, "cc", "/bin/q", &stranger,
			      &err));
	for (int i = 0; i < 2; i++) {
		int64_t row = i ? across : inside;

		mark(f, f->program, row, MAPLE_MEMO_PREDICTED);
		mark(f, f->program, row, MAPLE_MEMO_ATTEMPT);
		mark(f, f->program, row, MAPLE_MEMO_FAILED);
		mark(f, f->program, row, MAPLE_MEMO_EXPOSED);
		mark(f, stranger, row, MAPLE_MEMO_PREDICTED);
	}
	s = state_of(f, stranger, inside);
	assert_true(s.exposed);
	/* That the other could not expose it says nothing about this one. */
	assert_int_equal(s.failed + s.attempts, 0);
	s = state_of(f, stranger, across);
	assert_false(s.exposed);
	c = counts_of(f->memo, stranger, "idiom 2");
	assert_int_equal(c.predicted, 2);
	assert_int_equal(c.exposed, 1);
}

static void coverage_adds_up_the_marks(void **state)
{
	struct fixture *f = *state;
	struct maple_class_count c;
	int64_t a = iroot(f, 1, 2), b = iroot(f, 1, 3);

	mark(f, f->program, a, MAPLE_MEMO_PREDICTED);
	mark(f, f->program, a, MAPLE_MEMO_FAILED);
	mark(f, f->program, b, MAPLE_MEMO_PREDICTED);
	mark(f, f->program, b, MAPLE_MEMO_FAILED);
	mark(f, f->program, b, MAPLE_MEMO_EXPOSED);
	c = counts_of(f->memo, f->program, "idiom 1");
	assert_int_equal(c.predicted, 2);
	assert_int_equal(c.exposed, 1);
	assert_int_equal(c.failed, 1);
	assert_int_equal(counts_of(f->memo, f->program, "idiom 2").predicted, 0);
}

static void a_batch_is_all_or_nothing(void **state)
{
	struct fixture *f = *state;

	OK(maple_memo_begin(f->memo, &err));
	for (unsigned int i = 0; i < 2000; i++)
		mark(f, f->program, iroot(f, i, i), MAPLE_MEMO_PREDICTED);
	maple_memo_rollback(f->memo);
	assert_int_equal(counts_of(f->memo, f->program, "idiom 1").predicted, 0);
	OK(maple_memo_begin(f->memo, &err));
	for (unsigned int i = 0; i < 2000; i++)
		mark(f, f->program, iroot(f, i, i), MAPLE_MEMO_PREDICTED);
	OK(maple_memo_commit(f->memo, &err));
	assert_int_equal(counts_of(f->memo, f->program, "idiom 1").predicted,
			 2000);
}

static int64_t run(struct fixture *f, const char *kind, uint64_t exposed)
{
	struct maple_memo_run start = { kind, 0, "{\"a\":1}", 7, 1, false };
	struct maple_memo_run_end end = { "pass", 0, 0, .5, .25, true, false };
	struct maple_class_count one = { "idiom 1", .exposed = exposed };
	struct maple_coverage c = { 1, &one };
	int64_t id;

	OK(maple_memo_run_begin(f->memo, f->campaign, &start, &id, &err));
	OK(maple_memo_run_end(f->memo, id, &end, &err));
	OK(maple_memo_sample(f->memo, id, &c, &err));
	return id;
}

static void try_at(struct fixture *f, int64_t row,
		   enum maple_memo_reason reason, bool claimed, bool rested)
{
	struct maple_memo_run start = { "enforced", row, NULL, 7, 1, false };
	struct maple_memo_run_end end = { .verdict = "pass",
					  .delivered = true,
					  .claimed = claimed,
					  .reason = reason,
					  .rested = rested };
	int64_t id;

	mark(f, f->program, row, MAPLE_MEMO_ATTEMPT);
	OK(maple_memo_run_begin(f->memo, f->campaign, &start, &id, &err));
	OK(maple_memo_run_end(f->memo, id, &end, &err));
	mark(f, f->program, row,
	     reason == MAPLE_MEMO_REASON_EXPOSED ? MAPLE_MEMO_EXPOSED
						 : MAPLE_MEMO_FAILED);
}

static void try(struct fixture *f, int64_t row, enum maple_memo_reason reason,
		bool claimed)
{
	try_at(f, row, reason, claimed, false);
}

/* Tried only when put to rest: not among the others. */
static void what_rested_is_counted_apart(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_success s;
	int64_t a = iroot(f, 1, 2), b = iroot(f, 1, 3), c = iroot(f, 1, 4);

	try_at(f, a, MAPLE_MEMO_REASON_UNREACHED, false, true);
	try_at(f, a, MAPLE_MEMO_REASON_EXPOSED, true, true);
	try_at(f, b, MAPLE_MEMO_REASON_UNREACHED, false, true);
	try_at(f, c, MAPLE_MEMO_REASON_UNREACHED, false, false);
	try_at(f, c, MAPLE_MEMO_REASON_EXPOSED, true, true);
	OK(maple_memo_success(f->memo, f->program, &s, &err));
	assert_int_equal(s.class[0].attempted, 1);
	assert_int_equal(s.class[0].forced, 1);
	assert_int_equal(s.class[0].rested, 2);
	assert_int_equal(s.class[0].rested_forced, 1);
	assert_int_equal(s.class[0].failures[MAPLE_MEMO_REASON_UNREACHED], 0);
	assert_int_equal(s.claims, 2);
	maple_memo_success_deinit(&s);
}

static void success_is_counted_by_the_last_reason(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_success s;
	int64_t a = iroot(f, 1, 2), b = iroot(f, 1, 3), c = iroot(f, 1, 4);

	mark(f, f->program, iroot(f, 1, 5), MAPLE_MEMO_OBSERVED);
	try(f, a, MAPLE_MEMO_REASON_UNREACHED, false);
	try(f, a, MAPLE_MEMO_REASON_EXPOSED, true);
	try(f, b, MAPLE_MEMO_REASON_UNREACHED, false);
	try(f, b, MAPLE_MEMO_REASON_REFUSED, true);
	try(f, c, MAPLE_MEMO_REASON_GAVE_UP, false);
	/* Exposed by chance: none of the scheduler's merits. */
	mark(f, f->program, c, MAPLE_MEMO_OBSERVED);
	/* From an older build, whose runs are not this program's. */
	mark(f, f->program, library_iroot(f, "bb"), MAPLE_MEMO_ATTEMPT);
	OK(maple_memo_success(f->memo, f->program, &s, &err));
	assert_int_equal(s.class[0].attempted, 3);
	assert_int_equal(s.class[0].forced, 1);
	assert_int_equal(s.class[0].failures[MAPLE_MEMO_REASON_REFUSED], 1);
	assert_int_equal(s.class[0].failures[MAPLE_MEMO_REASON_GAVE_UP], 1);
	assert_int_equal(s.class[0].failures[MAPLE_MEMO_REASON_UNREACHED], 0);
	assert_int_equal(s.class[1].attempted, 1);
	assert_int_equal(s.class[1].failures[MAPLE_MEMO_REASON_NONE], 1);
	assert_int_equal(s.claims, 2);
	assert_int_equal(s.refused, 1);
	assert_string_equal(s.class[1].name, "idiom 2");
	maple_memo_success_deinit(&s);
}

static void samples_come_back_in_order(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_sample *samples;
	int64_t second;
	size_t n;

	run(f, "profile", 3);
	run(f, "confirm", 4); /* no part of the curve */
	second = run(f, "enforced", 5);
	OK(maple_memo_samples(f->memo, f->program, 0, &samples, &n, &err));
	assert_int_equal(n, 2);
	assert_int_equal(samples[0].coverage.class->exposed, 3);
	assert_int_equal(samples[1].coverage.class->exposed, 5);
	maple_memo_samples_destroy(samples, n);
	OK(maple_memo_samples(f->memo, f->program, second, &samples, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(samples[0].run, second);
	maple_memo_samples_destroy(samples, n);
}

static void a_killed_run_stays_without_an_end(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_run start = { "enforced", 0, NULL, 7, 1, false };
	pid_t pid;
	int status;
	struct maple_query *s;

	run(f, "profile", 1);
	pid = fork();
	if (!pid) {
		struct maple_memo *memo;
		int64_t id;

		if (maple_memo_open(f->path, 0, &memo, NULL) ||
		    maple_memo_run_begin(memo, f->campaign, &start, &id, NULL))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	OK(maple_sql_prepare(f->memo, "SELECT count(*), count(ended) FROM runs",
			     "", &s, &err));
	assert_int_equal(maple_sql_step(f->memo, s, NULL), 1);
	assert_int_equal(maple_sql_number(s, 0), 2);
	assert_int_equal(maple_sql_number(s, 1), 1);
	maple_sql_finish(s);
}

static void forgetting_keeps_the_campaign_under_way(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_program_info *programs;
	int64_t campaign = begin_campaign(f->memo, NULL), again;
	size_t n;

	mark(f, f->program, iroot(f, 1, 2), MAPLE_MEMO_EXPOSED);
	run(f, "profile", 1);
	store(f, "abc1", 10);
	OK(maple_memo_program(f->memo, campaign, "aa", "/bin/p", &again, &err));
	assert_int_equal(again, f->program);
	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(programs->campaigns, 2);
	assert_int_equal(programs->runs, 1);
	assert_int_equal(programs->findings, 1);
	assert_null(programs->input);
	maple_memo_programs_destroy(programs, n);

	OK(maple_memo_forget_program(f->memo, f->program, campaign, &err));
	assert_false(state_of(f, f->program, iroot(f, 1, 2)).exposed);
	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(n, 1);
	assert_int_equal(programs->campaigns, 1);
	assert_int_equal(programs->runs + programs->findings, 0);
	maple_memo_programs_destroy(programs, n);

	OK(maple_memo_forget_program(f->memo, f->program, 0, &err));
	OK(maple_memo_programs(f->memo, &programs, &n, &err));
	assert_int_equal(n, 0);
	maple_memo_programs_destroy(programs, n);
	OK(maple_memo_forget_all(f->memo, &err));
}

/* Ends a campaign of the fixture's program that says this of its parts. */
static void the_export_is_json_with_every_table(void **state)
{
	struct fixture *f = *state;
	static const char *const tables[] = { "images", "sites",    "goals",
					      "memo",	"programs", "campaigns",
					      "runs",	"findings", "samples",
					      "classes" };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object, *campaign;
	const char *arg[3], *seed;

	mark(f, f->program, iroot(f, 1, 2), MAPLE_MEMO_EXPOSED);
	run(f, "profile", 1);
	store(f, "abc1", 10);
	OK(maple_memo_export(f->memo, out, &err));
	fclose(out);
	object = json_loads(text, 0, NULL);
	assert_non_null(object);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		assert_true(json_array_size(
				    json_object_get(object, tables[i])) > 0);
	campaign = json_array_get(json_object_get(object, "campaigns"), 0);
	assert_int_equal(json_unpack(campaign, "{s:[s,s,s!], s:s}", "argv",
				     &arg[0], &arg[1], &arg[2], "seed", &seed),
			 0);
	assert_string_equal(arg[1], "-x");
	assert_string_equal(arg[2], "\xf4\x8f\xbf\xbf"); /* the byte 0xff */
	assert_string_equal(seed, "0xffffffffffffffff");
	json_decref(object);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_goal_is_its_class_sites_kinds_and_contexts),
		TEST(attempts_are_of_the_input_the_rest_of_the_executable),
		TEST(tries_of_patterns_are_kept),
		TEST(what_stands_apart_inherits_nothing),
		TEST(without_a_name_an_input_is_its_command),
		TEST(of_a_long_command_the_end_is_a_hash),
		TEST(programs_share_what_lies_in_libraries),
		TEST(success_is_counted_by_the_last_reason),
		TEST(what_rested_is_counted_apart),
		TEST(any_class_is_kept_and_counted),
		TEST(coverage_adds_up_the_marks),
		TEST(a_batch_is_all_or_nothing),
		TEST(samples_come_back_in_order),
		TEST(a_killed_run_stays_without_an_end),
		TEST(forgetting_keeps_the_campaign_under_way),
		TEST(the_export_is_json_with_every_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
