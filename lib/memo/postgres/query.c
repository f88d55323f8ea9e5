// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Statements for PostgreSQL: prepared at the first use on each connection, with
 * all rows of an answer at once, so that others can be asked while it is read.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memo/postgres/connection.h"
#include "memo/postgres/text.h"

/* Beside MAPLE_PG_NUMBER and MAPLE_PG_REAL: of constants, and of sums. */
#define INT4	23
#define NUMERIC 1700

struct query {
	struct maple_query common;
	struct maple_pg *c;
	const char *sql;
	char name[16];		 /* on the server */
	unsigned int generation; /* of the connection that knows it */
	int n;
	char **values;
	PGresult *result;
	int row;
	int columns;
	char **texts; /* of the row at hand, where they are not as they came */
};

static struct query *of(struct maple_query *query)
{
	return (struct query *)query;
}

int maple_pg_prepare(struct maple_memo *memo, const char *sql, const char *types,
		     struct maple_query **query, struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	struct query *q = calloc(1, sizeof(*q));

	if (q)
		q->values = calloc(strlen(types) + 1, sizeof(*q->values));
	if (!q || !q->values) {
		free(q);
		return maple_error_set(err, ENOMEM, "out of memory");
	}
	q->common = (struct maple_query){ memo->driver, types };
	q->c = c;
	q->sql = sql;
	q->n = (int)strlen(types);
	snprintf(q->name, sizeof(q->name), "m%u", ++c->prepared);
	*query = &q->common;
	return 0;
}

static void drop_texts(struct query *q)
{
	for (int i = 0; i < q->columns; i++) {
		free(q->texts[i]);
		q->texts[i] = NULL;
	}
}

void maple_pg_reset(struct maple_query *query)
{
	struct query *q = of(query);

	drop_texts(q);
	q->c->pq->PQclear(q->result);
	q->result = NULL;
}

void maple_pg_finish(struct maple_query *query)
{
	struct query *q = of(query);

	maple_pg_reset(query);
	for (int i = 0; i < q->n; i++)
		free(q->values[i]);
	free(q->values);
	free(q->texts);
	free(q);
}

static int put(struct maple_query *query, int i, char *value)
{
	struct query *q = of(query);

	assert(i >= 1 && i <= q->n);
	free(q->values[i - 1]);
	q->values[i - 1] = value;
	return value ? 0 : -ENOMEM;
}

int maple_pg_bind_number(struct maple_query *query, int i, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return put(query, i, strdup(text));
}

int maple_pg_bind_real(struct maple_query *query, int i, double value)
{
	char text[40];

	/* As in SQLite, what is no number is NULL. */
	if (isnan(value))
		return maple_pg_bind_null(query, i);
	snprintf(text, sizeof(text), "%.17g", value);
	return put(query, i, strdup(text));
}

int maple_pg_bind_text(struct maple_query *query, int i, const char *value)
{
	return value ? put(query, i, maple_pg_encode(value))
		     : maple_pg_bind_null(query, i);
}

int maple_pg_bind_null(struct maple_query *query, int i)
{
	put(query, i, NULL);
	return 0;
}

/* The server has it by its name, unless the connection is gone. */
static int make_known(struct query *q, struct maple_error *err)
{
	struct maple_pg *c = q->c;
	PGresult *r;
	Oid oids[q->n + 1];
	int ret;

	if (!c->conn || q->generation == c->generation)
		return 0;
	maple_pg_types(q->common.types, oids);
	if (!c->pq->PQsendPrepare(c->conn, q->name, q->sql, q->n, oids))
		return maple_pg_fail(c, NULL, err);
	ret = maple_pg_answer(c, &r, err);
	c->pq->PQclear(r);
	if (!ret)
		q->generation = c->generation;
	return ret;
}

/* maple_pg_known - @call is @query, under the name that the server has for it */
int maple_pg_known(struct maple_query *query, struct maple_pg_call *call,
		   struct maple_error *err)
{
	struct query *q = of(query);
	int ret = make_known(q, err);

	*call = (struct maple_pg_call){
		.sql = q->sql,
		.types = q->common.types,
		.prepared = q->name,
		.generation = q->generation,
		.values = (const char *const *)q->values,
	};
	return ret;
}

static int ask(struct query *q, struct maple_error *err)
{
	struct maple_pg_call call;
	int ret = maple_pg_known(&q->common, &call, err);
	int n;

	if (ret && ret != -ENOTCONN)
		return ret;
	ret = maple_pg_do(q->c, &call, &q->result, err);
	if (ret)
		return ret;
	n = q->c->pq->PQnfields(q->result);
	if (n > q->columns) {
		char **texts = reallocarray(q->texts, (size_t)n, sizeof(*texts));

		if (!texts)
			return maple_error_set(err, ENOMEM, "out of memory");
		for (int i = q->columns; i < n; i++)
			texts[i] = NULL;
		q->texts = texts;
		q->columns = n;
	}
	return 0;
}

int maple_pg_step(struct maple_memo *memo, struct maple_query *query,
		  struct maple_error *err)
{
	struct query *q = of(query);
	int ret = 0;

	drop_texts(q);
	if (q->result) {
		q->row++;
	} else {
		q->row = 0;
		ret = ask(q, err);
	}
	if (ret)
		return ret;
	return q->row < q->c->pq->PQntuples(q->result);
}

int maple_pg_columns(struct maple_query *query)
{
	return of(query)->c->pq->PQnfields(of(query)->result);
}

const char *maple_pg_column_name(struct maple_query *query, int column)
{
	return of(query)->c->pq->PQfname(of(query)->result, column);
}

static const char *value(struct maple_query *query, int column)
{
	struct query *q = of(query);

	return q->c->pq->PQgetisnull(q->result, q->row, column)
		       ? NULL
		       : q->c->pq->PQgetvalue(q->result, q->row, column);
}

enum maple_value maple_pg_type(struct maple_query *query, int column)
{
	if (!value(query, column))
		return MAPLE_VALUE_NULL;
	switch (of(query)->c->pq->PQftype(of(query)->result, column)) {
	case MAPLE_PG_NUMBER:
	case INT4:
	case NUMERIC:
		return MAPLE_VALUE_NUMBER;
	case MAPLE_PG_REAL:
		return MAPLE_VALUE_REAL;
	default:
		return MAPLE_VALUE_TEXT;
	}
}

int64_t maple_pg_number(struct maple_query *query, int column)
{
	const char *text = value(query, column);

	if (text && (*text == 't' || *text == 'f')) /* a truth value */
		return *text == 't';
	return text ? strtoll(text, NULL, 10) : 0;
}

double maple_pg_real(struct maple_query *query, int column)
{
	const char *text = value(query, column);

	return text ? strtod(text, NULL) : 0;
}

const char *maple_pg_text(struct maple_query *query, int column)
{
	struct query *q = of(query);
	const char *text = value(query, column);

	if (!text || !strchr(text, 0xee))
		return text;
	if (!q->texts[column])
		q->texts[column] = maple_pg_decode(text);
	return q->texts[column];
}
