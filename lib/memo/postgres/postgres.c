// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo in PostgreSQL: several machines have one, at a server that they
 * reach. What is there is looked at before anything is written, as in SQLite.
 *
 * Memos differ in what an owner is: whoever may write to this one is believed,
 * and each row says whose it is.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "memo/postgres/connection.h"
#include "memo/postgres/schema.h"

#define FORGET_S (30 * 86400) /* a client that has written nothing so long */
#define WAIT_S	 30	      /* that a server may be gone, by default */
#define MOST_S	 3600	      /* ... if the user says how long */

static struct maple_pg *pg_of(const struct maple_memo *memo)
{
	return memo->db;
}

static int exec(struct maple_memo *memo, const char *sql,
		struct maple_error *err)
{
	struct maple_pg *c = pg_of(memo);
	struct maple_pg_call call = { .sql = sql };
	PGresult *r = NULL;
	int ret = maple_pg_do(c, &call, &r, err);

	c->pq->PQclear(r);
	return ret;
}

/* ---- transactions ---- */

static int begin(struct maple_memo *memo, enum maple_begin how,
		 struct maple_error *err)
{
	static const enum maple_pg_kind kinds[] = {
		[MAPLE_BEGIN_READ] = MAPLE_PG_READ,
		[MAPLE_BEGIN_SHARED] = MAPLE_PG_SHARED,
		[MAPLE_BEGIN_ALONE] = MAPLE_PG_ALONE,
	};

	return maple_pg_begin(pg_of(memo), kinds[how], err);
}

static int commit(struct maple_memo *memo, struct maple_error *err)
{
	return maple_pg_commit(pg_of(memo), err);
}

static void rollback(struct maple_memo *memo)
{
	maple_pg_rollback(pg_of(memo));
}

static bool in_transaction(struct maple_memo *memo)
{
	return pg_of(memo)->begun;
}

/* ---- opening ---- */

/* Others of the machine see the words of a command. */
static int refuse_password(struct maple_pg *c, struct maple_error *err)
{
	char *why = NULL;
	PQconninfoOption *options = c->pq->PQconninfoParse(c->memo->path, &why);
	bool password = false;

	for (PQconninfoOption *o = options; o && o->keyword; o++)
		password |= o->val && *o->val &&
			    (!strcmp(o->keyword, "password") ||
			     !strcmp(o->keyword, "sslpassword"));
	c->pq->PQconninfoFree(options);
	if (!options)
		maple_error_set(err, EINVAL,
				"this is no name of a database at a PostgreSQL "
				"server: %.*s",
				(int)strcspn(why ? why : "", "\n"),
				why ? why : "");
	c->pq->PQfreemem(why);
	if (password)
		return maple_error_set(
			err, EINVAL,
			"a password in --db is seen by everybody who looks at "
			"the processes of this machine; put it into ~/.pgpass, "
			"or the file that PGPASSFILE names, or into a service "
			"file (postgresql:///?service=NAME)");
	return options ? 0 : -EINVAL;
}

/* How long a server that is gone is waited for. */
static int take_wait(struct maple_pg *c, struct maple_error *err)
{
	const char *said = secure_getenv("MAPLE_SERVER_WAIT");
	char *end;

	c->wait = WAIT_S;
	if (!said || !*said)
		return 0;
	c->wait = strtod(said, &end);
	if (end != said && !*end && c->wait >= 0 && c->wait <= MOST_S)
		return 0;
	return maple_error_set(err, EINVAL,
			       "MAPLE_SERVER_WAIT is a number of seconds, 0 to "
			       "%d, not '%s'",
			       MOST_S, said);
}

/* A name that no other connection has, by which the server knows this one. */
static int take_name(struct maple_pg *c, struct maple_error *err)
{
	uint64_t number[2];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return maple_error_set(err, EIO,
				       "there is no random number: %m");
	snprintf(c->name, sizeof(c->name), "maple-%016llx%016llx",
		 (unsigned long long)number[0], (unsigned long long)number[1]);
	return 0;
}

/* @version: 0: there is no memo yet */
static int look(struct maple_pg *c, int64_t *version, struct maple_error *err)
{
	int64_t there;
	int ret = maple_pg_ask(c,
			       "SELECT count(*) FROM pg_class t"
			       " JOIN pg_namespace n ON n.oid = t.relnamespace"
			       " WHERE n.nspname = 'maple'"
			       " AND t.relname = 'about'",
			       &there, err);

	*version = 0;
	if (!ret && there)
		ret = maple_pg_ask(c, "SELECT version FROM maple.about",
				   version, err);
	if (!ret && *version > maple_sql_version)
		ret = maple_sql_newer(c->memo, *version, err);
	return ret;
}

/*
 * Others may do the same: whoever is second finds it done. Where a hundred begin
 * at once the last one waits for all others, longer than for any lock later.
 */
static int migrate(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_pg *c = pg_of(memo);
	struct maple_pg_call call = {
		.sql = "BEGIN; SET LOCAL lock_timeout = '300s';"
		       "SELECT pg_advisory_xact_lock(1835102316);"
		       "SET LOCAL lock_timeout = '30s'"
	};
	char sql[64];
	int64_t version;
	int ret = maple_pg_call(c, &call, NULL, err);

	if (!ret)
		ret = look(c, &version, err);
	call.sql = maple_pg_schema;
	if (!ret && !version) {
		ret = maple_pg_call(c, &call, NULL, err);
		version = MAPLE_PG_FIRST;
	}
	for (; !ret && version < maple_sql_version; version++) {
		call.sql = maple_pg_migrations[version - MAPLE_PG_FIRST];
		assert(call.sql);
		ret = maple_pg_call(c, &call, NULL, err);
	}
	snprintf(sql, sizeof(sql), "UPDATE about SET version = %d; COMMIT",
		 maple_sql_version);
	call.sql = ret ? "ROLLBACK" : sql;
	return ret ? maple_pg_call(c, &call, NULL, NULL),
	       ret : maple_pg_call(c, &call, NULL, err);
}

static int make_ready(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_pg *c = pg_of(memo);
	struct maple_pg_call call;
	char sql[128];
	int64_t version;
	int ret = look(c, &version, err);

	if (ret)
		return ret;
	if (c->readonly && !version)
		return maple_error_set(err, ENOENT,
				       "memo database '%s' is still empty",
				       memo->path);
	if (c->readonly && version < maple_sql_version)
		return maple_sql_older(memo, version, err);
	if (c->readonly)
		return 0;
	if (version < maple_sql_version)
		ret = migrate(memo, err);
	snprintf(sql, sizeof(sql),
		 "DELETE FROM clients WHERE at < unixepoch() - %d", FORGET_S);
	call = (struct maple_pg_call){ .sql = sql };
	return ret ? ret : maple_pg_call(c, &call, NULL, err);
}

static int open_server(struct maple_memo *memo, unsigned int flags,
		       struct maple_error *err)
{
	struct maple_pg *c = calloc(1, sizeof(*c));
	int ret;

	memo->db = c;
	if (!c)
		return maple_error_set(err, ENOMEM, "out of memory");
	c->memo = memo;
	c->readonly = flags & MAPLE_MEMO_READONLY;
	memo->owner = (uid_t)-1; /* nobody's: rows say whose they are */
	c->pq = maple_pq_load(err);
	if (!c->pq)
		return -ENOPKG;
	ret = refuse_password(c, err);
	if (!ret)
		ret = take_wait(c, err);
	if (!ret)
		ret = take_name(c, err);
	if (!ret)
		ret = maple_pg_connect(c, err);
	if (!ret)
		ret = make_ready(memo, err);
	return ret;
}

static void drop_query(struct maple_query *query)
{
	if (query)
		maple_pg_finish(query);
}

static void close_it(struct maple_memo *memo)
{
	struct maple_pg *c = pg_of(memo);
	char sql[128];

	if (c->conn) {
		struct maple_pg_call call = { .sql = sql };

		maple_pg_rollback(c);
		snprintf(sql, sizeof(sql),
			 "DELETE FROM clients WHERE name = '%s'", c->name);
		if (c->serial && !c->readonly)
			maple_pg_call(c, &call, NULL, NULL);
		c->pq->PQfinish(c->conn);
	}
	if (c->asked)
		c->pq->PQfinish(c->asked);
	maple_pg_forget(c);
	drop_query(c->sign);
	drop_query(c->marks);
	drop_query(c->samples);
	drop_query(c->claims);
	drop_query(c->releases);
	free(c->mark);
	free(c->entry);
	free(c->waiting);
	free(c->claim);
	free(c);
}

/* Every row is read: the server looks for damage where it has checksums. */
static int check(struct maple_memo *memo, struct maple_error *err)
{
	char sql[96];
	int ret = 0;

	for (int i = 0; maple_sql_tables[i] && !ret; i++) {
		snprintf(sql, sizeof(sql), "SELECT count(t::TEXT) FROM %s t",
			 maple_sql_tables[i]);
		ret = exec(memo, sql, err);
	}
	return ret;
}

/* ---- what is delivered later ---- */

static int origin_of(struct maple_memo *memo, struct maple_origin *origin,
		     struct maple_error *err)
{
	struct maple_pg *c = pg_of(memo);
	struct maple_pg_call call = { .sql = "SELECT uid FROM about" };
	PGresult *r = NULL;
	int ret = 0;

	/* Asked for while there is somebody to ask. */
	if (!*c->about) {
		ret = maple_pg_do(c, &call, &r, err);
		if (!ret && c->pq->PQntuples(r))
			snprintf(c->about, sizeof(c->about), "%s",
				 c->pq->PQgetvalue(r, 0, 0));
		c->pq->PQclear(r);
	}
	memcpy(origin->memo, c->about, sizeof(origin->memo));
	memcpy(origin->client, c->name, sizeof(origin->client));
	origin->serial = c->serial;
	return ret;
}

static void part(struct maple_memo *memo)
{
	struct maple_pg *c = pg_of(memo);

	maple_pg_rollback(c);
	if (c->conn)
		c->pq->PQfinish(c->conn);
	c->conn = NULL;
}

/* The process at the server may not have noticed yet that nobody listens. */
static int settled(struct maple_memo *memo, const struct maple_origin *origin,
		   bool *done, struct maple_error *err)
{
	static const char *const sql[] = {
		"SELECT count(pg_terminate_backend(pid, 5000))"
		" FROM pg_stat_activity WHERE application_name = $1",
		"SELECT serial FROM clients WHERE name = $1",
	};
	const char *const values[] = { origin->client };
	PGresult *r = NULL;
	int ret = 0;

	for (int i = 0; i < 2 && !ret; i++) {
		struct maple_pg_call call = { .sql = sql[i],
					      .types = "s",
					      .values = values };

		pg_of(memo)->pq->PQclear(r);
		r = NULL;
		ret = maple_pg_do(pg_of(memo), &call, &r, err);
	}
	*done = !ret && pg_of(memo)->pq->PQntuples(r) &&
		strtoll(pg_of(memo)->pq->PQgetvalue(r, 0, 0), NULL, 10) ==
			origin->serial;
	pg_of(memo)->pq->PQclear(r);
	return ret;
}

static void adopt(struct maple_memo *memo, const struct maple_memo *from,
		  const struct maple_memo *former)
{
	struct maple_pg *c = pg_of(from);

	c->memo = memo;
	c->stop = pg_of(former)->stop;
	c->ctx = pg_of(former)->ctx;
}

/* ---- what mapled wants, whose memo is a file ---- */

static int limit(struct maple_memo *memo, uint64_t bytes,
		 struct maple_error *err)
{
	return maple_error_set(err, ENOTSUP,
			       "memo database '%s': how big it may be is the "
			       "server's affair",
			       memo->path);
}

static void watch(struct maple_memo *memo, int (*stop)(void *ctx), void *ctx)
{
	pg_of(memo)->stop = stop;
	pg_of(memo)->ctx = ctx;
}

static void interrupt(struct maple_memo *memo)
{
	atomic_store(&pg_of(memo)->interrupted, true);
}

const struct maple_driver maple_postgres = {
	.key = "BIGINT PRIMARY KEY",
	.open = open_server,
	.copy = maple_pg_copy,
	.take_in = maple_pg_take_in,
	.let_go = maple_pg_let_go,
	.close = close_it,
	.check = check,
	.begin = begin,
	.lock = maple_pg_lock,
	.mark = maple_pg_mark,
	.sample = maple_pg_sample,
	.run_number = maple_pg_run_number,
	.commit = commit,
	.rollback = rollback,
	.in_transaction = in_transaction,
	.exec = exec,
	.prepare = maple_pg_prepare,
	.finish = maple_pg_finish,
	.bind_number = maple_pg_bind_number,
	.bind_real = maple_pg_bind_real,
	.bind_text = maple_pg_bind_text,
	.bind_null = maple_pg_bind_null,
	.step = maple_pg_step,
	.reset = maple_pg_reset,
	.columns = maple_pg_columns,
	.name = maple_pg_column_name,
	.type = maple_pg_type,
	.number = maple_pg_number,
	.real = maple_pg_real,
	.text = maple_pg_text,
	.claim = maple_pg_claim,
	.release = maple_pg_release,
	.origin = origin_of,
	.part = part,
	.settled = settled,
	.there = maple_pg_there,
	.adopt = adopt,
	.limit = limit,
	.room = limit,
	.watch = watch,
	.interrupt = interrupt,
};
