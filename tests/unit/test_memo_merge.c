// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Merging databases: a union, once, from a file that is only read.
 *
 * beside: guests
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <maple/memo.h>
#include "memo/sql.h"
#include "memo_place.h"
#include "ok.h"

static char dir[64];

struct side {
	char path[PLACE];
	struct maple_memo *memo;
	int64_t campaign, program;
};

static void begin_side(struct side *s, const char *build_id)
{
	static char *const argv[] = { "prog", NULL };
	struct maple_memo_campaign c = { argv, "/tmp", NULL, NULL, "ranked", 7 };

	OK(maple_memo_open(s->path, 0, &s->memo, &err));
	OK(maple_memo_campaign_begin(s->memo, &c, &s->campaign, &err));
	OK(maple_memo_program(s->memo, s->campaign, build_id, "/bin/p",
			      &s->program, &err));
}

static void open_side(struct side *s, const char *name, const char *build_id)
{
	char file[32];

	snprintf(file, sizeof(file), "%s.db", name);
	place(s->path, dir, file, name);
	begin_side(s, build_id);
}

static int64_t iroot(struct side *s, uint64_t first, uint64_t second)
{
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 2,
		.use = { { "aa", "/bin/p", first, false, 'R' },
			 { "bb", "/lib/l", second, true, 'W' } },
	};
	int64_t row;

	OK(maple_memo_goal(s->memo, &key, &row, &err));
	return row;
}

static void mark(struct side *s, int64_t row, enum maple_memo_mark mark,
		 int times)
{
	while (times--)
		OK(maple_memo_mark(s->memo, s->program, row, mark, &err));
}

static struct maple_memo_state state_of(struct side *s, int64_t row)
{
	struct maple_memo_state state;

	OK(maple_memo_state(s->memo, s->program, row, &state, &err));
	return state;
}

static void run(struct side *s, int64_t row, uint64_t exposed)
{
	struct maple_memo_run start = { "enforced", row, NULL, 7, 1, false };
	struct maple_memo_run_end end = { .verdict = "pass",
					  .reason = MAPLE_MEMO_REASON_GAVE_UP,
					  .news = 3 };
	struct maple_class_count one = { "idiom 1", .exposed = exposed };
	struct maple_coverage c = { 1, &one };
	int64_t id;

	OK(maple_memo_run_begin(s->memo, s->campaign, &start, &id, &err));
	OK(maple_memo_run_end(s->memo, id, &end, &err));
	OK(maple_memo_sample(s->memo, id, &c, &err));
}

static void find_bug(struct side *s, char *id, uint64_t when, int times)
{
	struct maple_finding f = { .id = id,
				   .kind = MAPLE_FAILURE_SIGNAL,
				   .title = when > 50 ? "late" : "early",
				   .found_at = when };

	while (times--)
		OK(maple_memo_finding_store(s->memo, s->campaign, &f, &err));
}

static char *export(struct side *s)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	OK(maple_memo_export(s->memo, out, &err));
	fclose(out);
	return text;
}

static int setup(void **state)
{
	struct side *sides = calloc(2, sizeof(*sides));

	strcpy(dir, "/tmp/maple-merge-XXXXXX");
	assert_non_null(mkdtemp(dir));
	open_side(&sides[0], "ours", "aa");
	open_side(&sides[1], "theirs", "aa");
	/* The same rows get other numbers there. */
	iroot(&sides[1], 90, 91);
	*state = sides;
	return 0;
}

static int teardown(void **state)
{
	struct side *sides = *state;
	char command[128];

	OK(maple_memo_check(sides[0].memo, &err));
	maple_memo_close(sides[0].memo);
	maple_memo_close(sides[1].memo);
	free(sides);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void what_either_knows_is_known(void **state)
{
	struct side *ours = *state, *theirs = ours + 1;
	int64_t both = iroot(ours, 1, 2), mine = iroot(ours, 1, 3);
	int64_t other = iroot(theirs, 1, 2), their = iroot(theirs, 4, 5);
	struct maple_memo_state s;

	mark(ours, both, MAPLE_MEMO_ATTEMPT, 3);
	mark(ours, both, MAPLE_MEMO_FAILED, 1);
	mark(theirs, other, MAPLE_MEMO_ATTEMPT, 2);
	mark(theirs, other, MAPLE_MEMO_FAILED, 2);
	mark(theirs, other, MAPLE_MEMO_EXPOSED, 1);
	mark(ours, mine, MAPLE_MEMO_OBSERVED, 1);
	mark(theirs, their, MAPLE_MEMO_PREDICTED, 1);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	s = state_of(ours, both);
	assert_true(s.exposed);
	assert_int_equal(s.attempts, 3);
	assert_int_equal(s.failed, 2);
	assert_true(state_of(ours, mine).exposed);
	s = state_of(ours, iroot(ours, 4, 5));
	assert_true(s.predicted && !s.exposed);
	/* And the other way round: the same in the end. */
	OK(maple_memo_merge(theirs->memo, ours->path, &err));
	s = state_of(theirs, other);
	assert_true(s.exposed);
	assert_int_equal(s.attempts, 3);
	assert_true(state_of(theirs, iroot(theirs, 1, 3)).exposed);
}

static void merging_twice_changes_nothing(void **state)
{
	struct side *ours = *state, *theirs = ours + 1;
	struct maple_memo_sample *samples;
	struct maple_finding *finding;
	char *once, *twice;
	size_t n;

	mark(ours, iroot(ours, 1, 2), MAPLE_MEMO_FAILED, 2);
	mark(theirs, iroot(theirs, 1, 2), MAPLE_MEMO_FAILED, 1);
	run(ours, iroot(ours, 1, 2), 1);
	run(theirs, iroot(theirs, 1, 2), 2);
	run(theirs, iroot(theirs, 1, 3), 3);
	find_bug(ours, "b1", 40, 3);
	find_bug(theirs, "b1", 60, 2);
	find_bug(theirs, "b2", 70, 1);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	once = export(ours);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	OK(maple_memo_merge(ours->memo, ours->path, &err));
	twice = export(ours);
	assert_string_equal(once, twice);
	free(once);
	free(twice);

	OK(maple_memo_samples(ours->memo, ours->program, 0, &samples, &n, &err));
	assert_int_equal(n, 3);
	assert_int_equal(samples[2].coverage.class->exposed, 3);
	maple_memo_samples_destroy(samples, n);
	OK(maple_memo_finding_load(ours->memo, "b1", MAPLE_MEMO_ANYBODY,
				   &finding, &err));
	assert_string_equal(finding->title, "late");
	assert_int_equal(finding->found_at, 40);
	maple_finding_destroy(finding);
	OK(maple_memo_finding_load(ours->memo, "b2", MAPLE_MEMO_ANYBODY,
				   &finding, &err));
	maple_finding_destroy(finding);
}

/* Root's has his name in mapled's memo, and none in one that he has written. */
static void a_finding_of_the_files_owner_is_one(void **state)
{
	static char *const argv[] = { "prog", NULL };
	struct maple_memo_campaign named = { argv,
					     "/tmp",
					     NULL,
					     NULL,
					     "ranked",
					     7,
					     .owner = (uint64_t)geteuid() + 1 };
	struct side *ours = *state, *theirs = ours + 1;
	struct maple_finding **list;
	size_t n;

	OK(maple_memo_campaign_begin(ours->memo, &named, &ours->campaign, &err));
	OK(maple_memo_program(ours->memo, ours->campaign, "aa", "/bin/p",
			      &ours->program, &err));
	find_bug(ours, "b1", 40, 1);
	find_bug(theirs, "b1", 60, 1);
	find_bug(theirs, "b2", 60, 1);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	OK(maple_memo_findings(ours->memo, 0, &list, &n, &err));
	assert_int_equal(n, 2);
	assert_string_equal(list[0]->id, "b1");
	assert_string_equal(list[0]->title, "late");
	maple_memo_findings_destroy(list, n);
}

/* Wherever it was made later, and merged from where to where. */
static void a_finding_was_made_where_it_was_made_first(void **state)
{
	struct side *ours = *state, *theirs = ours + 1;
	struct maple_memo_machine *machines;
	struct maple_finding *found;
	size_t n;

	OK(maple_sql_exec(ours->memo,
			  "UPDATE campaigns SET machine = 'near',"
			  " kernel = '6', backend = 'agent'",
			  &err));
	OK(maple_sql_exec(theirs->memo,
			  "UPDATE campaigns SET machine = 'far', kernel = '5',"
			  " backend = 'module'",
			  &err));
	find_bug(ours, "b1", 40, 1);
	find_bug(theirs, "b1", 30, 1);
	find_bug(ours, "b2", 40, 1);
	find_bug(theirs, "b2", 60, 1);
	find_bug(theirs, "b3", 60, 1);
	run(theirs, iroot(theirs, 1, 2), 1);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	OK(maple_memo_finding_load(ours->memo, "b1", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_string_equal(found->machine, "far");
	assert_string_equal(found->kernel, "5");
	assert_string_equal(found->first_backend, "module");
	maple_finding_destroy(found);
	OK(maple_memo_finding_load(ours->memo, "b2", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_string_equal(found->machine, "near");
	maple_finding_destroy(found);
	OK(maple_memo_machines(ours->memo, false, &machines, &n, &err));
	assert_int_equal(n, 2);
	assert_string_equal(machines[0].name, "far");
	assert_string_equal(machines[0].backend, "module");
	assert_int_equal(machines[0].runs, 1);
	assert_int_equal(machines[0].news, 3);
	assert_int_equal(machines[0].findings, 2);
	assert_int_equal(machines[1].findings, 1);
	maple_memo_machines_destroy(machines, n);
}

static int64_t list(struct side *s, const char *class, uint64_t context)
{
	struct maple_memo_goal_key key = {
		.class = class,
		.n = 5,
		.use = { { "bb", "/lib/l", 3, false, 'R' },
			 { "aa", "/bin/p", 1, false, 'W', .context = context },
			 { "bb", "/lib/l", 3, false, 'R' },
			 { "aa", "/bin/p", 2, false, 'L' },
			 { "bb", "/lib/l", 9, false, 'U' } },
	};
	int64_t row;

	OK(maple_memo_goal(s->memo, &key, &row, &err));
	return row;
}

/* Classes, too, have other numbers there. */
static void goals_of_any_class_are_merged(void **state)
{
	struct side *ours = *state, *theirs = ours + 1;
	int64_t row;

	list(ours, "one", 0);
	list(theirs, "two", 0);
	row = list(theirs, "one", 7);
	mark(theirs, row, MAPLE_MEMO_EXPOSED, 1);
	OK(maple_memo_merge(ours->memo, theirs->path, &err));
	assert_false(state_of(ours, list(ours, "one", 0)).exposed);
	assert_false(state_of(ours, list(ours, "two", 7)).exposed);
	assert_true(state_of(ours, list(ours, "one", 7)).exposed);
}

/* A copy made while a campaign went on has its beginning only. */
static void a_campaign_goes_on_where_the_copy_ends(void **state)
{
	static const char parts[] = "[{\"name\":\"pcr\",\"runs\":3,\"news\":1,"
				    "\"findings\":0,\"seconds\":0.5}]";
	struct side *ours = *state;
	struct maple_memo_program_info *programs;
	struct maple_memo_sample *samples;
	struct maple_memo *old;
	char path[128], command[512];
	int64_t row = iroot(ours, 1, 2);
	size_t n;

	run(ours, row, 1);
	run(ours, row, 2);
	snprintf(path, sizeof(path), "%s/copy.db", dir);
	if (at_server("ours")) {
		OK(maple_memo_open(path, 0, &old, &err));
		OK(maple_memo_merge(old, ours->path, &err));
		maple_memo_close(old);
	} else {
		maple_memo_close(ours->memo);
		snprintf(command, sizeof(command), "cp %s %s", ours->path, path);
		assert_int_equal(system(command), 0);
		OK(maple_memo_open(ours->path, 0, &ours->memo, &err));
	}
	run(ours, row, 3);
	OK(maple_memo_campaign_end(ours->memo, ours->campaign, "clean", NULL,
				   parts, &err));
	OK(maple_memo_open(path, 0, &old, &err));
	OK(maple_memo_merge(old, ours->path, &err));
	OK(maple_memo_samples(old, ours->program, 0, &samples, &n, &err));
	assert_int_equal(n, 3);
	assert_int_equal(samples[2].coverage.class->exposed, 3);
	maple_memo_samples_destroy(samples, n);
	OK(maple_memo_programs(old, &programs, &n, &err));
	assert_string_equal(programs->parts, parts);
	maple_memo_programs_destroy(programs, n);
	maple_memo_close(old);
}

static void an_older_schema_is_read_and_left_as_it_is(void **state)
{
	struct side *ours = *state;
	struct maple_memo_program_info *programs;
	char path[128], sql[2048];
	struct maple_memo *old;
	size_t n;
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/first.db", dir);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO images VALUES(5, 'aa', '/bin/p'), (9, 'bb', NULL);"
		 "INSERT INTO sites VALUES(3, 5, 1, 0, 'f', 'p.c', 3, NULL),"
		 " (4, 9, 2, 1, 'g', NULL, NULL, NULL);"
		 "INSERT INTO iroots VALUES(8, 1, 'RW', 3, 4, 0, 0);"
		 "INSERT INTO iroots VALUES(7, 1, 'WW', 3, 4, 0, 0);"
		 "INSERT INTO programs VALUES(6, 'aa', 'in', '/bin/p'),"
		 " (7, 'aa', '', '/bin/p');"
		 "INSERT INTO memo VALUES(6, 8, 1, 0, 1, 0, 1),"
		 " (7, 7, 1, 0, 1, 0, 1);"
		 "INSERT INTO campaigns VALUES(1, 7, '[\"p\",\"b\"]', '', NULL,"
		 " NULL, 'ranked', 7, '0.1', 100, 200, 'clean');"
		 "INSERT INTO findings VALUES('b1', 7, 1, '{}', 1, 1, 1);"
		 "PRAGMA application_id = 0x6d61706c; PRAGMA user_version = 1");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, maple_sql_migrations[0], NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	OK(maple_memo_merge(ours->memo, path, &err));
	assert_true(state_of(ours, iroot(ours, 1, 2)).exposed);
	/* Of what had no name, what was found goes to its command. */
	OK(maple_memo_programs(ours->memo, &programs, &n, &err));
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		bool named = programs[i].input &&
			     !strcmp(programs[i].input, "in");
		bool found = programs[i].input &&
			     !strcmp(programs[i].input, "$ p b");

		assert_int_equal(programs[i].findings, found);
		assert_int_equal(
			maple_coverage_sum(&programs[i].coverage).predicted,
			named);
	}
	maple_memo_programs_destroy(programs, n);
	assert_int_equal(maple_memo_open(path, MAPLE_MEMO_READONLY, &old, NULL),
			 -ENOTSUP);
}

static void refused(struct side *ours, const char *path, int errnum)
{
	struct maple_error err = { "" };
	char *before = export(ours), *after;

	assert_int_equal(maple_memo_merge(ours->memo, path, &err), -errnum);
	assert_non_null(strstr(err.text, path));
	after = export(ours);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void a_bad_file_is_refused_and_changes_nothing(void **state)
{
	struct side *ours = *state, theirs;
	char path[128], noise[4096];
	sqlite3 *db;
	int fd;

	mark(ours, iroot(ours, 1, 2), MAPLE_MEMO_EXPOSED, 1);
	snprintf(path, sizeof(path), "%s/none.db", dir);
	refused(ours, path, ENOENT);
	assert_int_equal(access(path, F_OK), -1);

	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "no database at all, this", 24), 24);
	close(fd);
	refused(ours, path, EBADMSG);

	/* Damage in the middle, which only a look at all of it shows. */
	snprintf(theirs.path, sizeof(theirs.path), "%s/damaged.db", dir);
	begin_side(&theirs, "aa");
	for (unsigned int i = 0; i < 200; i++)
		mark(&theirs, iroot(&theirs, i, i), MAPLE_MEMO_EXPOSED, 1);
	maple_memo_close(theirs.memo);
	fd = open(theirs.path, O_WRONLY);
	memset(noise, 0x5a, sizeof(noise));
	assert_int_equal(pwrite(fd, noise, sizeof(noise), 5 * 4096),
			 sizeof(noise));
	close(fd);
	refused(ours, theirs.path, EBADMSG);

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db,
		     "CREATE TABLE t(a); PRAGMA user_version = 99;"
		     " PRAGMA application_id = 0x6d61706c",
		     NULL, NULL, NULL);
	sqlite3_close(db);
	refused(ours, path, ENOTSUP);
	assert_true(state_of(ours, iroot(ours, 1, 2)).exposed);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_either_knows_is_known),
		TEST(merging_twice_changes_nothing),
		TEST(a_finding_of_the_files_owner_is_one),
		TEST(a_finding_was_made_where_it_was_made_first),
		TEST(goals_of_any_class_are_merged),
		TEST(a_campaign_goes_on_where_the_copy_ends),
		TEST(an_older_schema_is_read_and_left_as_it_is),
		TEST(a_bad_file_is_refused_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
