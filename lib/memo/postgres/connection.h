/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A connection to a PostgreSQL server, and the transaction that is open on it.
 *
 * All of it is one thread's, but for maple_pg_interrupt(). Functions return 0
 * or -errno with @err set; -ENOTCONN says that the connection is gone, or that
 * the server has undone the transaction for reasons of its own: journal.c takes
 * care of these.
 */
#ifndef MAPLE_MEMO_POSTGRES_CONNECTION_H
#define MAPLE_MEMO_POSTGRES_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "memo/sql.h"
#include "memo/postgres/libpq.h"

#define MAPLE_PG_NAME  40
#define MAPLE_PG_TRIES 5 /* of what the connection was lost under */
#define MAPLE_PG_MARKS \
	6 /* predicted, observed, attempt, exposed, failed, broke */
#define MAPLE_PG_BLOCK 64 /* numbers of runs, at most */

/* PostgreSQL's numbers for types */
#define MAPLE_PG_NUMBER 20
#define MAPLE_PG_TEXT	25
#define MAPLE_PG_REAL	701

/* A statement and its arguments, texts in PostgreSQL's characters. */
struct maple_pg_call {
	const char *sql;
	const char *types;    /* NULL: several statements, without arguments */
	const char *prepared; /* its name on the server; NULL: it has none */
	unsigned int generation; /* of the connection that knows it by that */
	const char *const *values;
	bool bounded; /* it takes no longer than one, though it is several */
};

/* What has been done in a transaction that writes. */
struct maple_pg_entry {
	char *sql, *types; /* types: NULL: without arguments */
	char **values;
	uint64_t answer; /* hash of it */
	char *id;	 /* the number that it returned; or NULL */
};

/* What a transaction has to say of a goal yet; several.c */
struct maple_pg_mark {
	int64_t program, goal;
	unsigned int count[MAPLE_PG_MARKS];
};

/* A goal that no other connection has while we have it; claims.c */
struct maple_pg_claim {
	int64_t program, goal;
};

enum maple_pg_kind {
	MAPLE_PG_READ,
	MAPLE_PG_ONE, /* one statement that writes, with whoever else does */
	MAPLE_PG_SHARED,
	MAPLE_PG_ALONE,
};

/* memo->db */
struct maple_pg {
	const struct maple_pq *pq;
	struct maple_memo *memo;
	PGconn *conn;
	PGconn *asked; /* whether the server is there again */
	short asks;    /* what that waits for, as poll() has it */
	bool readonly;
	double wait;		   /* seconds that the server may be gone */
	bool away;		   /* it was waited for, and it did not come */
	unsigned int generation;   /* grows with each connection */
	unsigned int prepared;	   /* names given */
	char name[MAPLE_PG_NAME];  /* of this memo, to the server */
	char about[MAPLE_PG_NAME]; /* which memo it is; "": not asked yet */
	int backend;		   /* the process there; 0: none yet */

	char *waiting; /* statements that are sent with the next one; batch.c */
	size_t nwaiting, waiting_room;

	bool begun;		 /* a transaction */
	enum maple_pg_kind kind; /* of it */
	bool locked;		 /* and nobody else makes rows by name */
	bool temporary;		 /* it uses what goes with the connection */
	int64_t serial;		 /* of the last one that wrote */
	struct maple_pg_entry *entry;
	size_t n, room;

	/* NULL: not used yet */
	struct maple_query *sign, *marks, *samples, *claims, *releases;
	struct maple_pg_mark *mark;
	size_t nmarks, mark_room;
	int64_t number[MAPLE_PG_BLOCK]; /* for runs, from the last one down */
	unsigned int nnumbers, block;

	struct maple_pg_claim *claim;
	size_t nclaims;

	int (*stop)(void *ctx);
	void *ctx;
	atomic_bool interrupted;
};

int maple_pg_fail(struct maple_pg *c, const PGresult *result,
		  struct maple_error *err);
int maple_pg_connect(struct maple_pg *c, struct maple_error *err);
int maple_pg_reconnect(struct maple_pg *c, struct maple_error *err);
int maple_pg_there(struct maple_memo *memo);
int maple_pg_call(struct maple_pg *c, const struct maple_pg_call *call,
		  PGresult **result, struct maple_error *err);
int maple_pg_ask(struct maple_pg *c, const char *sql, int64_t *number,
		 struct maple_error *err);
void maple_pg_types(const char *types, Oid *oids);
int maple_pg_answer(struct maple_pg *c, PGresult **result,
		    struct maple_error *err);

/* journal.c */
int maple_pg_begin(struct maple_pg *c, enum maple_pg_kind kind,
		   struct maple_error *err);
int maple_pg_lock(struct maple_memo *memo, struct maple_error *err);
int maple_pg_commit(struct maple_pg *c, struct maple_error *err);
void maple_pg_rollback(struct maple_pg *c);
int maple_pg_do(struct maple_pg *c, const struct maple_pg_call *call,
		PGresult **result, struct maple_error *err);
void maple_pg_forget(struct maple_pg *c);

/* batch.c */
int maple_pg_wait(struct maple_pg *c, const char *sql, struct maple_error *err);
int maple_pg_wait_call(struct maple_pg *c, const struct maple_pg_call *call,
		       struct maple_error *err);
bool maple_pg_can_wait(const struct maple_pg *c,
		       const struct maple_pg_call *call);
bool maple_pg_says_nothing(const struct maple_pg_call *call);
int maple_pg_send(struct maple_pg *c, PGresult **result,
		  struct maple_error *err);
void maple_pg_drop(struct maple_pg *c);

/* several.c */
int maple_pg_number_runs(struct maple_pg *c, struct maple_error *err);
int64_t maple_pg_run_number(struct maple_memo *memo);
int maple_pg_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		  unsigned int mark, struct maple_error *err);
bool maple_pg_reads_marks(const struct maple_pg_call *call);
int maple_pg_tell_marks(struct maple_pg *c, struct maple_error *err);
int maple_pg_sample(struct maple_memo *memo, int64_t run,
		    const struct maple_sample_row *rows, size_t n,
		    struct maple_error *err);

/* claims.c */
int maple_pg_claim(struct maple_memo *memo, int64_t program,
		   const int64_t *goals, size_t n, bool *taken,
		   struct maple_error *err);
int maple_pg_release(struct maple_memo *memo, int64_t program,
		     const int64_t *goals, size_t n, struct maple_error *err);
int maple_pg_reclaim(struct maple_pg *c, struct maple_error *err);

/* query.c */
int maple_pg_prepare(struct maple_memo *memo, const char *sql, const char *types,
		     struct maple_query **query, struct maple_error *err);
int maple_pg_known(struct maple_query *query, struct maple_pg_call *call,
		   struct maple_error *err);
void maple_pg_finish(struct maple_query *query);
int maple_pg_bind_number(struct maple_query *query, int i, int64_t value);
int maple_pg_bind_real(struct maple_query *query, int i, double value);
int maple_pg_bind_text(struct maple_query *query, int i, const char *value);
int maple_pg_bind_null(struct maple_query *query, int i);
int maple_pg_step(struct maple_memo *memo, struct maple_query *query,
		  struct maple_error *err);
void maple_pg_reset(struct maple_query *query);
int maple_pg_columns(struct maple_query *query);
const char *maple_pg_column_name(struct maple_query *query, int column);
enum maple_value maple_pg_type(struct maple_query *query, int column);
int64_t maple_pg_number(struct maple_query *query, int column);
double maple_pg_real(struct maple_query *query, int column);
const char *maple_pg_text(struct maple_query *query, int column);

/* copy.c */
int maple_pg_copy(struct maple_memo *memo, struct maple_error *err);
int maple_pg_take_in(struct maple_memo *memo, struct maple_memo *copy,
		     struct maple_error *err);
void maple_pg_let_go(struct maple_memo *memo, struct maple_error *err);

#endif
