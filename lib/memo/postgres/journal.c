// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Transactions that outlive the connection, and the server.
 *
 * What calls the memo cannot do it again: it has gone on with the numbers and
 * states that it was told. So what a transaction that writes has done is kept
 * until its end. When the connection is lost, or the server undoes the
 * transaction, there is a new connection, and all of it is done again there,
 * with the same numbers for new rows. If one answer is another one than before,
 * since somebody else has written in between, that transaction has failed, and
 * it is said.
 *
 * Whether a COMMIT without an answer was done is told by the database: each
 * transaction that writes leaves its serial number under the name of its
 * connection. (The numbers that PostgreSQL gives transactions do not tell:
 * after a crash another one may have the same.) The former connection's process
 * is ended before that is looked at, so nothing comes after it.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "base/array.h"
#include "memo/postgres/connection.h"

/*
 * Whoever writes several things has WRITING with the others, or alone; whoever
 * makes rows that are told from others by what they say has NAMES as well,
 * which older versions have for all that they write. They are taken in this
 * order, and rows of memo after them, so that nobody waits in a circle.
 */
#define WRITING 0x6d61706d
#define NAMES	0x6d61706c

static const char sign[] =
	"INSERT INTO clients(name, serial, at) VALUES($1, $2, unixepoch())"
	" ON CONFLICT(name) DO UPDATE SET serial = excluded.serial,"
	" at = excluded.at";

static void free_entry(struct maple_pg_entry *e)
{
	for (size_t i = 0; e->types && e->types[i]; i++)
		free(e->values[i]);
	free(e->values);
	free(e->types);
	free(e->sql);
	free(e->id);
}

/* maple_pg_forget - what the transaction has done */
void maple_pg_forget(struct maple_pg *c)
{
	for (size_t i = 0; i < c->n; i++)
		free_entry(&c->entry[i]);
	c->n = 0;
	c->nmarks = 0;
}

static uint64_t hash_of(struct maple_pg *c, const PGresult *r)
{
	uint64_t hash = (uint64_t)c->pq->PQntuples(r);

	for (int row = 0; row < c->pq->PQntuples(r); row++)
		for (int i = 0; i < c->pq->PQnfields(r); i++)
			hash = XXH64(
				c->pq->PQgetvalue(r, row, i),
				(size_t)c->pq->PQgetlength(r, row, i),
				hash + (uint64_t)c->pq->PQgetisnull(r, row, i));
	return hash;
}

/* The number of the row that an INSERT has made, or met. */
static const char *id_of(struct maple_pg *c, const char *sql, const PGresult *r)
{
	return !strncmp(sql, "INSERT", 6) && c->pq->PQntuples(r) == 1 &&
			       c->pq->PQnfields(r) == 1
		       ? c->pq->PQgetvalue(r, 0, 0)
		       : NULL;
}

static bool copy_call(struct maple_pg_entry *e, const struct maple_pg_call *call)
{
	size_t n = call->types ? strlen(call->types) : 0;
	bool all;

	*e = (struct maple_pg_entry){ .sql = strdup(call->sql) };
	e->values = calloc(n + 1, sizeof(*e->values));
	e->types = call->types ? strdup(call->types) : NULL;
	all = e->sql && e->values && (e->types || !call->types);
	for (size_t i = 0; i < n && all; i++)
		if (call->values[i])
			all = (e->values[i] = strdup(call->values[i]));
	return all;
}

static int keep(struct maple_pg *c, const struct maple_pg_call *call,
		const PGresult *r, struct maple_error *err)
{
	const char *id = id_of(c, call->sql, r);
	struct maple_pg_entry *e;

	if (!maple_array_reserve(c->entry, c->n, c->room))
		return maple_error_set(err, ENOMEM, "out of memory");
	e = &c->entry[c->n];
	if (!copy_call(e, call) || (id && !(e->id = strdup(id)))) {
		free_entry(e);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	e->answer = hash_of(c, r);
	c->n++;
	return 0;
}

static int simple(struct maple_pg *c, const char *sql, struct maple_error *err)
{
	struct maple_pg_call call = { .sql = sql };

	return maple_pg_call(c, &call, NULL, err);
}

static int wait_signature(struct maple_pg *c, struct maple_error *err)
{
	struct maple_pg_call call;
	int ret = 0;

	if (!c->sign)
		ret = maple_pg_prepare(c->memo, sign, "si", &c->sign, err);
	if (!ret && (maple_pg_bind_text(c->sign, 1, c->name) ||
		     maple_pg_bind_number(c->sign, 2, c->serial)))
		ret = maple_error_set(err, ENOMEM, "out of memory");
	if (!ret)
		ret = maple_pg_known(c->sign, &call, err);
	return ret ? ret : maple_pg_wait_call(c, &call, err);
}

/*
 * Its serial number is left at once, so that nothing is missing at its end.
 * What begins a transaction that writes waits for its first statement.
 */
static int start(struct maple_pg *c, struct maple_error *err)
{
	bool alone = c->kind == MAPLE_PG_ALONE;
	char sql[256];
	int n, ret;

	maple_pg_drop(c);
	if (c->kind == MAPLE_PG_READ)
		return simple(c,
			      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
			      err);
	n = snprintf(sql, sizeof(sql), "BEGIN");
	if (c->kind != MAPLE_PG_ONE)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n,
			      ";SELECT pg_advisory_xact_lock%s(%d)",
			      alone ? "" : "_shared", WRITING);
	if (alone || c->locked)
		snprintf(sql + n, sizeof(sql) - (size_t)n,
			 ";SELECT pg_advisory_xact_lock(%d)", NAMES);
	ret = maple_pg_wait(c, sql, err);
	return ret ? ret : wait_signature(c, err);
}

static int not_again(struct maple_pg *c, struct maple_error *err)
{
	return maple_error_set(err, EAGAIN,
			       "memo database '%s': the connection to the "
			       "server was lost, and others have written what "
			       "the last step relied on; what was kept before "
			       "is kept: run it again",
			       c->memo->path);
}

static int do_entry(struct maple_pg *c, const struct maple_pg_entry *e,
		    struct maple_error *err)
{
	struct maple_pg_call call = { .sql = e->sql,
				      .types = e->types,
				      .values = (const char *const *)e->values };
	PGresult *r = NULL;
	char sql[96];
	int ret = 0;

	if (e->id) {
		snprintf(sql, sizeof(sql), "SET LOCAL maple.id = '%.20s'",
			 e->id);
		ret = simple(c, sql, err);
	}
	if (!ret)
		ret = maple_pg_call(c, &call, &r, err);
	/* It went well before: there is a row now that was not there. */
	if (ret == -EIO || (!ret && hash_of(c, r) != e->answer))
		ret = not_again(c, err);
	c->pq->PQclear(r);
	if (!ret && e->id)
		ret = simple(c, "SET LOCAL maple.id = ''", err);
	return ret;
}

/* Everything once more, on the connection that there is. */
static int repeat(struct maple_pg *c, struct maple_error *err)
{
	int ret = start(c, err);

	if (!ret)
		ret = maple_pg_send(c, NULL, err);
	for (size_t i = 0; i < c->n && !ret; i++)
		ret = do_entry(c, &c->entry[i], err);
	return ret;
}

/* Whether the transaction was done, though nobody has said so. */
static int look(struct maple_pg *c, bool *done, struct maple_error *err)
{
	char sql[128];
	int64_t serial;
	int ret;

	snprintf(sql, sizeof(sql),
		 "SELECT serial FROM clients WHERE name = '%s'", c->name);
	ret = maple_pg_ask(c, sql, &serial, err);
	*done = !ret && serial == c->serial;
	return ret;
}

/*
 * The transaction stands where it stood, on another connection or this one.
 * @done: unless it turns out to have been committed; NULL: it cannot have been
 */
static int again(struct maple_pg *c, bool *done, struct maple_error *err)
{
	int ret = -ENOTCONN;

	if (c->temporary || c->kind == MAPLE_PG_READ)
		return -ENOTCONN; /* as @err says */
	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN; i++) {
		ret = maple_pg_reconnect(c, err);
		if (ret)
			break;
		if (done)
			ret = look(c, done, err);
		if (!ret && done && *done)
			return 0;
		if (!ret)
			ret = repeat(c, err);
	}
	return ret;
}

/* maple_pg_begin - a transaction; see enum maple_pg_kind */
int maple_pg_begin(struct maple_pg *c, enum maple_pg_kind kind,
		   struct maple_error *err)
{
	int ret;

	assert(!c->begun);
	atomic_store(&c->interrupted, false);
	/* Without any it begins as well. */
	if (kind == MAPLE_PG_SHARED)
		maple_pg_number_runs(c, NULL);
	c->begun = true;
	c->kind = kind;
	c->locked = false;
	c->serial++;
	maple_pg_forget(c);
	ret = start(c, err);
	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN && !c->temporary;
	     i++) {
		ret = maple_pg_reconnect(c, err);
		if (ret)
			break;
		ret = start(c, err);
	}
	if (ret)
		maple_pg_rollback(c);
	return ret;
}

/* maple_pg_lock - see driver.h */
int maple_pg_lock(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	char sql[64];

	assert(c->begun && c->kind != MAPLE_PG_READ);
	if (c->locked || c->kind == MAPLE_PG_ALONE)
		return 0;
	c->locked = true;
	snprintf(sql, sizeof(sql), "SELECT pg_advisory_xact_lock(%d)", NAMES);
	return maple_pg_wait(c, sql, err) ?: 1;
}

/* Of a transaction that has failed the server takes it for a ROLLBACK. */
static int try_commit(struct maple_pg *c, struct maple_error *err)
{
	PGresult *r = NULL;
	int ret = maple_pg_wait(c, "COMMIT", err);

	if (!ret)
		ret = maple_pg_send(c, &r, err);
	if (!ret && strcmp(c->pq->PQcmdStatus(r), "COMMIT"))
		ret = maple_error_set(err, EIO,
				      "memo database '%s': the transaction had "
				      "failed before",
				      c->memo->path);
	c->pq->PQclear(r);
	return ret;
}

int maple_pg_commit(struct maple_pg *c, struct maple_error *err)
{
	bool done = false;
	int ret = maple_pg_tell_marks(c, err);

	if (!ret)
		ret = try_commit(c, err);

	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN && !done; i++) {
		ret = again(c, &done, err);
		if (ret)
			break;
		if (!done)
			ret = try_commit(c, err);
	}
	if (ret)
		return ret;
	c->begun = false;
	maple_pg_forget(c);
	return 0;
}

void maple_pg_rollback(struct maple_pg *c)
{
	maple_pg_drop(c);
	if (c->begun && c->conn)
		simple(c, "ROLLBACK", NULL);
	c->begun = false;
	maple_pg_forget(c);
}

/* Outside of transactions, of what only reads. */
static int read_once(struct maple_pg *c, const struct maple_pg_call *call,
		     PGresult **result, struct maple_error *err)
{
	int ret = maple_pg_call(c, call, result, err);

	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN && !c->temporary;
	     i++) {
		ret = maple_pg_reconnect(c, err);
		if (ret)
			break;
		ret = maple_pg_call(c, call, result, err);
	}
	return ret;
}

/* With what waits; or it waits as well. */
static int step_with(struct maple_pg *c, const struct maple_pg_call *call,
		     PGresult **result, struct maple_error *err)
{
	int ret;

	if (c->kind == MAPLE_PG_READ || !maple_pg_can_wait(c, call)) {
		ret = maple_pg_send(c, NULL, err);
		return ret ? ret : maple_pg_call(c, call, result, err);
	}
	ret = maple_pg_wait_call(c, call, err);
	if (ret || !maple_pg_says_nothing(call))
		return ret ? ret : maple_pg_send(c, result, err);
	*result = c->pq->PQmakeEmptyPGresult(c->conn, PGRES_COMMAND_OK);
	return *result ? 0 : maple_error_set(err, ENOMEM, "out of memory");
}

/*
 * What is read among others who write may be another thing a moment later:
 * nobody relies on that.
 */
static bool is_to_be_kept(const struct maple_pg *c,
			  const struct maple_pg_call *call)
{
	if (c->kind == MAPLE_PG_READ || c->temporary)
		return false;
	return c->kind == MAPLE_PG_ALONE || c->locked ||
	       strncmp(call->sql, "SELECT", 6);
}

/* Within a transaction. */
static int step_once(struct maple_pg *c, const struct maple_pg_call *call,
		     PGresult **result, struct maple_error *err)
{
	int ret = step_with(c, call, result, err);

	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN; i++) {
		ret = again(c, NULL, err);
		if (ret)
			break;
		ret = maple_pg_call(c, call, result, err);
	}
	if (!ret && is_to_be_kept(c, call))
		ret = keep(c, call, *result, err);
	return ret;
}

/*
 * maple_pg_do - @call, within the transaction that is open, or by itself; if
 * the connection is lost, once all the same
 */
int maple_pg_do(struct maple_pg *c, const struct maple_pg_call *call,
		PGresult **result, struct maple_error *err)
{
	int ret = 0;

	*result = NULL;
	atomic_store(&c->interrupted, false);
	if (c->begun && c->nmarks && maple_pg_reads_marks(call))
		ret = maple_pg_tell_marks(c, err);
	if (c->begun)
		return ret ? ret : step_once(c, call, result, err);
	if (!strncmp(call->sql, "SELECT", 6) || c->readonly || c->temporary)
		return read_once(c, call, result, err);
	ret = maple_pg_begin(c, MAPLE_PG_ONE, err);
	if (ret)
		return ret;
	ret = step_once(c, call, result, err);
	if (!ret)
		ret = maple_pg_commit(c, err);
	if (ret) {
		maple_pg_rollback(c);
		c->pq->PQclear(*result);
		*result = NULL;
	}
	return ret;
}
