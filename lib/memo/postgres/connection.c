// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Connecting to a server, asking it, and what its answers mean to the user.
 * Nothing waits for ever: neither a server that says nothing nor a network that
 * is gone.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "memo/postgres/connection.h"

#define LOOK_MS	  100 /* between two questions whether to go on */
#define CONNECT_S 10.0
#define ANSWER_S  60.0 /* that a statement may take; several: whatever it is */
#define PAUSE_MS  300
#define CANCEL_S  5.0

#define OLDEST	  140000 /* it ends processes, and waits for that */

static bool is_one_of(const char *state, const char *const *states)
{
	for (; *states; states++)
		if (!strncmp(state, *states, strlen(*states)))
			return true;
	return false;
}

/* maple_pg_fail - @result's, or the connection's, error */
int maple_pg_fail(struct maple_pg *c, const PGresult *result,
		  struct maple_error *err)
{
	/* It is gone, it goes, or one of two transactions had to give way. */
	static const char *const gone[] = { "08",    "57P01", "57P02", "57P03",
					    "25P03", "40001", "40P01", NULL };
	static const char *const full[] = { "53100", "53200", NULL };
	static const char *const busy[] = { "55P03", "53300", NULL };
	static const char *const closed[] = { "42501", "25006", NULL };
	static const char *const damaged[] = { "XX001", "XX002", NULL };
	const char *path = c->memo->path, *state = NULL, *text = NULL;

	if (result) {
		state = c->pq->PQresultErrorField(result, PG_DIAG_SQLSTATE);
		text = c->pq->PQresultErrorField(result,
						 PG_DIAG_MESSAGE_PRIMARY);
	}
	if (!text)
		text = c->pq->PQerrorMessage(c->conn);
	if (c->pq->PQstatus(c->conn) != CONNECTION_OK ||
	    (state && is_one_of(state, gone)))
		return maple_error_set(err, ENOTCONN,
				       "memo database '%s': the connection to "
				       "the server was lost: %.*s",
				       path, (int)strcspn(text, "\n"), text);
	if (state && is_one_of(state, full))
		return maple_error_set(err, ENOSPC,
				       "memo database '%s': the server's disk "
				       "or memory is full: %s; free some there",
				       path, text);
	if (state && is_one_of(state, busy))
		return maple_error_set(err, EBUSY,
				       "memo database '%s' is in use by "
				       "another process; wait for it (%s)",
				       path, text);
	if (state && is_one_of(state, closed))
		return maple_error_set(err, EROFS,
				       "memo database '%s' cannot be written: "
				       "%s; ask its owner for the rights "
				       "(docs/scale.md)",
				       path, text);
	if (state && is_one_of(state, damaged))
		return maple_sql_damaged(c->memo, err);
	return maple_error_set(err, EIO, "memo database '%s': %.*s", path,
			       (int)strcspn(text, "\n"), text);
}

/* ---- asking ---- */

static void cancel(struct maple_pg *c)
{
	PGcancel *order = c->pq->PQgetCancel(c->conn);
	char why[128];

	if (order)
		c->pq->PQcancel(order, why, sizeof(why));
	c->pq->PQfreeCancel(order);
}

static bool is_to_stop(struct maple_pg *c)
{
	return atomic_exchange(&c->interrupted, false) ||
	       (c->stop && c->stop(c->ctx));
}

/* Until the next result is there; -ETIMEDOUT; -ENOTCONN; nothing is said */
static int await(struct maple_pg *c, double *until, bool *cancelled)
{
	while (c->pq->PQisBusy(c->conn)) {
		struct pollfd p = { .fd = c->pq->PQsocket(c->conn),
				    .events = POLLIN };
		int n = poll(&p, 1, LOOK_MS);

		if (n > 0 && !c->pq->PQconsumeInput(c->conn))
			return -ENOTCONN;
		if (n > 0)
			continue;
		if (!*cancelled && is_to_stop(c)) {
			*cancelled = true;
			*until = maple_clock_now() + CANCEL_S;
			cancel(c);
		}
		if (*until > 0 && maple_clock_now() > *until)
			return -ETIMEDOUT;
	}
	return 0;
}

static bool is_good(struct maple_pg *c, const PGresult *r)
{
	switch (c->pq->PQresultStatus(r)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_COPY_IN:
	case PGRES_EMPTY_QUERY:
		return true;
	default:
		return false;
	}
}

static int read_answer(struct maple_pg *c, double until, PGresult **result,
		       struct maple_error *err)
{
	bool cancelled = false;
	int ret = 0, e;

	*result = NULL;
	for (;;) {
		PGresult *r;

		e = await(c, &until, &cancelled);
		if (e == -ETIMEDOUT) {
			/* What it does yet is nobody's business any more. */
			c->pq->PQfinish(c->conn);
			c->conn = NULL;
			return maple_error_set(err, ENOTCONN,
					       "memo database '%s': the server "
					       "does not answer",
					       c->memo->path);
		}
		r = e ? NULL : c->pq->PQgetResult(c->conn);
		if (!r)
			break;
		if (!ret && !is_good(c, r))
			ret = maple_pg_fail(c, r, err);
		c->pq->PQclear(*result);
		*result = r;
		if (c->pq->PQresultStatus(r) == PGRES_COPY_IN)
			break;
	}
	if (!ret && (e || !*result))
		ret = maple_pg_fail(c, NULL, err);
	if (ret) {
		c->pq->PQclear(*result);
		*result = NULL;
	}
	return ret;
}

/* maple_pg_answer - to what has been sent, the last of it, if all went well */
int maple_pg_answer(struct maple_pg *c, PGresult **result,
		    struct maple_error *err)
{
	return read_answer(c, 0, result, err);
}

/* maple_pg_types - of arguments whose letters are @types (sql.c) */
void maple_pg_types(const char *types, Oid *oids)
{
	for (int i = 0; types[i]; i++)
		oids[i] = types[i] == 's'   ? MAPLE_PG_TEXT
			  : types[i] == 'd' ? MAPLE_PG_REAL
					    : MAPLE_PG_NUMBER;
}

static int send_call(struct maple_pg *c, const struct maple_pg_call *call)
{
	int n = call->types ? (int)strlen(call->types) : 0;
	Oid oids[n + 1];

	if (!call->types)
		return c->pq->PQsendQuery(c->conn, call->sql);
	if (call->prepared && call->generation == c->generation)
		return c->pq->PQsendQueryPrepared(c->conn, call->prepared, n,
						  call->values, NULL, NULL, 0);
	maple_pg_types(call->types, oids);
	return c->pq->PQsendQueryParams(c->conn, call->sql, n, oids,
					call->values, NULL, NULL, 0);
}

/* maple_pg_call - one statement, now; @result is to be cleared, NULL: unwanted */
int maple_pg_call(struct maple_pg *c, const struct maple_pg_call *call,
		  PGresult **result, struct maple_error *err)
{
	PGresult *r = NULL;
	int ret;

	if (!c->conn)
		return maple_error_set(err, ENOTCONN,
				       "memo database '%s': there is no "
				       "connection to the server",
				       c->memo->path);
	if (!send_call(c, call))
		return maple_pg_fail(c, NULL, err);
	ret = read_answer(
		c,
		call->types || call->bounded ? maple_clock_now() + ANSWER_S : 0,
		&r, err);
	if (result)
		*result = r;
	else
		c->pq->PQclear(r);
	return ret;
}

/* maple_pg_ask - the one number that @sql returns; 0: none */
int maple_pg_ask(struct maple_pg *c, const char *sql, int64_t *number,
		 struct maple_error *err)
{
	struct maple_pg_call call = { .sql = sql };
	PGresult *r = NULL;
	int ret = maple_pg_call(c, &call, &r, err);

	*number = 0;
	if (!ret && c->pq->PQntuples(r))
		*number = strtoll(c->pq->PQgetvalue(r, 0, 0), NULL, 10);
	c->pq->PQclear(r);
	return ret;
}

/* ---- connecting ---- */

static void no_notices(void *ctx, const char *text)
{
}

/* Until the connection stands or does not; false: that is not known in time. */
static bool wait_for_it(struct maple_pg *c)
{
	double until = maple_clock_now() + CONNECT_S;
	PostgresPollingStatusType s = PGRES_POLLING_WRITING;

	while (s != PGRES_POLLING_OK && s != PGRES_POLLING_FAILED) {
		struct pollfd p = {
			.fd = c->pq->PQsocket(c->conn),
			.events = s == PGRES_POLLING_READING ? POLLIN : POLLOUT,
		};

		if (p.fd < 0)
			return true; /* it has failed */
		if (poll(&p, 1, LOOK_MS) > 0)
			s = c->pq->PQconnectPoll(c->conn);
		else if (is_to_stop(c) || maple_clock_now() > until)
			return false;
	}
	return true;
}

static PGconn *start(struct maple_pg *c)
{
	/* What is in the URL goes over what stands before it. */
	const char *const words[] = {
		"keepalives_idle",  "keepalives_interval",
		"keepalives_count", "tcp_user_timeout",
		"dbname",	    "application_name",
		"client_encoding",  NULL,
	};
	const char *const values[] = {
		"5", "3", "3", "10000", c->memo->path, c->name, "UTF8", NULL,
	};
	PGconn *conn = c->pq->PQconnectStartParams(words, values, 1);

	if (conn)
		c->pq->PQsetNoticeProcessor(conn, no_notices, NULL);
	return conn;
}

/* maple_pg_there - see driver.h */
int maple_pg_there(struct maple_memo *memo)
{
	struct maple_pg *c = memo->db;
	struct pollfd p = { 0 };
	PostgresPollingStatusType s;

	if (!c->asked) {
		c->asked = start(c);
		c->asks = POLLOUT;
		return c->asked ? 0 : -ENOTCONN;
	}
	p.fd = c->pq->PQsocket(c->asked);
	p.events = c->asks;
	if (p.fd >= 0 && !poll(&p, 1, 0))
		return 0;
	s = c->pq->PQconnectPoll(c->asked);
	c->asks = s == PGRES_POLLING_READING ? POLLIN : POLLOUT;
	if (s != PGRES_POLLING_OK && s != PGRES_POLLING_FAILED)
		return 0;
	c->pq->PQfinish(c->asked);
	c->asked = NULL;
	return s == PGRES_POLLING_OK ? 1 : -ENOTCONN;
}

static int dial(struct maple_pg *c, struct maple_error *err)
{
	const char *why;
	bool password, answered;

	c->conn = start(c);
	c->generation++;
	if (!c->conn)
		return maple_error_set(err, ENOMEM, "out of memory");
	answered = wait_for_it(c);
	if (answered && c->pq->PQstatus(c->conn) == CONNECTION_OK)
		return 0;
	why = answered ? c->pq->PQerrorMessage(c->conn)
		       : "the server does not answer";
	password = c->pq->PQconnectionNeedsPassword(c->conn);
	maple_error_set(err, ENOTCONN,
			"memo database '%s' cannot be opened: %.*s%s",
			c->memo->path, (int)strcspn(why, "\n"), why,
			password ? "; put it into ~/.pgpass, or the file that "
				   "PGPASSFILE names"
				 : "");
	c->pq->PQfinish(c->conn);
	c->conn = NULL;
	return -ENOTCONN;
}

/*
 * A plan is made once for a connection, when its tables may still be empty and
 * nothing is known of them. What the server then takes to be expensive it would
 * compile, with each execution anew, for 40 times as long as it executes.
 */
static int set_up(struct maple_pg *c, struct maple_error *err)
{
	struct maple_pg_call call = {
		.sql = "SET search_path = maple; SET lock_timeout = '30s';"
		       "SET standard_conforming_strings = on;"
		       "SET plan_cache_mode = force_generic_plan;"
		       "SET jit = off;"
		       "SET idle_in_transaction_session_timeout = '60s';"
		       "SET tcp_keepalives_idle = 10;"
		       "SET tcp_keepalives_interval = 5;"
		       "SET tcp_keepalives_count = 3",
	};
	int ret = maple_pg_call(c, &call, NULL, err);

	call.sql = "SET default_transaction_read_only = on";
	if (!ret && c->readonly)
		ret = maple_pg_call(c, &call, NULL, err);
	return ret;
}

/* maple_pg_connect - once; -ENOTCONN */
int maple_pg_connect(struct maple_pg *c, struct maple_error *err)
{
	int ret = dial(c, err);

	if (!ret && c->pq->PQserverVersion(c->conn) < OLDEST)
		ret = maple_error_set(err, ENOTSUP,
				      "memo database '%s': the server is older "
				      "than PostgreSQL 14",
				      c->memo->path);
	if (!ret)
		ret = set_up(c, err);
	if (!ret)
		c->backend = c->pq->PQbackendPID(c->conn);
	return ret;
}

/*
 * The process at the server that we had before. It may not have noticed: then
 * it has our locks, and could do yet what it was told.
 */
static int end_former(struct maple_pg *c, int former, struct maple_error *err)
{
	char sql[256];
	int64_t n;

	snprintf(sql, sizeof(sql),
		 "SELECT count(pg_terminate_backend(pid, 5000))"
		 " FROM pg_stat_activity WHERE pid = %d"
		 " AND application_name = '%s' AND pid != pg_backend_pid()",
		 former, c->name);
	return former ? maple_pg_ask(c, sql, &n, err) : 0;
}

/*
 * maple_pg_reconnect - as soon as the server is there again, if it is soon; one
 * that did not come is waited for no more
 */
int maple_pg_reconnect(struct maple_pg *c, struct maple_error *err)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	double until = maple_clock_now() + (c->away ? 0 : c->wait);
	int ret, former = c->backend;

	for (;;) {
		if (c->conn)
			c->pq->PQfinish(c->conn);
		c->conn = NULL;
		c->nnumbers = 0;
		ret = maple_pg_connect(c, err);
		if (!ret)
			ret = end_former(c, former, err);
		if (!ret)
			ret = maple_pg_reclaim(c, err);
		c->away = ret == -ENOTCONN && maple_clock_now() > until;
		if (ret != -ENOTCONN || c->away || is_to_stop(c))
			return ret;
		nanosleep(&pause, NULL);
	}
}
