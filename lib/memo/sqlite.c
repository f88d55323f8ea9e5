// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo in SQLite: opening, creating and migrating the file, and what its
 * result codes mean to the user. What is there is looked at before anything is
 * written: a file that is damaged, is of a newer maple or is something else
 * stays as it is.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memo/sql.h"

#define APPLICATION 0x6d61706c /* "mapl" in the file's header */
#define BUSY_MS	    10000

/* memo->db */
struct connection {
	sqlite3 *db;
	bool limited; /* in size, by us */
};

struct query {
	struct maple_query common;
	sqlite3_stmt *statement;
};

static sqlite3 *db_of(const struct maple_memo *memo)
{
	struct connection *c = memo->db;

	return c->db;
}

#define ELSEWHERE "name another place with --db FILE"

/*
 * fail - SQLite's @rc as a negative errno and a sentence
 *
 * Must be called before the connection is used again.
 */
static int fail(struct maple_memo *memo, int rc, struct maple_error *err)
{
	const char *path = memo->path;
	struct connection *c = memo->db;
	int errnum = sqlite3_system_errno(c->db);

	/* SQLite reports some full disks as I/O errors. */
	if (errnum == ENOSPC || errnum == EDQUOT)
		rc = SQLITE_FULL;
	switch (rc & 0xff) {
	case SQLITE_FULL:
		if (c->limited && errnum != ENOSPC && errnum != EDQUOT)
			return maple_error_set(err, ENOSPC,
					       "memo database '%s' is as big "
					       "as it may be: see max-memo in "
					       "mapled.conf(5)",
					       path);
		return maple_error_set(err, ENOSPC,
				       "memo database '%s': the disk is full; "
				       "free some space or " ELSEWHERE,
				       path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return maple_error_set(
			err, EBUSY,
			"memo database '%s' is in use by "
			"another process; wait for it or " ELSEWHERE,
			path);
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return maple_error_set(err, EROFS,
				       "memo database '%s' or its directory "
				       "cannot be written; " ELSEWHERE,
				       path);
	case SQLITE_CORRUPT:
		return maple_sql_damaged(memo, err);
	case SQLITE_NOTADB:
		return maple_error_set(err, EBADMSG,
				       "'%s' is no memo database; " ELSEWHERE,
				       path);
	case SQLITE_CANTOPEN:
		errnum = errnum ? errnum : ENOENT;
		return maple_error_set(err, errnum,
				       "memo database '%s' cannot be opened: "
				       "%s; " ELSEWHERE,
				       path, strerror(errnum));
	case SQLITE_NOMEM:
		return maple_error_set(err, ENOMEM, "out of memory");
	default:
		return maple_error_set(err, EIO, "memo database '%s': %s", path,
				       sqlite3_errmsg(c->db));
	}
}

static int exec(struct maple_memo *memo, const char *sql,
		struct maple_error *err)
{
	int rc = sqlite3_exec(db_of(memo), sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : fail(memo, rc, err);
}

/*
 * whose(owner) in SQL: the uid that a finding's column stands for. What is
 * said in a file of a third party's, that party may have made up: then all of
 * it is his.
 */
static void whose(sqlite3_context *context, int n, sqlite3_value **value)
{
	const struct maple_memo *memo = sqlite3_user_data(context);
	int64_t said = sqlite3_value_int64(value[0]);
	bool believed = memo->owner == 0 || memo->owner == geteuid();

	sqlite3_result_int64(context,
			     believed && said >= 0 ? said : memo->owner);
}

/* input_of(text, requests): see maple_sql_input_of(); older schemas ask it */
static void input_of(sqlite3_context *context, int n, sqlite3_value **value)
{
	char *input =
		maple_sql_input_of((const char *)sqlite3_value_text(value[0]),
				   (const char *)sqlite3_value_text(value[1]));

	sqlite3_result_text(context, input ? input : "", -1, SQLITE_TRANSIENT);
	free(input);
}

/* octet_length(text), which SQLite has from 3.43 on */
static void octet_length(sqlite3_context *context, int n, sqlite3_value **value)
{
	if (sqlite3_value_type(*value) != SQLITE_NULL)
		sqlite3_result_int64(context, sqlite3_value_bytes(*value));
}

/* What every connection has, @memo's file being open. */
static int know_owner(struct maple_memo *memo, struct maple_error *err)
{
	struct stat st;
	int rc;

	memo->owner = stat(memo->path, &st) ? geteuid() : st.st_uid;
	rc = sqlite3_create_function(db_of(memo), "whose", 1,
				     SQLITE_UTF8 | SQLITE_DIRECTONLY, memo,
				     whose, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(db_of(memo), "input_of", 2,
					     SQLITE_UTF8 | SQLITE_DIRECTONLY,
					     NULL, input_of, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_create_function(db_of(memo), "octet_length", 1,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC,
					     NULL, octet_length, NULL, NULL);
	return rc == SQLITE_OK ? 0 : fail(memo, rc, err);
}

/* The first column of the first row of @sql. */
static int ask(struct maple_memo *memo, const char *sql, int64_t *number,
	       struct maple_error *err)
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(db_of(memo), sql, -1, &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW) {
		int ret = fail(memo, rc, err);

		sqlite3_finalize(statement);
		return ret;
	}
	*number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return 0;
}

/* Whose file it is. @version is 0 if it is still empty. */
static int look(struct maple_memo *memo, int64_t *version,
		struct maple_error *err)
{
	int64_t application = 0, tables = 0;
	int ret = ask(memo, "PRAGMA application_id", &application, err);

	*version = 0;
	if (!ret)
		ret = ask(memo, "SELECT count(*) FROM sqlite_schema", &tables,
			  err);
	if (!ret)
		ret = ask(memo, "PRAGMA user_version", version, err);
	if (ret)
		return ret;
	/* Something else's file may have numbered its schema, too. */
	if (*version > maple_sql_version &&
	    (application == APPLICATION || !application))
		return maple_sql_newer(memo, *version, err);
	if (application != APPLICATION && (tables || *version || application))
		return fail(memo, SQLITE_NOTADB, err);
	return 0;
}

/* A damaged file is better told now than after an hour of runs. */
static int look_through(struct maple_memo *memo, const char *how,
			struct maple_error *err)
{
	sqlite3_stmt *statement;
	const char *answer;
	int ret = 0;
	int rc = sqlite3_prepare_v2(db_of(memo), how, -1, &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW) {
		ret = fail(memo, rc, err);
	} else {
		answer = (const char *)sqlite3_column_text(statement, 0);
		if (!answer || strcmp(answer, "ok") != 0)
			ret = maple_sql_damaged(memo, err);
	}
	sqlite3_finalize(statement);
	return ret;
}

/* ---- transactions ---- */

static bool in_transaction(struct maple_memo *memo)
{
	return !sqlite3_get_autocommit(db_of(memo));
}

/* Who has begun to write waits for nobody later, and need not give up. */
static int begin(struct maple_memo *memo, enum maple_begin how,
		 struct maple_error *err)
{
	return exec(memo, how == MAPLE_BEGIN_READ ? "BEGIN" : "BEGIN IMMEDIATE",
		    err);
}

static int commit(struct maple_memo *memo, struct maple_error *err)
{
	return exec(memo, "COMMIT", err);
}

static void rollback(struct maple_memo *memo)
{
	/* SQLite itself has rolled back after some errors: a full disk, say. */
	if (in_transaction(memo))
		exec(memo, "ROLLBACK", NULL);
}

/* ---- opening ---- */

static int migrate(struct maple_memo *memo, struct maple_error *err)
{
	int64_t version;
	int ret = begin(memo, MAPLE_BEGIN_ALONE, err);

	if (ret)
		return ret;
	/* Another process may have done it since we looked. */
	ret = look(memo, &version, err);
	for (; !ret && version < maple_sql_version; version++)
		ret = exec(memo, maple_sql_migrations[version], err);
	if (!ret) {
		char sql[96];

		snprintf(sql, sizeof(sql),
			 "PRAGMA application_id = %d; PRAGMA user_version = %d",
			 APPLICATION, maple_sql_version);
		ret = exec(memo, sql, err);
	}
	if (!ret)
		ret = commit(memo, err);
	if (ret)
		rollback(memo);
	return ret;
}

/*
 * Arguments and outputs of the user's programs are nobody else's business.
 * What is made beside it, SQLite gives the rights of the database.
 */
static void make_private(const char *path)
{
	static const char *const tails[] = { "", "-wal", "-shm" };
	char *name;
	struct stat st;

	for (unsigned int i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
		if (asprintf(&name, "%s%s", path, tails[i]) < 0)
			return;
		if (!stat(name, &st) && S_ISREG(st.st_mode) &&
		    st.st_uid == geteuid() && st.st_mode & 077)
			chmod(name, st.st_mode & 0700);
		free(name);
	}
}

/* A new one is private from its first byte on. */
static void make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
}

static int open_writable(struct maple_memo *memo, struct maple_error *err)
{
	struct connection *c = memo->db;
	int64_t version;
	int ret, rc;

	if (strcmp(memo->path, ":memory:") != 0)
		make_file(memo->path);
	rc = sqlite3_open_v2(memo->path, &c->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (rc != SQLITE_OK)
		return fail(memo, rc, err);
	sqlite3_extended_result_codes(c->db, 1);
	sqlite3_busy_timeout(c->db, BUSY_MS);
	/* SQLite falls back to reading without a word. */
	if (sqlite3_db_readonly(c->db, "main") == 1)
		return fail(memo, SQLITE_READONLY, err);
	ret = know_owner(memo, err);
	if (!ret)
		ret = look(memo, &version, err);
	if (!ret)
		ret = look_through(memo, "PRAGMA quick_check(1)", err);
	if (!ret)
		make_private(memo->path);
	/*
	 * A run has several commits, and may take less than one to reach the
	 * disk. What the kernel has it keeps, whoever is killed; if the power
	 * fails, the last marks are missing, and the rest is consistent.
	 */
	if (!ret)
		ret = exec(memo,
			   "PRAGMA journal_mode = WAL;"
			   "PRAGMA synchronous = NORMAL",
			   err);
	/* A table that others refer to is replaced without these knowing. */
	if (!ret && version < maple_sql_version)
		ret = migrate(memo, err);
	if (!ret)
		ret = exec(memo, "PRAGMA foreign_keys = ON", err);
	return ret;
}

/* "file:" and the path with everything escaped that a URI gives meaning. */
static char *immutable_uri(const char *path)
{
	char *uri = malloc(3 * strlen(path) + sizeof("file:?immutable=1"));
	char *p = uri;

	if (!uri)
		return NULL;
	p = stpcpy(p, "file:");
	for (; *path; path++) {
		if (strchr("%?#", *path))
			p += sprintf(p, "%%%02x", (unsigned char)*path);
		else
			*p++ = *path;
	}
	strcpy(p, "?immutable=1");
	return uri;
}

/*
 * A database in WAL mode needs its directory writable even to be read. Where
 * it is not, and no log waits to be merged, the file is complete as it is.
 */
static int open_immutable(struct maple_memo *memo)
{
	struct connection *c = memo->db;
	char *uri = NULL, *wal = NULL;
	struct stat st;
	int rc = SQLITE_CANTOPEN;

	if (asprintf(&wal, "%s-wal", memo->path) < 0)
		return SQLITE_NOMEM;
	if (stat(wal, &st) || st.st_size == 0) {
		sqlite3_close(c->db);
		c->db = NULL;
		uri = immutable_uri(memo->path);
		rc = sqlite3_open_v2(uri, &c->db,
				     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
				     NULL);
	}
	free(uri);
	free(wal);
	return rc;
}

static int open_file(struct maple_memo *memo, struct maple_error *err)
{
	struct connection *c = memo->db;
	int rc;

	rc = sqlite3_open_v2(memo->path, &c->db, SQLITE_OPEN_READONLY, NULL);
	if (rc != SQLITE_OK)
		return fail(memo, rc, err);
	sqlite3_busy_timeout(c->db, BUSY_MS);
	rc = sqlite3_exec(c->db, "SELECT 1 FROM sqlite_schema", NULL, NULL,
			  NULL);
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) {
		rc = open_immutable(memo);
		if (rc != SQLITE_OK)
			return fail(memo, rc, err);
	}
	return 0;
}

/* As look(), of a database that must have something in it. */
static int look_filled(struct maple_memo *memo, int64_t *version,
		       struct maple_error *err)
{
	int ret = look(memo, version, err);

	if (!ret && *version == 0)
		return maple_error_set(err, ENOENT,
				       "memo database '%s' is still empty",
				       memo->path);
	return ret;
}

static int open_readonly(struct maple_memo *memo, struct maple_error *err)
{
	int64_t version;
	int ret = open_file(memo, err);

	if (!ret)
		ret = know_owner(memo, err);
	if (!ret)
		ret = look_filled(memo, &version, err);
	if (!ret)
		make_private(memo->path);
	if (!ret && version < maple_sql_version)
		return maple_sql_older(memo, version, err);
	return ret;
}

static int open_any(struct maple_memo *memo, unsigned int flags,
		    struct maple_error *err)
{
	memo->db = calloc(1, sizeof(struct connection));
	if (!memo->db)
		return maple_error_set(err, ENOMEM, "out of memory");
	return flags & MAPLE_MEMO_READONLY ? open_readonly(memo, err)
					   : open_writable(memo, err);
}

/* The whole of @from into @schema of @memo. */
static int copy_all(struct maple_memo *memo, const char *schema,
		    struct maple_memo *from, struct maple_error *err)
{
	sqlite3_backup *backup =
		sqlite3_backup_init(db_of(memo), schema, db_of(from), "main");
	int rc;

	if (!backup)
		return fail(memo, sqlite3_errcode(db_of(memo)), err);
	rc = sqlite3_backup_step(backup, -1);
	sqlite3_backup_finish(backup);
	return rc == SQLITE_DONE ? 0 : fail(from, rc, err);
}

/* A copy in memory, checked, and in the schema of today. */
static int copy(struct maple_memo *memo, struct maple_error *err)
{
	struct connection *c = calloc(1, sizeof(*c)), of_file = { 0 };
	struct maple_memo file = { .db = &of_file, .path = memo->path };
	int64_t version = 0;
	int ret = -ENOMEM;

	memo->db = c;
	if (!c || sqlite3_open(":memory:", &c->db) != SQLITE_OK)
		maple_error_set(err, ENOMEM, "out of memory");
	else
		ret = open_file(&file, err);
	if (!ret)
		ret = look_filled(&file, &version, err);
	if (!ret)
		ret = copy_all(memo, "main", &file, err);
	sqlite3_close(of_file.db);
	if (!ret)
		ret = know_owner(memo, err);
	if (!ret)
		ret = look_through(memo, "PRAGMA quick_check(1)", err);
	if (!ret && version < maple_sql_version)
		ret = migrate(memo, err);
	return ret;
}

static void let_go(struct maple_memo *memo, struct maple_error *err)
{
	exec(memo, "DETACH other", err);
}

static int take_in(struct maple_memo *memo, struct maple_memo *copy,
		   struct maple_error *err)
{
	char sql[96];
	int ret = 0;

	for (int i = 0; maple_sql_tables[i] && !ret; i++) {
		snprintf(sql, sizeof(sql), "ALTER TABLE %s RENAME TO other_%s",
			 maple_sql_tables[i], maple_sql_tables[i]);
		ret = exec(copy, sql, err);
	}
	if (!ret)
		ret = exec(memo, "ATTACH ':memory:' AS other", err);
	if (ret)
		return ret;
	ret = copy_all(memo, "other", copy, err);
	if (ret)
		let_go(memo, NULL);
	return ret;
}

static void close_it(struct maple_memo *memo)
{
	sqlite3_close(db_of(memo));
	free(memo->db);
}

static int check(struct maple_memo *memo, struct maple_error *err)
{
	return look_through(memo, "PRAGMA integrity_check(1)", err);
}

/* ---- what mapled wants ---- */

static int limit(struct maple_memo *memo, uint64_t bytes,
		 struct maple_error *err)
{
	int64_t size = 0;
	char sql[64];
	int ret = ask(memo, "PRAGMA page_size", &size, err);

	if (ret)
		return ret;
	assert(size > 0); /* SQLite knows none below 512 */
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %llu",
		 (unsigned long long)(bytes / (uint64_t)size) + 1);
	((struct connection *)memo->db)->limited = true;
	return exec(memo, sql, err);
}

static int room(struct maple_memo *memo, uint64_t bytes, struct maple_error *err)
{
	int64_t size = 0, most = 0, now = 0, unused = 0;
	int ret = ask(memo, "PRAGMA page_size", &size, err);

	if (!ret)
		ret = ask(memo, "PRAGMA max_page_count", &most, err);
	if (!ret)
		ret = ask(memo, "PRAGMA page_count", &now, err);
	if (!ret)
		ret = ask(memo, "PRAGMA freelist_count", &unused, err);
	if (ret)
		return ret;
	return (uint64_t)((most - now + unused) * size) < bytes
		       ? fail(memo, SQLITE_FULL, err)
		       : 0;
}

#define STEPS 1000 /* of SQLite's machine, between two questions */

static void watch(struct maple_memo *memo, int (*stop)(void *ctx), void *ctx)
{
	sqlite3_progress_handler(db_of(memo), STEPS, stop, ctx);
}

static void interrupt(struct maple_memo *memo)
{
	sqlite3_interrupt(db_of(memo));
}

/* ---- statements ---- */

static sqlite3_stmt *statement_of(struct maple_query *query)
{
	return ((struct query *)query)->statement;
}

static int prepare(struct maple_memo *memo, const char *sql, const char *types,
		   struct maple_query **query, struct maple_error *err)
{
	struct query *q = calloc(1, sizeof(*q));
	int rc;

	if (!q)
		return maple_error_set(err, ENOMEM, "out of memory");
	q->common = (struct maple_query){ &maple_sqlite, types };
	rc = sqlite3_prepare_v3(db_of(memo), sql, -1, SQLITE_PREPARE_PERSISTENT,
				&q->statement, NULL);
	if (rc != SQLITE_OK) {
		free(q);
		return fail(memo, rc, err);
	}
	assert(sqlite3_bind_parameter_count(q->statement) == (int)strlen(types));
	*query = &q->common;
	return 0;
}

static void finish(struct maple_query *query)
{
	sqlite3_finalize(statement_of(query));
	free(query);
}

/* To SQLite $1 is a name, and numbers are by first use. */
static int number_of(struct maple_query *query, int i)
{
	char name[16];

	snprintf(name, sizeof(name), "$%d", i);
	i = sqlite3_bind_parameter_index(statement_of(query), name);
	assert(i);
	return i;
}

static int bound(int rc)
{
	return rc == SQLITE_OK ? 0 : rc == SQLITE_NOMEM ? -ENOMEM : -EMSGSIZE;
}

static int bind_number(struct maple_query *query, int i, int64_t value)
{
	return bound(sqlite3_bind_int64(statement_of(query),
					number_of(query, i), value));
}

static int bind_real(struct maple_query *query, int i, double value)
{
	return bound(sqlite3_bind_double(statement_of(query),
					 number_of(query, i), value));
}

static int bind_text(struct maple_query *query, int i, const char *value)
{
	return bound(sqlite3_bind_text(statement_of(query), number_of(query, i),
				       value, -1, SQLITE_TRANSIENT));
}

static int bind_null(struct maple_query *query, int i)
{
	return bound(
		sqlite3_bind_null(statement_of(query), number_of(query, i)));
}

static int step(struct maple_memo *memo, struct maple_query *query,
		struct maple_error *err)
{
	int rc = sqlite3_step(statement_of(query));

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : fail(memo, rc, err);
}

static void reset(struct maple_query *query)
{
	sqlite3_reset(statement_of(query));
}

static int columns(struct maple_query *query)
{
	return sqlite3_column_count(statement_of(query));
}

static const char *name(struct maple_query *query, int column)
{
	return sqlite3_column_name(statement_of(query), column);
}

static enum maple_value type(struct maple_query *query, int column)
{
	switch (sqlite3_column_type(statement_of(query), column)) {
	case SQLITE_INTEGER:
		return MAPLE_VALUE_NUMBER;
	case SQLITE_FLOAT:
		return MAPLE_VALUE_REAL;
	case SQLITE_NULL:
		return MAPLE_VALUE_NULL;
	default:
		return MAPLE_VALUE_TEXT;
	}
}

static int64_t number(struct maple_query *query, int column)
{
	return sqlite3_column_int64(statement_of(query), column);
}

static double real(struct maple_query *query, int column)
{
	return sqlite3_column_double(statement_of(query), column);
}

static const char *text(struct maple_query *query, int column)
{
	return (const char *)sqlite3_column_text(statement_of(query), column);
}

const struct maple_driver maple_sqlite = {
	.key = "INTEGER PRIMARY KEY",
	.open = open_any,
	.copy = copy,
	.take_in = take_in,
	.let_go = let_go,
	.close = close_it,
	.check = check,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.in_transaction = in_transaction,
	.exec = exec,
	.prepare = prepare,
	.finish = finish,
	.bind_number = bind_number,
	.bind_real = bind_real,
	.bind_text = bind_text,
	.bind_null = bind_null,
	.step = step,
	.reset = reset,
	.columns = columns,
	.name = name,
	.type = type,
	.number = number,
	.real = real,
	.text = text,
	.limit = limit,
	.room = room,
	.watch = watch,
	.interrupt = interrupt,
};
