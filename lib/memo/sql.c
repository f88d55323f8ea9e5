// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Prepared statements, and what SQLite's result codes mean to the user.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "memo/sql.h"

#define ELSEWHERE "name another place with --db FILE"

/*
 * maple_sql_fail - SQLite's @rc as a negative errno and a sentence
 *
 * Must be called before the connection is used again.
 */
int maple_sql_fail(struct maple_memo *memo, int rc, struct maple_error *err)
{
	const char *path = memo->path;
	int errnum = sqlite3_system_errno(memo->db);

	/* SQLite reports some full disks as I/O errors. */
	if (errnum == ENOSPC || errnum == EDQUOT)
		rc = SQLITE_FULL;
	switch (rc & 0xff) {
	case SQLITE_FULL:
		if (memo->limited && errnum != ENOSPC && errnum != EDQUOT)
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
		return maple_error_set(err, EBADMSG,
				       "memo database '%s' is damaged; move it "
				       "away or " ELSEWHERE,
				       path);
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
				       sqlite3_errmsg(memo->db));
	}
}

/* @types: a letter an argument: i int64_t, u unsigned, d double, s string */
static int bind(sqlite3_stmt *statement, const char *types, va_list ap)
{
	int rc = SQLITE_OK;

	for (int i = 1; types[i - 1] && rc == SQLITE_OK; i++) {
		switch (types[i - 1]) {
		case 'i':
			rc = sqlite3_bind_int64(statement, i,
						va_arg(ap, int64_t));
			break;
		case 'u':
			rc = sqlite3_bind_int64(statement, i,
						va_arg(ap, unsigned int));
			break;
		case 'd':
			rc = sqlite3_bind_double(statement, i,
						 va_arg(ap, double));
			break;
		case 's':
			rc = sqlite3_bind_text(statement, i,
					       va_arg(ap, const char *), -1,
					       SQLITE_TRANSIENT);
			break;
		default:
			assert(!"an unknown type of argument");
		}
	}
	return rc;
}

static int get(struct maple_memo *memo, enum maple_statement which,
	       sqlite3_stmt **statement, struct maple_error *err,
	       const char *types, va_list ap)
{
	sqlite3_stmt **slot = &memo->statement[which];
	int rc = SQLITE_OK;

	assert(which < MAPLE_SQL_MAX && maple_sql_text[which]);
	if (!*slot)
		rc = sqlite3_prepare_v3(memo->db, maple_sql_text[which], -1,
					SQLITE_PREPARE_PERSISTENT, slot, NULL);
	else
		sqlite3_reset(*slot);
	if (rc == SQLITE_OK) {
		assert(sqlite3_bind_parameter_count(*slot) ==
		       (int)strlen(types));
		rc = bind(*slot, types, ap);
	}
	*statement = *slot;
	return rc == SQLITE_OK ? 0 : maple_sql_fail(memo, rc, err);
}

/* maple_sql_get - statement @which, ready to be stepped, arguments bound */
int maple_sql_get(struct maple_memo *memo, enum maple_statement which,
		  sqlite3_stmt **statement, struct maple_error *err,
		  const char *types, ...)
{
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = get(memo, which, statement, err, types, ap);
	va_end(ap);
	return ret;
}

/*
 * maple_sql_step - 1 there is a row, 0 no more, else -errno
 *
 * When it returns no row the statement is reset, so it holds no lock.
 */
int maple_sql_step(struct maple_memo *memo, sqlite3_stmt *statement,
		   struct maple_error *err)
{
	int rc = sqlite3_step(statement), ret;

	if (rc == SQLITE_ROW)
		return 1;
	ret = rc == SQLITE_DONE ? 0 : maple_sql_fail(memo, rc, err);
	sqlite3_reset(statement);
	return ret;
}

/* maple_sql_run - a statement that returns no rows */
int maple_sql_run(struct maple_memo *memo, enum maple_statement which,
		  struct maple_error *err, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = get(memo, which, &statement, err, types, ap);
	va_end(ap);
	if (!ret)
		ret = maple_sql_step(memo, statement, err);
	assert(ret <= 0);
	return ret;
}

/* maple_sql_exec - statements that take no arguments, used once */
int maple_sql_exec(struct maple_memo *memo, const char *sql,
		   struct maple_error *err)
{
	int rc = sqlite3_exec(memo->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : maple_sql_fail(memo, rc, err);
}

/* maple_sql_find - the one number that a statement returns; 0: no row */
int maple_sql_find(struct maple_memo *memo, enum maple_statement which,
		   int64_t *id, struct maple_error *err, const char *types, ...)
{
	sqlite3_stmt *statement;
	va_list ap;
	int ret;

	*id = 0;
	va_start(ap, types);
	ret = get(memo, which, &statement, err, types, ap);
	va_end(ap);
	if (ret)
		return ret;
	ret = maple_sql_step(memo, statement, err);
	if (ret <= 0)
		return ret;
	*id = sqlite3_column_int64(statement, 0);
	/* An INSERT .. RETURNING is not done until it says so. */
	ret = maple_sql_step(memo, statement, err);
	assert(ret <= 0);
	return ret;
}

/*
 * maple_sql_enter, maple_sql_leave - a transaction, unless one is open
 * @ours: whether this call opened it, for the other call to close
 * @ret: leave rolls back if it is negative; it is returned
 */
int maple_sql_enter(struct maple_memo *memo, bool *ours, struct maple_error *err)
{
	*ours = sqlite3_get_autocommit(memo->db);
	return *ours ? maple_memo_begin(memo, err) : 0;
}

int maple_sql_leave(struct maple_memo *memo, bool ours, int ret,
		    struct maple_error *err)
{
	if (!ours)
		return ret;
	if (!ret)
		ret = maple_memo_commit(memo, err);
	if (ret)
		maple_memo_rollback(memo);
	return ret;
}

/* maple_sql_string - a text column, to be freed; NULL for NULL */
char *maple_sql_string(sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	return text ? strdup((const char *)text) : NULL;
}
