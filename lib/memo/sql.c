// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Statements with their arguments, and transactions, by way of whichever
 * driver the database has.
 */
#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memo/spool/mirror.h"
#include "memo/sql.h"

/* maple_sql_damaged - -EBADMSG, and that what was read makes no sense */
int maple_sql_damaged(struct maple_memo *memo, struct maple_error *err)
{
	return maple_error_set(err, EBADMSG,
			       "memo database '%s' is damaged; move it away or "
			       "name another place with --db FILE",
			       memo->path);
}

/* maple_sql_older - -ENOTSUP: schema @version is not brought up by a reader */
int maple_sql_older(struct maple_memo *memo, int64_t version,
		    struct maple_error *err)
{
	return maple_error_set(err, ENOTSUP,
			       "memo database '%s' has the older schema %d; a "
			       "campaign on it, mapletest run, brings it to %d",
			       memo->path, (int)version, maple_sql_version);
}

/* maple_sql_newer - -ENOTSUP: we do not know schema @version */
int maple_sql_newer(struct maple_memo *memo, int64_t version,
		    struct maple_error *err)
{
	return maple_error_set(err, ENOTSUP,
			       "memo database '%s' has schema %d and this maple "
			       "knows %d: a newer one made it, or something "
			       "else; update maple or name another place with "
			       "--db FILE",
			       memo->path, (int)version, maple_sql_version);
}

/*
 * @query's types, a letter an argument: i int64_t, u unsigned, d double, s
 * string
 */
static int bind(struct maple_query *query, va_list ap)
{
	const struct maple_driver *driver = query->driver;
	int ret = 0;

	for (int i = 1; query->types[i - 1] && !ret; i++) {
		switch (query->types[i - 1]) {
		case 'i':
			ret = driver->bind_number(query, i, va_arg(ap, int64_t));
			break;
		case 'u':
			ret = driver->bind_number(query, i,
						  va_arg(ap, unsigned int));
			break;
		case 'd':
			ret = driver->bind_real(query, i, va_arg(ap, double));
			break;
		case 's':
			ret = driver->bind_text(query, i,
						va_arg(ap, const char *));
			break;
		default:
			assert(!"an unknown type of argument");
		}
	}
	return ret;
}

static int bound(int ret, struct maple_error *err)
{
	return ret ? maple_error_set(err, -ret,
				     ret == -ENOMEM ? "out of memory"
						    : "a value cannot be stored")
		   : 0;
}

/* maple_sql_bind - arguments of a query of ours, as its types say */
int maple_sql_bind(struct maple_query *query, struct maple_error *err, ...)
{
	va_list ap;
	int ret;

	va_start(ap, err);
	ret = bind(query, ap);
	va_end(ap);
	return bound(ret, err);
}

/* maple_sql_prepare - a query of one's own, for maple_sql_finish() */
int maple_sql_prepare(struct maple_memo *memo, const char *sql,
		      const char *types, struct maple_query **query,
		      struct maple_error *err)
{
	*query = NULL;
	return memo->driver->prepare(memo, sql, types, query, err);
}

static int get(struct maple_memo *memo, enum maple_statement which,
	       struct maple_query **query, struct maple_error *err,
	       const char *types, va_list ap)
{
	struct maple_query **slot = &memo->statement[which];
	int ret = 0;

	assert(which < MAPLE_SQL_MAX && maple_sql_text[which]);
	if (!*slot)
		ret = maple_sql_prepare(memo, maple_sql_text[which], types,
					slot, err);
	else
		maple_sql_reset(*slot);
	*query = *slot;
	if (ret)
		return ret;
	assert(!strcmp((*slot)->types, types));
	return bound(bind(*slot, ap), err);
}

/* maple_sql_get - statement @which, ready to be stepped, arguments bound */
int maple_sql_get(struct maple_memo *memo, enum maple_statement which,
		  struct maple_query **query, struct maple_error *err,
		  const char *types, ...)
{
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = get(memo, which, query, err, types, ap);
	va_end(ap);
	return ret;
}

/*
 * maple_sql_step - 1 there is a row, 0 no more, else -errno
 *
 * When it returns no row the statement is reset, so it holds no lock.
 */
int maple_sql_step(struct maple_memo *memo, struct maple_query *query,
		   struct maple_error *err)
{
	int ret = memo->driver->step(memo, query, err);

	if (ret <= 0)
		maple_sql_reset(query);
	return ret;
}

/* maple_sql_reset - nothing more of @query is read; NULL: there is none */
void maple_sql_reset(struct maple_query *query)
{
	if (query)
		query->driver->reset(query);
}

void maple_sql_finish(struct maple_query *query)
{
	if (query)
		query->driver->finish(query);
}

/* maple_sql_number - a column of the row at hand; 0 for NULL */
int64_t maple_sql_number(struct maple_query *query, int column)
{
	return query->driver->number(query, column);
}

/* maple_sql_text_of - the same as text, until the next step; or NULL */
const char *maple_sql_text_of(struct maple_query *query, int column)
{
	return query->driver->text(query, column);
}

/* maple_sql_string - the same, to be freed */
char *maple_sql_string(struct maple_query *query, int column)
{
	const char *text = maple_sql_text_of(query, column);

	return text ? strdup(text) : NULL;
}

/*
 * Statement @which, at its first row; as maple_sql_step(). When the server is
 * lost, and there is a place beside it, that place is asked.
 */
static int first(struct maple_memo *memo, enum maple_statement which,
		 struct maple_query **query, struct maple_error *err,
		 const char *types, va_list ap)
{
	va_list copy;
	int ret;

	va_copy(copy, ap);
	ret = get(memo, which, query, err, types, copy);
	va_end(copy);
	if (!ret)
		ret = maple_sql_step(memo, *query, err);
	if (!maple_mirror_leaves(memo, ret))
		return ret;
	ret = maple_mirror_leave(memo, err);
	return ret ? ret : first(memo, which, query, err, types, ap);
}

/* maple_sql_ask - the same; *query is what is to be read from, and reset */
int maple_sql_ask(struct maple_memo *memo, enum maple_statement which,
		  struct maple_query **query, struct maple_error *err,
		  const char *types, ...)
{
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = first(memo, which, query, err, types, ap);
	va_end(ap);
	return ret;
}

/* maple_sql_run - a statement that returns no rows */
int maple_sql_run(struct maple_memo *memo, enum maple_statement which,
		  struct maple_error *err, const char *types, ...)
{
	struct maple_query *query;
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = first(memo, which, &query, err, types, ap);
	assert(ret <= 0);
	if (!ret)
		ret = maple_mirror_tell(memo, which, 0, err, types, ap);
	va_end(ap);
	return ret;
}

/* maple_sql_tell - the mirror hears of what was done by other words than @which */
int maple_sql_tell(struct maple_memo *memo, enum maple_statement which,
		   struct maple_error *err, const char *types, ...)
{
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = maple_mirror_tell(memo, which, 0, err, types, ap);
	va_end(ap);
	return ret;
}

/* maple_sql_mark - @mark of @goal: at once, or with the transaction's others */
int maple_sql_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		   unsigned int mark, struct maple_error *err)
{
	int ret;

	/* One that takes back what was said has its place behind that. */
	if (!memo->driver->mark || mark == MAPLE_MEMO_MENDED ||
	    !memo->driver->in_transaction(memo))
		return maple_sql_run(memo, MAPLE_SQL_MARK, err, "iiu", program,
				     goal, mark);
	ret = memo->driver->mark(memo, program, goal, mark, err);
	return ret ? ret
		   : maple_sql_tell(memo, MAPLE_SQL_MARK, err, "iiu", program,
				    goal, mark);
}

/* maple_sql_sample - @rows of @run, within a transaction */
int maple_sql_sample(struct maple_memo *memo, int64_t run,
		     const struct maple_sample_row *rows, size_t n,
		     struct maple_error *err)
{
	bool at_once = memo->driver->sample;
	int ret = at_once ? memo->driver->sample(memo, run, rows, n, err) : 0;

	if (maple_mirror_leaves(memo, ret)) {
		at_once = false;
		ret = maple_mirror_leave(memo, err);
	}
	for (size_t i = 0; i < n && !ret; i++) {
		const struct maple_sample_row *r = &rows[i];

		ret = (at_once ? maple_sql_tell : maple_sql_run)(
			memo, MAPLE_SQL_SAMPLE, err, "iiiiiii", run, r->class,
			r->predicted, r->exposed, r->failed, r->left, r->barred);
	}
	return ret;
}

/* maple_sql_exec - statements that take no arguments, used once */
int maple_sql_exec(struct maple_memo *memo, const char *sql,
		   struct maple_error *err)
{
	return memo->driver->exec(memo, sql, err);
}

/*
 * maple_sql_numbers - a temporary table of numbers and what became of them,
 * old and new, unless there is one
 */
int maple_sql_numbers(struct maple_memo *memo, const char *table,
		      struct maple_error *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql),
		 "CREATE TEMP TABLE IF NOT EXISTS %s(old %s, new BIGINT)",
		 table, memo->driver->key);
	return maple_sql_exec(memo, sql, err);
}

/* maple_sql_number_of - as maple_sql_find(), and nobody is told of it */
int maple_sql_number_of(struct maple_memo *memo, enum maple_statement which,
			int64_t *id, struct maple_error *err, const char *types,
			va_list ap)
{
	struct maple_query *query;
	int ret = first(memo, which, &query, err, types, ap);

	*id = 0;
	if (ret <= 0)
		return ret;
	*id = maple_sql_number(query, 0);
	/* An INSERT .. RETURNING is not done until it says so. */
	ret = maple_sql_step(memo, query, err);
	assert(ret <= 0);
	return ret;
}

/* maple_sql_find - the one number that a statement returns; 0: no row */
int maple_sql_find(struct maple_memo *memo, enum maple_statement which,
		   int64_t *id, struct maple_error *err, const char *types, ...)
{
	va_list ap;
	int ret;

	va_start(ap, types);
	ret = maple_sql_number_of(memo, which, id, err, types, ap);
	if (!ret && *id)
		ret = maple_mirror_tell(memo, which, *id, err, types, ap);
	va_end(ap);
	return ret;
}

/* Once more, when nobody else can make it any more. */
static int find_alone(struct maple_memo *memo, enum maple_statement find,
		      int64_t *id, struct maple_error *err, const char *types,
		      va_list ap)
{
	int ret;

	if (!memo->driver->lock)
		return 0;
	ret = memo->driver->lock(memo, err);
	return ret <= 0 ? ret
			: maple_sql_number_of(memo, find, id, err, types, ap);
}

/*
 * maple_sql_row - the number of a row, made by @add if @find finds none
 * @types: the arguments of @add; the first of them are those of @find
 *
 * Numbers never change: what is known beside a server it is not asked for.
 */
int maple_sql_row(struct maple_memo *memo, enum maple_statement find,
		  const char *find_types, enum maple_statement add, int64_t *id,
		  struct maple_error *err, const char *types, ...)
{
	va_list ap;
	int ret;

	assert(!strncmp(find_types, types, strlen(find_types)));
	va_start(ap, types);
	ret = maple_mirror_find(memo, find, id, err, find_types, ap);
	if (!ret && !*id) {
		ret = maple_sql_number_of(memo, find, id, err, find_types, ap);
		if (!ret && !*id)
			ret = find_alone(memo, find, id, err, find_types, ap);
		if (!ret && !*id)
			ret = maple_sql_number_of(memo, add, id, err, types, ap);
		if (!ret)
			ret = maple_mirror_tell(memo, add, *id, err, types, ap);
	}
	va_end(ap);
	return ret;
}

/* maple_sql_begin - a transaction that writes */
int maple_sql_begin(struct maple_memo *memo, enum maple_begin how,
		    struct maple_error *err)
{
	int ret = maple_return_try(memo, false, err);

	if (!ret)
		ret = memo->driver->begin(memo, how, err);
	if (!maple_mirror_leaves(memo, ret))
		return ret;
	ret = maple_mirror_leave(memo, err);
	return ret ? ret : memo->driver->begin(memo, how, err);
}

int maple_sql_commit(struct maple_memo *memo, struct maple_error *err)
{
	int ret = memo->driver->commit(memo, err);

	if (maple_mirror_leaves(memo, ret)) {
		ret = maple_mirror_leave(memo, err);
		if (!ret)
			ret = memo->driver->commit(memo, err);
	}
	if (!ret)
		maple_mirror_kept(memo);
	return ret;
}

void maple_sql_rollback(struct maple_memo *memo)
{
	memo->driver->rollback(memo);
	maple_mirror_lost(memo);
}

/*
 * maple_sql_enter, maple_sql_leave - a transaction, unless one is open
 * @ours: whether this call opened it, for the other call to close
 * @ret: leave rolls back if it is negative; it is returned
 */
int maple_sql_enter(struct maple_memo *memo, enum maple_begin how, bool *ours,
		    struct maple_error *err)
{
	*ours = !memo->driver->in_transaction(memo);
	return *ours ? maple_sql_begin(memo, how, err) : 0;
}

int maple_sql_leave(struct maple_memo *memo, bool ours, int ret,
		    struct maple_error *err)
{
	if (!ours)
		return ret;
	if (!ret)
		ret = maple_sql_commit(memo, err);
	if (ret)
		maple_sql_rollback(memo);
	return ret;
}
