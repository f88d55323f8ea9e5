// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Opening, creating and migrating the database, and transactions. What is
 * there is looked at before anything is written: a file that is damaged, is
 * of a newer maple or is something else stays as it is.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memo/sql.h"
#include "memo/store.h"

#define APPLICATION 0x6d61706c /* "mapl" in the file's header */
#define BUSY_MS	    10000

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

/* What every connection has, @memo's file being open. */
static int know_owner(struct maple_memo *memo, struct maple_error *err)
{
	struct stat st;
	int rc;

	memo->owner = stat(memo->path, &st) ? geteuid() : st.st_uid;
	rc = sqlite3_create_function(memo->db, "whose", 1,
				     SQLITE_UTF8 | SQLITE_DIRECTONLY, memo,
				     whose, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = maple_sql_inputs(memo);
	return rc == SQLITE_OK ? 0 : maple_sql_fail(memo, rc, err);
}

/* The first column of the first row of @sql. */
static int ask(struct maple_memo *memo, const char *sql, int64_t *number,
	       struct maple_error *err)
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(memo->db, sql, -1, &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW) {
		int ret = maple_sql_fail(memo, rc, err);

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
		return maple_error_set(err, ENOTSUP,
				       "memo database '%s' has schema %d and "
				       "this maple knows %d: a newer one made "
				       "it, or something else; update maple or "
				       "name another place with --db FILE",
				       memo->path, (int)*version,
				       maple_sql_version);
	if (application != APPLICATION && (tables || *version || application))
		return maple_sql_fail(memo, SQLITE_NOTADB, err);
	return 0;
}

/* A damaged file is better told now than after an hour of runs. */
static int quick_check(struct maple_memo *memo, struct maple_error *err)
{
	sqlite3_stmt *statement;
	const char *answer;
	int ret = 0;
	int rc = sqlite3_prepare_v2(memo->db, "PRAGMA quick_check(1)", -1,
				    &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	if (rc != SQLITE_ROW) {
		ret = maple_sql_fail(memo, rc, err);
	} else {
		answer = (const char *)sqlite3_column_text(statement, 0);
		if (!answer || strcmp(answer, "ok") != 0)
			ret = maple_sql_fail(memo, SQLITE_CORRUPT, err);
	}
	sqlite3_finalize(statement);
	return ret;
}

static int migrate(struct maple_memo *memo, struct maple_error *err)
{
	int64_t version;
	int ret = maple_memo_begin(memo, err);

	if (ret)
		return ret;
	/* Another process may have done it since we looked. */
	ret = look(memo, &version, err);
	for (; !ret && version < maple_sql_version; version++)
		ret = maple_sql_exec(memo, maple_sql_migrations[version], err);
	if (!ret) {
		char sql[96];

		snprintf(sql, sizeof(sql),
			 "PRAGMA application_id = %d; PRAGMA user_version = %d",
			 APPLICATION, maple_sql_version);
		ret = maple_sql_exec(memo, sql, err);
	}
	return maple_sql_leave(memo, true, ret, err);
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
	int64_t version;
	int ret, rc;

	if (strcmp(memo->path, ":memory:") != 0)
		make_file(memo->path);
	rc = sqlite3_open_v2(memo->path, &memo->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (rc != SQLITE_OK)
		return maple_sql_fail(memo, rc, err);
	sqlite3_extended_result_codes(memo->db, 1);
	sqlite3_busy_timeout(memo->db, BUSY_MS);
	/* SQLite falls back to reading without a word. */
	if (sqlite3_db_readonly(memo->db, "main") == 1)
		return maple_sql_fail(memo, SQLITE_READONLY, err);
	ret = know_owner(memo, err);
	if (!ret)
		ret = look(memo, &version, err);
	if (!ret)
		ret = quick_check(memo, err);
	if (!ret)
		make_private(memo->path);
	/*
	 * A run has several commits, and may take less than one to reach the
	 * disk. What the kernel has it keeps, whoever is killed; if the power
	 * fails, the last marks are missing, and the rest is consistent.
	 */
	if (!ret)
		ret = maple_sql_exec(memo,
				     "PRAGMA journal_mode = WAL;"
				     "PRAGMA synchronous = NORMAL",
				     err);
	/* A table that others refer to is replaced without these knowing. */
	if (!ret && version < maple_sql_version)
		ret = migrate(memo, err);
	if (!ret)
		ret = maple_sql_exec(memo, "PRAGMA foreign_keys = ON", err);
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
	char *uri = NULL, *wal = NULL;
	struct stat st;
	int rc = SQLITE_CANTOPEN;

	if (asprintf(&wal, "%s-wal", memo->path) < 0)
		return SQLITE_NOMEM;
	if (stat(wal, &st) || st.st_size == 0) {
		sqlite3_close(memo->db);
		memo->db = NULL;
		uri = immutable_uri(memo->path);
		rc = sqlite3_open_v2(uri, &memo->db,
				     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
				     NULL);
	}
	free(uri);
	free(wal);
	return rc;
}

static int open_file(struct maple_memo *memo, struct maple_error *err)
{
	int rc;

	rc = sqlite3_open_v2(memo->path, &memo->db, SQLITE_OPEN_READONLY, NULL);
	if (rc != SQLITE_OK)
		return maple_sql_fail(memo, rc, err);
	sqlite3_busy_timeout(memo->db, BUSY_MS);
	rc = sqlite3_exec(memo->db, "SELECT 1 FROM sqlite_schema", NULL, NULL,
			  NULL);
	if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY) {
		rc = open_immutable(memo);
		if (rc != SQLITE_OK)
			return maple_sql_fail(memo, rc, err);
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
		return maple_error_set(err, ENOTSUP,
				       "memo database '%s' has the older "
				       "schema %d; a campaign on it, mapletest "
				       "run, brings it to %d",
				       memo->path, (int)version,
				       maple_sql_version);
	return ret;
}

/* maple_sql_backup - the whole of @from into @schema of @to */
int maple_sql_backup(struct maple_memo *to, const char *schema,
		     struct maple_memo *from, struct maple_error *err)
{
	sqlite3_backup *backup =
		sqlite3_backup_init(to->db, schema, from->db, "main");
	int rc;

	if (!backup)
		return maple_sql_fail(to, sqlite3_errcode(to->db), err);
	rc = sqlite3_backup_step(backup, -1);
	sqlite3_backup_finish(backup);
	return rc == SQLITE_DONE ? 0 : maple_sql_fail(from, rc, err);
}

/*
 * maple_sql_copy - the database at @path in memory, checked, and in the
 * schema of today; the file itself is only read
 */
int maple_sql_copy(const char *path, struct maple_memo **copy,
		   struct maple_error *err)
{
	struct maple_memo file = { .path = (char *)path };
	struct maple_memo *m = calloc(1, sizeof(*m));
	int64_t version;
	int ret = -ENOMEM;

	if (m)
		m->path = strdup(path);
	if (!m || !m->path || sqlite3_open(":memory:", &m->db) != SQLITE_OK)
		maple_error_set(err, ENOMEM, "out of memory");
	else
		ret = open_file(&file, err);
	if (!ret)
		ret = look_filled(&file, &version, err);
	if (!ret)
		ret = maple_sql_backup(m, "main", &file, err);
	sqlite3_close(file.db);
	if (!ret)
		ret = know_owner(m, err);
	if (!ret)
		ret = quick_check(m, err);
	if (!ret && version < maple_sql_version)
		ret = migrate(m, err);
	if (ret)
		maple_memo_close(m);
	else
		*copy = m;
	return ret;
}

/* maple_memo_limit - see maple/memo.h */
int maple_memo_limit(struct maple_memo *memo, uint64_t bytes,
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
	memo->limited = true;
	return maple_sql_exec(memo, sql, err);
}

/* maple_memo_room - see maple/memo.h */
int maple_memo_room(struct maple_memo *memo, uint64_t bytes,
		    struct maple_error *err)
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
		       ? maple_sql_fail(memo, SQLITE_FULL, err)
		       : 0;
}

#define STEPS 1000 /* of SQLite's machine, between two questions */

/* maple_memo_watch - see maple/memo.h */
void maple_memo_watch(struct maple_memo *memo, int (*stop)(void *ctx), void *ctx)
{
	sqlite3_progress_handler(memo->db, STEPS, stop, ctx);
}

/* maple_memo_interrupt - see maple/memo.h */
void maple_memo_interrupt(struct maple_memo *memo)
{
	sqlite3_interrupt(memo->db);
}

int maple_memo_open(const char *path, unsigned int flags,
		    struct maple_memo **memo, struct maple_error *err)
{
	struct maple_memo *m = calloc(1, sizeof(*m));
	int ret;

	if (m)
		m->path = strdup(path);
	if (!m || !m->path) {
		maple_memo_close(m);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	ret = flags & MAPLE_MEMO_READONLY ? open_readonly(m, err)
					  : open_writable(m, err);
	if (ret) {
		maple_memo_close(m);
		return ret;
	}
	*memo = m;
	return 0;
}

void maple_memo_close(struct maple_memo *memo)
{
	if (!memo)
		return;
	for (int i = 0; i < MAPLE_SQL_MAX; i++)
		sqlite3_finalize(memo->statement[i]);
	sqlite3_close(memo->db);
	free(memo->path);
	free(memo);
}

int maple_store_check(struct maple_memo *memo, struct maple_error *err)
{
	sqlite3_stmt *statement;
	const unsigned char *answer;
	int ret = maple_sql_get(memo, MAPLE_SQL_CHECK, &statement, err, "");

	if (!ret)
		ret = maple_sql_step(memo, statement, err);
	if (ret < 0)
		return ret;
	answer = sqlite3_column_text(statement, 0);
	if (!ret || !answer || strcmp((const char *)answer, "ok") != 0)
		ret = maple_sql_fail(memo, SQLITE_CORRUPT, err);
	else
		ret = 0;
	sqlite3_reset(statement);
	return ret;
}

int maple_memo_begin(struct maple_memo *memo, struct maple_error *err)
{
	return memo->host ? 0 : maple_sql_run(memo, MAPLE_SQL_BEGIN, err, "");
}

int maple_memo_commit(struct maple_memo *memo, struct maple_error *err)
{
	return memo->host ? 0 : maple_sql_run(memo, MAPLE_SQL_COMMIT, err, "");
}

void maple_memo_rollback(struct maple_memo *memo)
{
	/* SQLite itself has rolled back after some errors: a full disk, say. */
	if (!memo->host && !sqlite3_get_autocommit(memo->db))
		maple_sql_run(memo, MAPLE_SQL_ROLLBACK, NULL, "");
}
