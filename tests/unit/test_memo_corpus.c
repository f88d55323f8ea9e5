// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What strategies go on with: kept, replaced, recalled, forgotten, merged.
 *
 * beside: guests
 */
#include <errno.h>
#include <unistd.h>
#include "memo_rig.h"
#include "memo/sql.h"

/* A campaign of @owner, a uid plus one, or 0, on that build of /bin/p. */
static int64_t campaign_of(struct maple_memo *memo, uint64_t owner,
			   const char *input, const char *build_id,
			   const char *path)
{
	static char *const argv[] = { "prog", NULL };
	struct maple_memo_campaign c = { .argv = argv,
					 .input = input,
					 .owner = owner };
	int64_t id, program;

	OK(maple_memo_campaign_begin(memo, &c, &id, &err));
	if (build_id)
		OK(maple_memo_program(memo, id, build_id, path, &program, &err));
	return id;
}

static void keep(struct maple_memo *memo, int64_t campaign, const char *text)
{
	OK(maple_memo_corpus_keep(memo, campaign, "grey", text, &err));
}

/* That is what there is; NULL: nothing. */
static void recalls(struct maple_memo *memo, int64_t campaign, const char *want)
{
	char *text;

	OK(maple_memo_corpus_recall(memo, campaign, "grey", &text, &err));
	if (want)
		assert_string_equal(text ? text : "nothing", want);
	else
		assert_null(text);
	free(text);
}

/* The first column of the first row. */
static int64_t number(struct maple_memo *memo, const char *sql)
{
	struct maple_query *query;
	int64_t n;

	OK(maple_sql_prepare(memo, sql, "", &query, &err));
	assert_int_equal(maple_sql_step(memo, query, NULL), 1);
	n = maple_sql_number(query, 0);
	maple_sql_finish(query);
	return n;
}

static void the_last_one_is_kept(void **state)
{
	struct fixture *f = *state;
	char *text;

	recalls(f->memo, f->campaign, NULL);
	keep(f->memo, f->campaign, "[{\"a\":1}]");
	keep(f->memo, f->campaign, "[{\"a\":2}]");
	recalls(f->memo, f->campaign, "[{\"a\":2}]");
	/* Another campaign of the same. */
	recalls(f->memo, campaign_of(f->memo, 0, NULL, "aa", "/bin/p"),
		"[{\"a\":2}]");
	assert_int_equal(number(f->memo, "SELECT count(*) FROM corpus"), 1);
	OK(maple_memo_corpus_recall(f->memo, f->campaign, "other", &text, &err));
	assert_null(text);
}

static void too_much_and_too_early_are_refused(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(MAPLE_MEMO_CORPUS_TEXT + 1);
	struct maple_error err;

	keep(f->memo, f->campaign, "[]");
	memset(text, ' ', MAPLE_MEMO_CORPUS_TEXT);
	text[MAPLE_MEMO_CORPUS_TEXT] = '\0';
	assert_int_equal(maple_memo_corpus_keep(f->memo, f->campaign, "grey",
						text, &err),
			 -EMSGSIZE);
	recalls(f->memo, f->campaign, "[]");
	text[MAPLE_MEMO_CORPUS_TEXT - 1] = '\0';
	keep(f->memo, f->campaign, text);
	recalls(f->memo, f->campaign, text);
	free(text);
	assert_int_equal(maple_memo_corpus_keep(
				 f->memo,
				 campaign_of(f->memo, 0, NULL, NULL, NULL),
				 "grey", "[]", &err),
			 -EINVAL);
	assert_int_equal(
		maple_memo_corpus_keep(f->memo, 4711, "grey", "[]", &err),
		-EINVAL);
	recalls(f->memo, 4711, NULL);
}

static void it_outlives_a_rebuild(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo = f->memo;
	int64_t next = campaign_of(memo, 0, NULL, "bb", "/bin/p");
	int64_t third = campaign_of(memo, 0, NULL, "cc", "/bin/p");

	keep(memo, f->campaign, "[1]");
	recalls(memo, next, "[1]");
	number(memo, "UPDATE corpus SET at = at - 1 RETURNING at");
	keep(memo, next, "[2]");
	recalls(memo, third, "[2]");
	/* Its own comes first, however old. */
	recalls(memo, f->campaign, "[1]");
	/* Neither other inputs nor programs elsewhere. */
	recalls(memo, campaign_of(memo, 0, "x", "dd", "/bin/p"), NULL);
	recalls(memo, campaign_of(memo, 0, "x", "aa", "/bin/p"), NULL);
	recalls(memo, campaign_of(memo, 0, NULL, "dd", "/opt/p"), NULL);
}

static void each_has_his_own(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo = f->memo;
	int64_t one = campaign_of(memo, 1001 + 1, NULL, "aa", "/bin/p");
	int64_t two = campaign_of(memo, 1002 + 1, NULL, "aa", "/bin/p");
	int64_t two_later = campaign_of(memo, 1002 + 1, NULL, "bb", "/bin/p");
	int64_t of_file = campaign_of(memo, (uint64_t)geteuid() + 1, NULL, "aa",
				      "/bin/p");

	keep(memo, one, "[1]");
	recalls(memo, two, NULL);
	recalls(memo, two_later, NULL);
	recalls(memo, f->campaign, NULL);
	keep(memo, two, "[2]");
	keep(memo, f->campaign, "[3]");
	recalls(memo, one, "[1]");
	recalls(memo, two_later, "[2]");
	recalls(memo, f->campaign, "[3]");
	/* What no user is named for is his whose the file is. */
	recalls(memo, of_file, "[3]");
}

/* In a file of somebody else's nothing is ours. */
static void a_strangers_is_not_ours(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo;
	int64_t id;

	if (geteuid() || at_server("ours"))
		skip(); /* to give a file away takes root, and a file */
	keep(f->memo, f->campaign, "[1]");
	number(f->memo, "UPDATE corpus SET owner = 0 RETURNING owner");
	assert_int_equal(chown(f->path, 54321, 54321), 0);
	OK(maple_memo_open(f->path, 0, &memo, &err));
	id = campaign_of(memo, 0, NULL, "aa", "/bin/p");
	recalls(memo, id, NULL);
	maple_memo_close(memo);
}

static void it_goes_with_its_program(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo = f->memo;
	int64_t other = campaign_of(memo, 0, "x", "aa", "/bin/p");
	int64_t stays = campaign_of(memo, 0, NULL, "bb", "/bin/q");

	keep(memo, f->campaign, "[1]");
	keep(memo, other, "[2]");
	/* The program itself stays, with the campaign under way. */
	OK(maple_memo_forget_program(memo, f->program, f->campaign, &err));
	recalls(memo, f->campaign, NULL);
	keep(memo, stays, "[3]");
	assert_int_equal(number(memo, "SELECT count(*) FROM corpus"), 1);
	keep(memo, f->campaign, "[4]");
	/* Gone, and nothing else said of it. */
	number(memo, "UPDATE campaigns SET program = NULL RETURNING id");
	number(memo, "DELETE FROM programs WHERE build_id = 'aa' RETURNING id");
	assert_int_equal(number(memo, "SELECT count(*) FROM corpus"), 1);
	OK(maple_memo_forget_all(memo, &err));
	assert_int_equal(number(memo, "SELECT count(*) FROM corpus"), 0);
}

/* What is replaced, or forgotten, is given back. */
static void what_it_takes_is_counted(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo = f->memo;
	int64_t one = campaign_of(memo, 1001 + 1, NULL, "aa", "/bin/p");
	uint64_t begun = 0, used = 0;

	OK(maple_memo_usage(memo, 1001, &begun, &err));
	for (int i = 0; i < 5; i++)
		keep(memo, one, "[{\"a\":\"\xc3\xa9\"}]");
	OK(maple_memo_usage(memo, 1001, &used, &err));
	assert_int_equal(used - begun, 256 + strlen("grey") + 12);
	keep(memo, one, "[]");
	OK(maple_memo_usage(memo, 1001, &used, &err));
	assert_int_equal(used - begun, 256 + strlen("grey") + 2);
	/* By the foreign key as well. */
	number(memo, "UPDATE campaigns SET program = NULL RETURNING id");
	number(memo, "DELETE FROM programs WHERE build_id = 'aa' RETURNING id");
	OK(maple_memo_usage(memo, 1001, &used, &err));
	assert_int_equal(used, begun);
}

static void it_is_in_no_export(void **state)
{
	struct fixture *f = *state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	keep(f->memo, f->campaign, "[{\"secret\":1}]");
	OK(maple_memo_export(f->memo, out, &err));
	fclose(out);
	assert_null(strstr(text, "secret"));
	free(text);
}

/* ---- merging ---- */

struct other {
	char path[PLACE];
	struct maple_memo *memo;
	int64_t campaign;
};

static void open_other(const struct fixture *f, struct other *o)
{
	place(o->path, f->dir, "other.db", "theirs");
	OK(maple_memo_open(o->path, 0, &o->memo, &err));
	campaign_of(o->memo, 0, "z", "zz", "/bin/z"); /* other numbers */
	o->campaign = campaign_of(o->memo, 0, NULL, "aa", "/bin/p");
}

static void older(struct maple_memo *memo)
{
	number(memo, "UPDATE corpus SET at = at - 100 RETURNING at");
}

static void merge(struct fixture *f, const struct other *o)
{
	OK(maple_memo_merge(f->memo, o->path, &err));
}

static void the_newer_ones_come_first(void **state)
{
	struct fixture *f = *state;
	struct other o;

	open_other(f, &o);
	keep(f->memo, f->campaign, "[{\"a\":1},{\"a\":2}]");
	older(f->memo);
	keep(o.memo, o.campaign, "[{\"a\":3},{\"a\":1},{\"a\":4}]");
	for (int i = 0; i < 2; i++) {
		merge(f, &o);
		recalls(f->memo, f->campaign,
			"[{\"a\":3},{\"a\":1},{\"a\":4},{\"a\":2}]");
	}
	/* What is older by now comes last. */
	older(o.memo);
	older(o.memo);
	keep(f->memo, f->campaign, "[{\"a\":5}]");
	merge(f, &o);
	recalls(f->memo, f->campaign,
		"[{\"a\":5},{\"a\":3},{\"a\":1},{\"a\":4}]");
	maple_memo_close(o.memo);
}

static void what_only_one_has_stays(void **state)
{
	struct fixture *f = *state;
	struct other o;
	int64_t theirs, third;

	open_other(f, &o);
	third = campaign_of(f->memo, 1003 + 1, NULL, "aa", "/bin/p");
	keep(f->memo, f->campaign, "[{\"a\":1}]");
	keep(f->memo, third, "[{\"a\":3}]");
	theirs = campaign_of(o.memo, 1001 + 1, NULL, "aa", "/bin/p");
	keep(o.memo, theirs, "[{\"a\":2}]");
	keep(o.memo, campaign_of(o.memo, 0, NULL, "bb", "/bin/q"),
	     "[{\"a\":4}]");
	merge(f, &o);
	recalls(f->memo, f->campaign, "[{\"a\":1}]");
	recalls(f->memo, third, "[{\"a\":3}]");
	recalls(f->memo, campaign_of(f->memo, 1001 + 1, NULL, "aa", "/bin/p"),
		"[{\"a\":2}]");
	recalls(f->memo, campaign_of(f->memo, 0, NULL, "bb", "/bin/q"),
		"[{\"a\":4}]");
	maple_memo_close(o.memo);
}

/* A user's under his name, and what his file has of him without it. */
static void two_rows_may_be_one_users(void **state)
{
	struct fixture *f = *state;
	struct other o;
	int64_t named;

	if (at_server("theirs"))
		skip(); /* there every row has a name */
	open_other(f, &o);
	named = campaign_of(o.memo, (uint64_t)geteuid() + 1, NULL, "aa",
			    "/bin/p");
	keep(o.memo, named, "[{\"a\":1}]");
	older(o.memo);
	keep(o.memo, o.campaign, "[{\"a\":2}]");
	assert_int_equal(number(o.memo, "SELECT count(*) FROM corpus"), 2);
	merge(f, &o);
	recalls(f->memo, f->campaign, "[{\"a\":2},{\"a\":1}]");
	maple_memo_close(o.memo);
}

/* The same in ours, as mapled's has what root kept by way of it. */
static void two_of_ours_may_be_one_users(void **state)
{
	struct fixture *f = *state;
	struct other o;
	int64_t named;

	if (at_server("ours"))
		skip(); /* there every row has a name */
	open_other(f, &o);
	named = campaign_of(f->memo, (uint64_t)geteuid() + 1, NULL, "aa",
			    "/bin/p");
	keep(f->memo, named, "[{\"a\":1}]");
	older(f->memo);
	keep(o.memo, o.campaign, "[{\"a\":2}]");
	for (int i = 0; i < 2; i++) {
		merge(f, &o);
		recalls(f->memo, named, "[{\"a\":2},{\"a\":1}]");
		recalls(f->memo, f->campaign, "[{\"a\":2},{\"a\":1}]");
	}
	/* Until he keeps something else. */
	keep(f->memo, named, "[{\"a\":3}]");
	number(f->memo, "UPDATE corpus SET at = at + (owner >= 0) RETURNING at");
	recalls(f->memo, f->campaign, "[{\"a\":3}]");
	merge(f, &o);
	recalls(f->memo, named, "[{\"a\":3},{\"a\":2},{\"a\":1}]");
	assert_int_equal(number(f->memo, "SELECT count(*) FROM corpus"), 1);
	maple_memo_close(o.memo);
}

/* A text of @n lists from number @first on, each of @size bytes. */
static char *many(unsigned int first, unsigned int n, int size)
{
	char *text, *p = malloc((size_t)n * (size_t)(size + 1) + 8);

	text = p;
	*p++ = '[';
	for (unsigned int i = first; i < first + n; i++)
		p += sprintf(p, "%s{\"a\":\"%0*u\"}", i > first ? "," : "",
			     size - 8, i);
	strcpy(p, "]");
	return text;
}

static int64_t lists(struct maple_memo *memo)
{
	return number(memo, "SELECT count(*) FROM corpus c,"
			    " json_each(c.text) j");
}

static void no_more_than_there_may_be(void **state)
{
	struct fixture *f = *state;
	char *ours = many(0, 40, 16), *theirs = many(100, 40, 16), *text;
	struct other o;

	open_other(f, &o);
	keep(f->memo, f->campaign, ours);
	older(f->memo);
	keep(o.memo, o.campaign, theirs);
	merge(f, &o);
	assert_int_equal(lists(f->memo), MAPLE_MEMO_CORPUS_LISTS);
	OK(maple_memo_corpus_recall(f->memo, f->campaign, "grey", &text, &err));
	/* All of the newer one. */
	assert_memory_equal(text, theirs, strlen(theirs) - 1);
	free(text);
	free(ours);
	free(theirs);

	/* Of those of 10 KB there is room for 26; a short one fits yet. */
	ours = many(0, 20, 10000);
	theirs = many(100, 20, 10000);
	keep(o.memo, o.campaign, theirs);
	strcpy(strrchr(ours, ']'), ",{}]");
	keep(f->memo, f->campaign, ours);
	older(f->memo);
	merge(f, &o);
	assert_int_equal(lists(f->memo), 27);
	merge(f, &o);
	assert_int_equal(lists(f->memo), 27);
	free(ours);
	free(theirs);
	maple_memo_close(o.memo);
}

static void what_is_no_list_is_left_out(void **state)
{
	static const char *const texts[] = { "",  "nothing", "[1,\"x\",null]",
					     "[", "{}",	     "[]",
					     "7" };
	struct fixture *f = *state;
	struct other o;

	open_other(f, &o);
	keep(f->memo, f->campaign, "[{\"a\":1}]");
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		keep(o.memo, o.campaign, texts[i]);
		merge(f, &o);
		recalls(f->memo, f->campaign, "[{\"a\":1}]");
	}
	number(o.memo, "UPDATE corpus SET text = x'ff00' RETURNING at");
	merge(f, &o);
	recalls(f->memo, f->campaign, "[{\"a\":1}]");
	maple_memo_close(o.memo);
}

/* As many as there are; each is one of these. */
static void has_reached(struct maple_memo *memo, int64_t program,
			const char *const *want, size_t most)
{
	char **texts;
	size_t n;

	OK(maple_memo_reached(memo, program, &texts, &n, &err));
	assert_int_equal(n, most);
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < most; k++)
			found |= !strcmp(texts[i], want[k]);
		if (!found)
			fail_msg("%s", texts[i]);
	}
	maple_memo_texts_destroy(texts, n);
}

/* Of all inputs of an executable, and of no other; an order once it was seen. */
static void what_runs_have_reached(void **state)
{
	static const char *const want[] = { "[{\"sites\":\"1\"}]",
					    "[{\"sites\":\"2\"}]",
					    "{\"class\":\"idiom 1\","
					    "\"forced\":[32,16]}",
					    "{\"class\":\"idiom 1\","
					    "\"forced\":[-1,16]}",
					    "{\"found\":[[0,-1,\"0x10\"],"
					    "[1,0,null]]}" };
	struct maple_moment moments[] = {
		{ .event = 0,
		  .from = -1,
		  .place = { .build_id = (char *)"aa", .offset = 16 } },
		{ .event = 1,
		  .from = 0,
		  .place = { .build_id = (char *)"cc", .offset = 32 } },
	};
	struct maple_finding finding = { .id = (char *)"abc",
					 .title = (char *)"t",
					 .what = (char *)"w",
					 .moments = moments,
					 .nmoments = 2 };
	struct fixture *f = *state;
	int64_t other = campaign_of(f->memo, 0, "other", "aa", "/bin/p");
	int64_t rebuilt = campaign_of(f->memo, 0, "other", "bb", "/bin/p");
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 2,
		.use = { { "aa", NULL, 32, false, 'W' },
			 { "aa", NULL, 16, false, 'R' } },
	};
	int64_t row;

	has_reached(f->memo, f->program, NULL, 0);
	keep(f->memo, f->campaign, "[{\"not\":\"this\"}]");
	OK(maple_memo_corpus_keep(f->memo, f->campaign, MAPLE_MEMO_REACHED,
				  want[0], &err));
	OK(maple_memo_corpus_keep(f->memo, other, MAPLE_MEMO_REACHED, want[1],
				  &err));
	OK(maple_memo_corpus_keep(f->memo, rebuilt, MAPLE_MEMO_REACHED, "[]",
				  &err));
	has_reached(f->memo, f->program, want, 2);
	OK(maple_memo_goal(f->memo, &key, &row, &err));
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_PREDICTED,
			   &err));
	has_reached(f->memo, f->program, want, 2);
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_EXPOSED, &err));
	has_reached(f->memo, f->program, want, 3);
	/* That it broke a run is not that it was seen. */
	key.use[0].offset = 48;
	OK(maple_memo_goal(f->memo, &key, &row, &err));
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_BROKE, &err));
	has_reached(f->memo, f->program, want, 3);
	/* Of a place in another image it is known that there is one. */
	key.use[0].build_id = "cc";
	OK(maple_memo_goal(f->memo, &key, &row, &err));
	OK(maple_memo_mark(f->memo, f->program, row, MAPLE_MEMO_OBSERVED, &err));
	has_reached(f->memo, f->program, want, 4);
	OK(maple_memo_finding_store(f->memo, f->campaign, &finding, &err));
	has_reached(f->memo, f->program, want, 5);
	OK(maple_memo_forget_program(f->memo, f->program, 0, &err));
	has_reached(f->memo, f->program, NULL, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_last_one_is_kept),
		TEST(too_much_and_too_early_are_refused),
		TEST(it_outlives_a_rebuild),
		TEST(each_has_his_own),
		TEST(a_strangers_is_not_ours),
		TEST(it_goes_with_its_program),
		TEST(what_it_takes_is_counted),
		TEST(it_is_in_no_export),
		TEST(the_newer_ones_come_first),
		TEST(what_only_one_has_stays),
		TEST(two_rows_may_be_one_users),
		TEST(two_of_ours_may_be_one_users),
		TEST(no_more_than_there_may_be),
		TEST(what_is_no_list_is_left_out),
		TEST(what_runs_have_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
