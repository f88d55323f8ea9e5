// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo's file: bad ones, old ones, shared ones, and disks that fail.
 *
 * beside: guests
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sqlite3.h>
#include <xxhash.h>
#include "memo/sql.h"
#include "memo_rig.h"

#define GETTER	     "94303620749244f41f47c56e3c5b42040ba23e05"
#define FIRST_SCHEMA 0xadcf05506e779397ull

static void spoil(const char *path, off_t at, const char *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static char *slurp(const char *path, size_t *size)
{
	char *data = malloc((1 << 20) + 1);
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	*size = fread(data, 1, 1 << 20, in);
	fclose(in);
	return data;
}

/* Opening @path fails with @errnum, names it, and leaves it untouched. */
static void refused(const char *path, int errnum, const char *word)
{
	struct maple_error err = { "" };
	struct maple_memo *memo;
	size_t before, after;
	char *old = slurp(path, &before), *new;

	for (unsigned int flags = 0; flags <= MAPLE_MEMO_READONLY; flags++) {
		assert_int_equal(maple_memo_open(path, flags, &memo, &err),
				 -errnum);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, word));
		assert_non_null(strstr(err.text, "--db FILE"));
	}
	new = slurp(path, &after);
	assert_int_equal(before, after);
	assert_memory_equal(old, new, before);
	free(old);
	free(new);
}

static void bad_files_are_refused_and_kept(void **state)
{
	struct fixture *f = *state;
	char path[64], noise[4096];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/text", f->dir);
	spoil(path, 0, "hello, this is no database", 26);
	refused(path, EBADMSG, "no memo database");

	snprintf(path, sizeof(path), "%s/other.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE mine(a)", NULL, NULL, NULL);
	sqlite3_close(db);
	refused(path, EBADMSG, "no memo database");

	maple_memo_close(f->memo);
	f->memo = NULL;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
	sqlite3_close(db);
	refused(f->path, ENOTSUP, "newer");
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version = 16", NULL, NULL, NULL);
	sqlite3_close(db);
	OK(maple_memo_open(f->path, 0, &f->memo, &err));
	maple_memo_close(f->memo);
	f->memo = NULL;

	/* Page 2 is the root of a table. */
	memset(noise, 0xa5, sizeof(noise));
	spoil(f->path, 4096, noise, sizeof(noise));
	assert_int_equal(maple_memo_open(f->path, 0, &f->memo, NULL), -EBADMSG);
	f->memo = NULL;
}

/* A database as the first version made it, with something in it. */
static void make_first_version(const char *path)
{
	static const char rows[] =
		"INSERT INTO images VALUES(1, 'aa', '/bin/p');"
		"INSERT INTO sites VALUES(1, 1, 16, 0, 'f', 'p.c', 3, NULL),"
		" (2, 1, 32, 0, 'g', 'p.c', 9, NULL);"
		"INSERT INTO iroots VALUES(1, 1, 'RW', 1, 2, 0, 0);"
		"INSERT INTO programs VALUES(1, 'aa', 'in', '/bin/p');"
		"INSERT INTO memo VALUES(1, 1, 1, 0, 1, 2, 3);"
		"INSERT INTO campaigns VALUES(1, 1, '[]', '', 'in', NULL,"
		" 'ranked', 7, '0.1', 100, 200, 'clean'),"
		" (2, 1, '[]', '', 'in', NULL, 'ranked', 7, '0.1', 100, 200,"
		" 'clean');"
		"INSERT INTO runs(id, campaign, kind, seed, attempt, flip,"
		" began) VALUES(1, 1, 'profile', 1, 0, 0, 100);"
		"PRAGMA application_id = 0x6d61706c; PRAGMA user_version = 1";
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, maple_sql_migrations[0], NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int64_t number(const char *path, const char *sql)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	sqlite3_close(db);
	return n;
}

/* A database at @path by the SQL in @file. */
static void read_sql(const char *path, const char *file)
{
	size_t size;
	char *sql = slurp(file, &size);
	sqlite3 *db;

	sql[size] = '\0';
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(sql);
}

/* What was released must stay as it was, to the letter. */
static void the_first_schema_never_changes(void **state)
{
	assert_int_equal(XXH3_64bits(maple_sql_migrations[0],
				     strlen(maple_sql_migrations[0])),
			 FIRST_SCHEMA);
}

static void the_first_version_is_brought_up_to_date(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_goal_key key = {
		.class = "idiom 1",
		.n = 2,
		.use = { { "aa", "/bin/p", 16, false, 'R', .fingerprint = "x" },
			 { "aa", "/bin/p", 32, false, 'W',
			   .fingerprint = "y" } },
	};
	struct maple_memo_state s;
	struct maple_memo *memo;
	int64_t row;
	char path[64];

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	make_first_version(path);
	assert_int_equal(maple_memo_open(path, MAPLE_MEMO_READONLY, &memo, NULL),
			 -ENOTSUP);
	OK(maple_memo_open(path, 0, &memo, &err));
	OK(maple_memo_check(memo, &err));
	OK(maple_memo_goal(memo, &key, &row, &err));
	assert_int_equal(row, 1);
	OK(maple_memo_state(memo, 1, row, &s, &err));
	assert_true(s.predicted && s.exposed);
	assert_int_equal(s.failed, 2);
	assert_int_equal(s.attempts, 3);
	maple_memo_close(memo);
	assert_int_equal(number(path, "PRAGMA user_version"), 16);
	assert_int_equal(number(path, "SELECT count(*) FROM findings"
				      " WHERE level IS NOT 0"),
			 0);
	assert_int_equal(number(path, "SELECT count(*) FROM corpus"), 0);
	assert_int_equal(number(path, "SELECT count(*) FROM sqlite_schema"
				      " WHERE type = 'trigger'"
				      " AND tbl_name = 'corpus'"),
			 3);
	/* What was there is charged to its owner, and given back with it. */
	assert_int_equal(number(path, "SELECT sum(bytes) FROM campaigns"),
			 2 * 514 + 512);
	assert_int_equal(number(path, "SELECT sum(bytes) FROM usage"),
			 number(path, "SELECT sum(bytes) FROM campaigns"));
	assert_int_equal(number(path, "SELECT count(DISTINCT uid) FROM"
				      " campaigns"),
			 2);
	/* Noted when the sites come up again. */
	assert_int_equal(number(path, "SELECT count(*) FROM sites WHERE"
				      " fingerprint IN ('x', 'y')"),
			 2);
}

static int64_t getters_goal(struct maple_memo *memo)
{
	const struct maple_memo_goal_key key = {
		.class = "idiom 2",
		.n = 3,
		.use = { { GETTER, NULL, 4429, .kind = 'R' },
			 { GETTER, NULL, 4497, .kind = 'W' },
			 { GETTER, NULL, 4429, .kind = 'R' } },
	};
	int64_t row;

	OK(maple_memo_goal(memo, &key, &row, &err));
	return row;
}

static void execute(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* As two campaigns left it, of iRoots; counted by the version that did so. */
static void iroots_become_goals_of_their_classes(void **state)
{
	struct fixture *f = *state;
	struct maple_memo_program_info *programs;
	struct maple_memo_sample *samples;
	struct maple_memo_success tries;
	struct maple_class_count c;
	struct maple_memo *memo;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	read_sql(path, "tests/data/memo_9.sql");
	/* What has no name is forgotten, by the thirteenth version. */
	execute(path, "UPDATE programs SET input = 'in';"
		      "UPDATE campaigns SET input = 'in'");
	OK(maple_memo_open(path, 0, &memo, &err));
	OK(maple_memo_check(memo, &err));
	assert_int_equal(getters_goal(memo), 21); /* it is there */
	OK(maple_memo_programs(memo, &programs, &n, &err));
	assert_int_equal(n, 2);
	maple_memo_programs_destroy(programs, n);
	c = counts_of(memo, 1, "idiom 1");
	assert_int_equal(c.predicted, 12);
	assert_int_equal(c.exposed, 12);
	c = counts_of(memo, 1, "idiom 5");
	assert_int_equal(c.predicted, 2);
	assert_int_equal(c.left, 2);
	assert_int_equal(counts_of(memo, 1, "deadlock").predicted, 2);
	c = counts_of(memo, 1, "all");
	assert_int_equal(c.predicted, 18);
	assert_int_equal(c.exposed, 14);
	assert_int_equal(c.left, 4);
	OK(maple_memo_success(memo, 1, &tries, &err));
	assert_int_equal(tries.nclasses, 3);
	assert_string_equal(tries.class[2].name, "deadlock");
	assert_int_equal(tries.class[0].forced, 4);
	maple_memo_success_deinit(&tries);
	OK(maple_memo_samples(memo, 1, 0, &samples, &n, &err));
	assert_int_equal(n, 2);
	assert_int_equal(samples[0].coverage.nclasses, 7);
	assert_int_equal(class_of(&samples[0].coverage, "idiom 1").exposed, 5);
	assert_int_equal(maple_coverage_sum(&samples[1].coverage).exposed, 14);
	maple_memo_samples_destroy(samples, n);
	OK(maple_memo_forget_all(memo, &err));
	maple_memo_close(memo);
	assert_int_equal(number(path, "SELECT count(*) FROM"
				      " pragma_foreign_key_check"),
			 0);
	assert_int_equal(number(path, "SELECT count(*) FROM sqlite_schema"
				      " WHERE sql LIKE '%iroot%'"),
			 0);
	assert_int_equal(number(path, "SELECT count(*) FROM goals"), 0);
}

/* Of the inputs that schema 12 told apart by their names alone. */
static void what_had_no_name_goes_to_its_command(void **state)
{
	static const char rows[] =
		"INSERT INTO images VALUES(1, 'aa', '/bin/p');"
		"INSERT INTO sites VALUES(1, 1, 16, 0, 'f', 'p.c', 3, NULL);"
		"INSERT INTO goals VALUES(1, 1, 'R', '[1]', '');"
		"INSERT INTO programs VALUES(1, 'aa', '', '/bin/p', 0),"
		" (2, 'aa', 'in', '/bin/p', 0), (3, 'aa', 'case', '/bin/p', 1),"
		" (4, 'aa', 'ask it', '/bin/p', 0);"
		"INSERT INTO memo(program, goal, predicted, observed, exposed,"
		" failed, attempts) VALUES(1, 1, 1, 1, 0, 0, 1),"
		" (2, 1, 1, 1, 0, 0, 1), (3, 1, 1, 1, 0, 0, 1),"
		" (4, 1, 1, 1, 0, 0, 1);"
		"INSERT INTO campaigns(id, program, argv, input, seed, began,"
		" apart) VALUES(1, 1, '[\"./p\",\"a b\"]', NULL, 0, 0, 0),"
		" (2, 1, '[\"p\",\"c\"]', NULL, 0, 0, 0),"
		" (3, 2, '[\"p\",\"c\"]', 'in', 0, 0, 0),"
		" (4, 3, '[\"p\",\"--case\"]', 'case', 0, 0, 1),"
		" (5, 4, '[\"p\",\"c\"]', 'ask it', 0, 0, 0);"
		"INSERT INTO runs(campaign, kind, plan, seed, attempt, flip,"
		" began) VALUES(5, 'enforced', '{\"between\":\"ask it\"}', 0,"
		" 0, 0, 0);"
		"INSERT INTO findings VALUES(-1, 'f1', 1, 1, '{}', 1, 1, 1),"
		" (-1, 'f2', 1, 2, '{}', 1, 1, 1),"
		" (-1, 'f3', 2, 3, '{}', 1, 1, 1),"
		" (-1, 'f4', 3, 4, '{}', 1, 1, 1),"
		" (-1, 'f5', 4, 5, '{}', 1, 1, 1),"
		" (-1, 'f6', 1, NULL, '{\"argv\":[\"p\",\"d\"]}', 1, 1, 1),"
		" (-1, 'f7', 1, NULL, 'nonsense', 1, 1, 1);"
		"INSERT INTO corpus VALUES(1, -1, 'grey', 0, '[]'),"
		" (2, -1, 'grey', 0, '[]');"
		"PRAGMA application_id = 0x6d61706c; PRAGMA user_version = 12";
	static const char *const inputs[] = {
		"$ p ''a b''",	  "$ p c", "in", "$ p --case",
		"$ p c & ask it", "$ p d", ""
	};
	struct fixture *f = *state;
	struct maple_memo *memo;
	char path[64], sql[256];

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	for (int i = 0; i < 12; i++)
		execute(path, maple_sql_migrations[i]);
	execute(path, rows);
	OK(maple_memo_open(path, 0, &memo, &err));
	OK(maple_memo_check(memo, &err));
	maple_memo_close(memo);
	for (int i = 0; i < 7; i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM findings f JOIN programs p"
			 " ON p.id = f.program WHERE f.id = 'f%d'"
			 " AND p.input = '%s'",
			 i + 1, inputs[i]);
		assert_int_equal(number(path, sql), 1);
	}
	assert_int_equal(number(path, "SELECT sum(program) FROM memo"), 2);
	assert_int_equal(number(path, "SELECT sum(program) FROM corpus"), 2);
	assert_int_equal(number(path, "SELECT count(*) FROM programs"), 7);
	assert_int_equal(number(path, "SELECT count(*) FROM programs WHERE"
				      " apart = (input LIKE '$ %')"),
			 7);
	assert_int_equal(number(path, "SELECT count(*) FROM campaigns c"
				      " JOIN programs p ON p.id = c.program"
				      " AND p.input = c.input"
				      " AND p.apart = c.apart"),
			 5);
	assert_int_equal(number(path, "SELECT count(*) FROM"
				      " pragma_foreign_key_check"),
			 0);
}

static void findings_get_the_owners_of_their_campaigns(void **state)
{
	static const char rows[] =
		"INSERT INTO campaigns(id, argv, seed, began, owner, apart)"
		" VALUES(1, '[]', 0, 0, 1001, 0), (2, '[]', 0, 0, NULL, 0);"
		"INSERT INTO findings VALUES('a', NULL, 1, '{}', 1, 2, 3),"
		" ('b', NULL, 2, '{}', 4, 5, 6), ('c', NULL, NULL, '{}', 7, 8, 9);"
		"PRAGMA application_id = 0x6d61706c; PRAGMA user_version = 7";
	struct fixture *f = *state;
	struct maple_memo *memo;
	char path[64];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (int i = 0; i < 7; i++)
		assert_int_equal(sqlite3_exec(db, maple_sql_migrations[i], NULL,
					      NULL, NULL),
				 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	OK(maple_memo_open(path, 0, &memo, &err));
	OK(maple_memo_check(memo, &err));
	maple_memo_close(memo);
	assert_int_equal(number(path, "SELECT owner FROM findings"
				      " WHERE id = 'a' AND times_seen = 3"),
			 1001);
	assert_int_equal(number(path, "SELECT count(*) FROM findings"
				      " WHERE owner = -1 AND id IN ('b', 'c')"),
			 2);
}

/* What cannot be migrated as a whole stays as it is. */
static void a_failed_migration_leaves_no_trace(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo;
	char path[64];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/old.db", f->dir);
	make_first_version(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE runs_iroot(a)", NULL,
				      NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(maple_memo_open(path, 0, &memo, NULL), -EIO);
	assert_int_equal(number(path, "PRAGMA user_version"), 1);
	assert_int_equal(number(path, "SELECT count(*) FROM"
				      " pragma_table_info('campaigns')"
				      " WHERE name = 'uid'"),
			 0);
	assert_int_equal(number(path, "SELECT count(*) FROM memo"), 1);
}

static void a_missing_file_is_made_only_for_writing(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *memo;
	struct maple_error err;
	char path[64];

	snprintf(path, sizeof(path), "%s/new.db", f->dir);
	assert_int_equal(maple_memo_open(path, MAPLE_MEMO_READONLY, &memo, &err),
			 -ENOENT);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/no/such.db", f->dir);
	assert_int_equal(maple_memo_open(path, 0, &memo, &err), -ENOENT);
}

static void two_processes_share_it(void **state)
{
	struct fixture *f = *state;
	struct maple_memo *second, *reader;
	int64_t campaign;

	OK(maple_memo_open(f->path, 0, &second, &err));
	OK(maple_memo_open(f->path, MAPLE_MEMO_READONLY, &reader, &err));
	campaign = begin_campaign(second, NULL);
	assert_int_not_equal(campaign, f->campaign);
	assert_int_equal(maple_memo_campaign_end(reader, campaign, "x", NULL,
						 NULL, NULL),
			 -EROFS);
	OK(maple_memo_campaign_end(f->memo, campaign, "clean", NULL, NULL,
				   &err));
	maple_memo_close(second);
	maple_memo_close(reader);
}

/* Mounts a tmpfs of @size at @dir; only root can, so only root tests it. */
static void mount_small(const char *dir, const char *size)
{
	char options[32];

	if (geteuid())
		skip();
	snprintf(options, sizeof(options), "size=%s", size);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, options), 0);
}

static void a_full_disk_loses_nothing_that_was_written(void **state)
{
	struct fixture *f = *state;
	struct fixture small = { "" };
	struct maple_error err = { "" };
	char dir[64], path[80];
	unsigned int kept = 0;
	int ret = 0;

	snprintf(dir, sizeof(dir), "%s/small", f->dir);
	snprintf(path, sizeof(path), "%s/memo.db", dir);
	mount_small(dir, "256k");
	OK(maple_memo_open(path, 0, &small.memo, &err));
	small.campaign = begin_campaign(small.memo, NULL);
	OK(maple_memo_program(small.memo, small.campaign, "aa", "/bin/p",
			      &small.program, &err));
	for (unsigned int i = 0; i < 100000 && !ret; i++) {
		struct maple_memo_goal_key key = {
			.class = "idiom 1",
			.n = 2,
			.use = { { "aa", NULL, i, false, 'R' },
				 { "aa", NULL, i + 1, false, 'W' } },
		};
		int64_t row;

		ret = maple_memo_goal(small.memo, &key, &row, &err);
		if (!ret)
			ret = maple_memo_mark(small.memo, small.program, row,
					      MAPLE_MEMO_EXPOSED, &err);
		kept += !ret;
	}
	assert_int_equal(ret, -ENOSPC);
	assert_non_null(strstr(err.text, "disk is full"));
	assert_true(kept > 0);
	maple_memo_close(small.memo);
	OK(maple_memo_open(path, MAPLE_MEMO_READONLY, &small.memo, &err));
	OK(maple_memo_check(small.memo, &err));
	assert_int_equal(counts_of(small.memo, small.program, "all").exposed,
			 kept);
	maple_memo_close(small.memo);
	assert_int_equal(umount(dir), 0);
}

static void a_disk_too_small_to_begin_is_said(void **state)
{
	struct fixture *f = *state;
	struct maple_error err = { "" };
	struct maple_memo *memo;
	char dir[64], path[80];

	snprintf(dir, sizeof(dir), "%s/small", f->dir);
	snprintf(path, sizeof(path), "%s/memo.db", dir);
	mount_small(dir, "16k");
	assert_int_equal(maple_memo_open(path, 0, &memo, &err), -ENOSPC);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(umount(dir), 0);
}

static void a_read_only_disk_can_be_read(void **state)
{
	struct fixture *f = *state;
	struct maple_error err = { "" };
	struct maple_memo *memo;
	struct maple_finding **all;
	char dir[64], path[80];
	size_t n;

	snprintf(dir, sizeof(dir), "%s/small", f->dir);
	snprintf(path, sizeof(path), "%s/me?mo%%.db", dir);
	mount_small(dir, "1m");
	OK(maple_memo_open(path, 0, &memo, &err));
	maple_memo_close(memo);
	assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL),
			 0);
	assert_int_equal(maple_memo_open(path, 0, &memo, &err), -EROFS);
	assert_non_null(strstr(err.text, "cannot be written"));
	OK(maple_memo_open(path, MAPLE_MEMO_READONLY, &memo, &err));
	OK(maple_memo_findings(memo, 0, &all, &n, &err));
	maple_memo_close(memo);
	assert_int_equal(umount(dir), 0);
}

/* A file that says whose its findings are is believed if it is ours. */
static void a_strangers_file_is_all_his(void **state)
{
	struct fixture *f = *state;
	struct maple_finding finding = { .id = (char *)"a",
					 .title = (char *)"T",
					 .kind = MAPLE_FAILURE_EXIT };
	struct maple_finding *found;
	struct maple_memo *memo;
	char path[80];

	if (geteuid())
		skip(); /* to give a file away takes root */
	snprintf(path, sizeof(path), "%s/his.db", f->dir);
	OK(maple_memo_open(path, 0, &memo, &err));
	OK(maple_memo_finding_store(memo, begin_campaign(memo, NULL), &finding,
				    &err));
	OK(maple_memo_finding_load(memo, "a", MAPLE_MEMO_ANYBODY, &found, &err));
	assert_int_equal(found->owner, geteuid());
	maple_finding_destroy(found);
	maple_memo_close(memo);
	number(path, "UPDATE findings SET owner = 0 RETURNING owner");
	assert_int_equal(chown(path, 54321, 54321), 0);

	OK(maple_memo_open(path, 0, &memo, &err));
	assert_int_equal(
		maple_memo_finding_load(memo, "a", geteuid(), &found, NULL),
		-ENOENT);
	OK(maple_memo_finding_load(memo, "a", 54321, &found, &err));
	assert_int_equal(found->owner, 54321);
	maple_finding_destroy(found);
	maple_memo_close(memo);

	/* To take it in does not make it ours. */
	OK(maple_memo_merge(f->memo, path, &err));
	OK(maple_memo_finding_load(f->memo, "a", MAPLE_MEMO_ANYBODY, &found,
				   &err));
	assert_int_equal(found->owner, 54321);
	maple_finding_destroy(found);
}

static mode_t mode_of(const char *path, const char *tail)
{
	char name[300];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", path, tail);
	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 0777;
}

static void private_in_all(const char *path, const char *tail, mode_t before,
			   unsigned int flags)
{
	struct maple_error err = { "" };
	struct maple_memo *memo;
	char name[300];

	snprintf(name, sizeof(name), "%s%s", path, tail);
	assert_int_equal(chmod(name, before), 0);
	assert_int_equal(maple_memo_open(path, flags, &memo, &err), 0);
	assert_int_equal(mode_of(path, tail), 0600);
	maple_memo_close(memo);
}

/* Whatever the umask; one that was not is mended, but nothing else's file. */
static void it_is_its_owners_alone(void **state)
{
	struct fixture *f = *state;
	mode_t before = umask(0);
	struct maple_error err = { "" };
	struct maple_memo *memo;
	char path[256];

	snprintf(path, sizeof(path), "%s/private", f->dir);
	assert_int_equal(maple_memo_open(path, 0, &memo, &err), 0);
	assert_int_equal(mode_of(path, ""), 0600);
	assert_int_equal(mode_of(path, "-wal"), 0600);
	assert_int_equal(mode_of(path, "-shm"), 0600);
	private_in_all(path, "-wal", 0644, 0);
	private_in_all(path, "", 0666, MAPLE_MEMO_READONLY);
	private_in_all(path, "", 0644, 0);
	maple_memo_close(memo);
	snprintf(path, sizeof(path), "%s/letter", f->dir);
	spoil(path, 0, "Dear database", 13);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_not_equal(maple_memo_open(path, 0, &memo, &err), 0);
	assert_int_equal(mode_of(path, ""), 0644);
	umask(before);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(bad_files_are_refused_and_kept),
		TEST(the_first_schema_never_changes),
		TEST(the_first_version_is_brought_up_to_date),
		TEST(iroots_become_goals_of_their_classes),
		TEST(what_had_no_name_goes_to_its_command),
		TEST(findings_get_the_owners_of_their_campaigns),
		TEST(a_failed_migration_leaves_no_trace),
		TEST(a_missing_file_is_made_only_for_writing),
		TEST(two_processes_share_it),
		TEST(a_full_disk_loses_nothing_that_was_written),
		TEST(a_disk_too_small_to_begin_is_said),
		TEST(a_read_only_disk_can_be_read),
		TEST(a_strangers_file_is_all_his),
		TEST(it_is_its_owners_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
