/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a database has to do for the memo. sqlite.c is the driver for files, and
 * postgres/ the one for servers; nothing else in lib/memo calls SQLite or libpq.
 *
 * Arguments in SQL are $1, $2, ..., each once or more often. A driver gives it
 * the function whose(owner): the uid that an owner's column stands for.
 *
 * Every function returns 0 or -errno with @err set, unless it says otherwise.
 * A writer waits up to ten seconds for another, at a server 30, then it is -EBUSY.
 */
#ifndef MAPLE_MEMO_DRIVER_H
#define MAPLE_MEMO_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <maple/error.h>

struct maple_memo;

/* A statement; each driver's begins with this. */
struct maple_query {
	const struct maple_driver *driver;
	const char *types; /* of its arguments; see maple_sql_get() */
};

/* What a value is. */
enum maple_value {
	MAPLE_VALUE_NULL,
	MAPLE_VALUE_NUMBER,
	MAPLE_VALUE_REAL,
	MAPLE_VALUE_TEXT,
};

/* A connection to a server, told from all others. */
struct maple_origin {
	char memo[40];	 /* the database, wherever it is */
	char client[40]; /* the connection, and those that came after it */
	int64_t serial;	 /* of its last transaction */
};

/* Who else may write until a transaction's end. */
enum maple_begin {
	MAPLE_BEGIN_READ,   /* it writes nothing, and sees one state of all */
	MAPLE_BEGIN_SHARED, /* others that are shared as well */
	MAPLE_BEGIN_ALONE,  /* nobody */
};

/* A class in the sample of a run. */
struct maple_sample_row {
	int64_t class, predicted, exposed, failed, left, barred;
};

struct maple_driver {
	const char *key; /* type of a column of numbers that are the key */

	/* open - as maple_memo_open(), into @memo, which has its path */
	int (*open)(struct maple_memo *memo, unsigned int flags,
		    struct maple_error *err);
	/*
	 * copy - @memo becomes a copy of the database at its path, in
	 * SQLite, for us alone: as it is now, checked, in the schema of
	 * today; itself it is only read
	 */
	int (*copy)(struct maple_memo *memo, struct maple_error *err);
	/*
	 * take_in, let_go - the tables of @copy are there as other_TABLE, for
	 * this connection, until they are let go; @copy is of no use then but
	 * to be closed
	 */
	int (*take_in)(struct maple_memo *memo, struct maple_memo *copy,
		       struct maple_error *err);
	void (*let_go)(struct maple_memo *memo, struct maple_error *err);
	/* close - whatever of it is open */
	void (*close)(struct maple_memo *memo);
	/* check - looks for damage, as far as it can be seen: -EBADMSG */
	int (*check)(struct maple_memo *memo, struct maple_error *err);

	/*
	 * begin - a transaction
	 * lock - in a shared one: until its end nobody else makes rows that are
	 * told from others by what they say (images, sites, classes, goals). 1:
	 * from now on, so one that was not there is to be looked for again; 0:
	 * as before. NULL: nobody else ever does.
	 */
	int (*begin)(struct maple_memo *memo, enum maple_begin how,
		     struct maple_error *err);
	int (*lock)(struct maple_memo *memo, struct maple_error *err);
	int (*commit)(struct maple_memo *memo, struct maple_error *err);
	void (*rollback)(struct maple_memo *memo);
	bool (*in_transaction)(struct maple_memo *memo);

	/* exec - statements without arguments, used once */
	int (*exec)(struct maple_memo *memo, const char *sql,
		    struct maple_error *err);
	/* prepare - both strings live as long as the query */
	int (*prepare)(struct maple_memo *memo, const char *sql,
		       const char *types, struct maple_query **query,
		       struct maple_error *err);
	void (*finish)(struct maple_query *query);
	/* bind_* - argument @i, from 1; texts are copied; NULL is NULL */
	int (*bind_number)(struct maple_query *query, int i, int64_t value);
	int (*bind_real)(struct maple_query *query, int i, double value);
	int (*bind_text)(struct maple_query *query, int i, const char *value);
	int (*bind_null)(struct maple_query *query, int i);
	/* step - 1: the next row is there; 0: no more, and it is reset */
	int (*step)(struct maple_memo *memo, struct maple_query *query,
		    struct maple_error *err);
	void (*reset)(struct maple_query *query);

	/* Of the row at hand; columns from 0. Texts live until the next step. */
	int (*columns)(struct maple_query *query);
	const char *(*name)(struct maple_query *query, int column);
	enum maple_value (*type)(struct maple_query *query, int column);
	int64_t (*number)(struct maple_query *query, int column);
	double (*real)(struct maple_query *query, int column);
	const char *(*text)(struct maple_query *query, int column);

	/*
	 * What a run writes, in few statements; each within a transaction.
	 * NULL: the statements of statements.c do as well.
	 *
	 * mark - MAPLE_SQL_MARK, but of MENDED; at the latest when memo is read
	 * or changed otherwise, or at the end
	 * sample - MAPLE_SQL_SAMPLE of each of @n @rows
	 * run_number - for MAPLE_SQL_RUN_BEGIN_AS; 0: there is none at hand
	 */
	int (*mark)(struct maple_memo *memo, int64_t program, int64_t goal,
		    unsigned int mark, struct maple_error *err);
	int (*sample)(struct maple_memo *memo, int64_t run,
		      const struct maple_sample_row *rows, size_t n,
		      struct maple_error *err);
	int64_t (*run_number)(struct maple_memo *memo);

	/*
	 * claim - of the @n @goals of @program, which ones are ours
	 * now: @taken says which are another connection's; not in a
	 * transaction. release - they are nobody's. What is claimed is freed
	 * when the process that has it ends. NULL: nobody else asks for them.
	 */
	int (*claim)(struct maple_memo *memo, int64_t program,
		     const int64_t *goals, size_t n, bool *taken,
		     struct maple_error *err);
	int (*release)(struct maple_memo *memo, int64_t program,
		       const int64_t *goals, size_t n, struct maple_error *err);

	/*
	 * origin - what this connection is to its server; part - it is given
	 * up, and frees nothing but what the server has for it; settled - at
	 * another one, whether the last transaction of @origin was done: it
	 * is over by then; there - of one that has parted, without waiting:
	 * 1 the server answers, -ENOTCONN not, 0 it is not known yet, and to
	 * be asked again; adopt - the connection of @from is @memo's, and does
	 * as that of @former was told. NULL: no server.
	 */
	int (*origin)(struct maple_memo *memo, struct maple_origin *origin,
		      struct maple_error *err);
	void (*part)(struct maple_memo *memo);
	int (*settled)(struct maple_memo *memo,
		       const struct maple_origin *origin, bool *done,
		       struct maple_error *err);
	int (*there)(struct maple_memo *memo);
	void (*adopt)(struct maple_memo *memo, const struct maple_memo *from,
		      const struct maple_memo *former);

	/* See maple_memo_limit() and those that follow it. */
	int (*limit)(struct maple_memo *memo, uint64_t bytes,
		     struct maple_error *err);
	int (*room)(struct maple_memo *memo, uint64_t bytes,
		    struct maple_error *err);
	void (*watch)(struct maple_memo *memo, int (*stop)(void *ctx),
		      void *ctx);
	void (*interrupt)(struct maple_memo *memo);
};

extern const struct maple_driver maple_sqlite;
extern const struct maple_driver maple_postgres;

#endif
