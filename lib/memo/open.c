// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Opening a database, by the driver that it wants, and transactions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "memo/spool/mirror.h"
#include "memo/sql.h"
#include "memo/store.h"

static const struct maple_driver *driver_of(const char *path)
{
	return !strncmp(path, "postgresql://", strlen("postgresql://")) ||
			       !strncmp(path, "postgres://",
					strlen("postgres://"))
		       ? &maple_postgres
		       : &maple_sqlite;
}

static int make(const struct maple_driver *driver, const char *path,
		struct maple_memo **memo, struct maple_error *err)
{
	struct maple_memo *m = calloc(1, sizeof(*m));

	*memo = m;
	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	m->driver = driver;
	m->path = strdup(path);
	return m->path ? 0 : maple_error_set(err, ENOMEM, "out of memory");
}

int maple_memo_open(const char *path, unsigned int flags,
		    struct maple_memo **memo, struct maple_error *err)
{
	const struct maple_driver *driver = driver_of(path);
	struct maple_memo *m;
	int ret;

	if (flags & MAPLE_MEMO_FILE && driver != &maple_sqlite)
		return maple_error_set(err, EINVAL,
				       "the memo database has to be a file on "
				       "this machine, and no server's: '%s'",
				       path);
	ret = make(driver, path, &m, err);
	if (!ret)
		ret = m->driver->open(m, flags, err);
	if (ret)
		maple_memo_close(m);
	else
		*memo = m;
	return ret;
}

/*
 * maple_sql_copy - the database at @path as it is now, checked, and in the
 * schema of today, in SQLite, for any other one to take in
 */
int maple_sql_copy(const char *path, struct maple_memo **copy,
		   struct maple_error *err)
{
	struct maple_memo *m;
	int ret = make(&maple_sqlite, path, &m, err);

	if (!ret)
		ret = driver_of(path)->copy(m, err);
	if (ret)
		maple_memo_close(m);
	else
		*copy = m;
	return ret;
}

void maple_memo_close(struct maple_memo *memo)
{
	if (!memo)
		return;
	for (int i = 0; i < MAPLE_SQL_MAX; i++)
		maple_sql_finish(memo->statement[i]);
	maple_mirror_finish(memo->mirror);
	if (memo->db)
		memo->driver->close(memo);
	maple_mirror_close(memo->mirror);
	maple_numbers_deinit(&memo->goals);
	maple_numbers_deinit(&memo->runs);
	free(memo->path);
	free(memo);
}

int maple_store_check(struct maple_memo *memo, struct maple_error *err)
{
	return memo->driver->check(memo, err);
}

int maple_memo_begin(struct maple_memo *memo, struct maple_error *err)
{
	return memo->host ? 0 : maple_sql_begin(memo, MAPLE_BEGIN_SHARED, err);
}

int maple_memo_commit(struct maple_memo *memo, struct maple_error *err)
{
	return memo->host ? 0 : maple_sql_commit(memo, err);
}

void maple_memo_rollback(struct maple_memo *memo)
{
	if (!memo->host)
		maple_sql_rollback(memo);
}

/* maple_memo_limit - see maple/memo.h */
int maple_memo_limit(struct maple_memo *memo, uint64_t bytes,
		     struct maple_error *err)
{
	return memo->driver->limit(memo, bytes, err);
}

/* maple_memo_room - see maple/memo.h */
int maple_memo_room(struct maple_memo *memo, uint64_t bytes,
		    struct maple_error *err)
{
	return memo->driver->room(memo, bytes, err);
}

/* maple_memo_watch - see maple/memo.h */
void maple_memo_watch(struct maple_memo *memo, int (*stop)(void *ctx), void *ctx)
{
	memo->driver->watch(memo, stop, ctx);
}

/* maple_memo_interrupt - see maple/memo.h */
void maple_memo_interrupt(struct maple_memo *memo)
{
	memo->driver->interrupt(memo);
}
