// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whole memos on their way between PostgreSQL and SQLite, for merging: each row
 * with its numbers, since the other rows know it by these.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memo/postgres/connection.h"
#include "memo/postgres/text.h"

#define COLUMNS 32 /* no table has more */

/* These have no number of their own, and an order all the same. */
static bool by_place(const char *table)
{
	return !strcmp(table, "findings") || !strcmp(table, "corpus");
}

static int tables(void)
{
	int n = 0;

	while (maple_sql_tables[n])
		n++;
	return n;
}

/* ---- from PostgreSQL into SQLite ---- */

/* "INSERT INTO table(columns) VALUES($1, ...)"; the types are of no use. */
static int prepare_insert(struct maple_memo *to, const char *table,
			  struct maple_query *row, char **sql,
			  struct maple_query **insert, struct maple_error *err)
{
	static const char types[COLUMNS + 1] =
		"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii";
	int n = row->driver->columns(row);
	size_t size;
	FILE *out = open_memstream(sql, &size);

	assert(n <= COLUMNS);
	if (!out)
		return maple_error_set(err, ENOMEM, "out of memory");
	fprintf(out, "INSERT INTO %s(", table);
	for (int i = 0; i < n; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "",
			row->driver->name(row, i));
	fputs(") VALUES(", out);
	for (int i = 0; i < n; i++)
		fprintf(out, "%s$%d", i ? ", " : "", i + 1);
	putc(')', out);
	if (fclose(out))
		return maple_error_set(err, ENOMEM, "out of memory");
	return maple_sql_prepare(to, *sql, types + COLUMNS - n, insert, err);
}

static int put_row(struct maple_memo *to, struct maple_query *row,
		   struct maple_query *insert, struct maple_error *err)
{
	const struct maple_driver *from = row->driver, *driver = insert->driver;
	int ret = 0;

	for (int i = 0; i < from->columns(row) && !ret; i++) {
		switch (from->type(row, i)) {
		case MAPLE_VALUE_NULL:
			ret = driver->bind_null(insert, i + 1);
			break;
		case MAPLE_VALUE_NUMBER:
			ret = driver->bind_number(insert, i + 1,
						  from->number(row, i));
			break;
		case MAPLE_VALUE_REAL:
			ret = driver->bind_real(insert, i + 1,
						from->real(row, i));
			break;
		case MAPLE_VALUE_TEXT:
			ret = driver->bind_text(insert, i + 1,
						from->text(row, i));
			break;
		}
	}
	if (ret)
		return maple_error_set(err, -ret, "a value cannot be copied");
	return maple_sql_step(to, insert, err);
}

static int copy_table(struct maple_memo *to, struct maple_memo *from,
		      const char *table, struct maple_error *err)
{
	struct maple_query *rows = NULL, *insert = NULL;
	char sql[96], *text = NULL;
	int ret;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s ORDER BY %s", table,
		 by_place(table) ? "rowid" : "1, 2");
	ret = maple_sql_prepare(from, sql, "", &rows, err);
	while (!ret && (ret = maple_sql_step(from, rows, err)) > 0) {
		ret = 0;
		if (!insert)
			ret = prepare_insert(to, table, rows, &text, &insert,
					     err);
		if (!ret)
			ret = put_row(to, rows, insert, err);
	}
	maple_sql_finish(insert);
	maple_sql_finish(rows);
	free(text);
	return ret;
}

/* As it was at one moment; parents come first. */
static int copy_tables(struct maple_memo *to, struct maple_memo *from,
		       struct maple_error *err)
{
	int ret = from->driver->begin(from, MAPLE_BEGIN_READ, err);

	if (ret)
		return ret;
	ret = to->driver->begin(to, MAPLE_BEGIN_ALONE, err);
	if (!ret)
		ret = maple_sql_exec(to, "DELETE FROM classes", err);
	for (int i = tables() - 1; i >= 0 && !ret; i--)
		ret = copy_table(to, from, maple_sql_tables[i], err);
	from->driver->rollback(from);
	return maple_sql_leave(to, true, ret, err);
}

int maple_pg_copy(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_memo from = { .driver = &maple_postgres,
				   .path = memo->path };
	int ret = from.driver->open(&from, MAPLE_MEMO_READONLY, err);

	if (!ret) {
		/* Errors name the database that it is a copy of. */
		memo->path = ":memory:";
		ret = memo->driver->open(memo, 0, err);
		memo->path = from.path;
	}
	if (!ret)
		ret = copy_tables(memo, &from, err);
	if (from.db)
		from.driver->close(&from);
	return ret;
}

/* ---- from SQLite into tables of a session ---- */

static void put_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '\t':
			fputs("\\t", out);
			break;
		case '\n':
			fputs("\\n", out);
			break;
		case '\r':
			fputs("\\r", out);
			break;
		case '\\':
			fputs("\\\\", out);
			break;
		default:
			putc(*text, out);
		}
	}
}

static int put_value(FILE *out, struct maple_query *row, int i)
{
	const struct maple_driver *from = row->driver;
	char *text;

	switch (from->type(row, i)) {
	case MAPLE_VALUE_NULL:
		fputs("\\N", out);
		return 0;
	case MAPLE_VALUE_NUMBER:
		fprintf(out, "%lld", (long long)from->number(row, i));
		return 0;
	case MAPLE_VALUE_REAL:
		fprintf(out, "%.17g", from->real(row, i));
		return 0;
	default:
		text = maple_pg_encode(from->text(row, i));
		if (!text)
			return -ENOMEM;
		put_text(out, text);
		free(text);
		return 0;
	}
}

static int send_row(struct maple_pg *c, struct maple_query *row,
		    struct maple_error *err)
{
	char *line = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&line, &size);
	int ret = out ? 0 : -ENOMEM;

	for (int i = 0; !ret && i < row->driver->columns(row); i++) {
		if (i)
			putc('\t', out);
		ret = put_value(out, row, i);
	}
	if (!ret)
		putc('\n', out);
	if (out && fclose(out))
		ret = -ENOMEM;
	if (ret)
		maple_error_set(err, ENOMEM, "out of memory");
	else if (c->pq->PQputCopyData(c->conn, line, (int)size) != 1)
		ret = maple_pg_fail(c, NULL, err);
	free(line);
	return ret;
}

/* "COPY other_TABLE(columns) FROM STDIN" */
static int begin_copy(struct maple_pg *c, const char *table,
		      struct maple_query *row, struct maple_error *err)
{
	char *sql = NULL;
	size_t size;
	FILE *out = open_memstream(&sql, &size);
	struct maple_pg_call call = { 0 };
	int ret;

	if (!out)
		return maple_error_set(err, ENOMEM, "out of memory");
	fprintf(out, "COPY other_%s(", table);
	for (int i = 0; i < row->driver->columns(row); i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "",
			row->driver->name(row, i));
	fputs(") FROM STDIN", out);
	ret = fclose(out) ? maple_error_set(err, ENOMEM, "out of memory") : 0;
	call.sql = sql;
	if (!ret)
		ret = maple_pg_call(c, &call, NULL, err);
	free(sql);
	return ret;
}

static int end_copy(struct maple_pg *c, int ret, struct maple_error *err)
{
	struct maple_error dropped;
	PGresult *r;
	int e;

	if (c->pq->PQputCopyEnd(c->conn, ret ? "given up" : NULL) != 1)
		return ret ? ret : maple_pg_fail(c, NULL, err);
	e = maple_pg_answer(c, &r, ret ? &dropped : err);
	c->pq->PQclear(r);
	return ret ? ret : e;
}

static int send_table(struct maple_pg *c, struct maple_memo *copy,
		      const char *table, struct maple_error *err)
{
	struct maple_query *rows = NULL;
	bool begun = false;
	char sql[96];
	int ret;

	snprintf(sql, sizeof(sql), "SELECT %s* FROM %s ORDER BY 1",
		 by_place(table) ? "rowid, " : "", table);
	ret = maple_sql_prepare(copy, sql, "", &rows, err);
	while (!ret && (ret = maple_sql_step(copy, rows, err)) > 0) {
		ret = 0;
		if (!begun)
			ret = begin_copy(c, table, rows, err);
		begun |= !ret;
		if (!ret)
			ret = send_row(c, rows, err);
	}
	maple_sql_finish(rows);
	return begun ? end_copy(c, ret, err) : ret;
}

void maple_pg_let_go(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	char sql[64];

	for (int i = 0; maple_sql_tables[i] && c->conn; i++) {
		struct maple_pg_call call = { .sql = sql };

		snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS other_%s",
			 maple_sql_tables[i]);
		maple_pg_call(c, &call, NULL, NULL);
	}
	c->temporary = false;
}

/* The planner is told what is in them, or it takes them for small. */
int maple_pg_take_in(struct maple_memo *memo, struct maple_memo *copy,
		     struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	struct maple_pg_call call;
	char sql[96];
	int ret = 0;

	c->temporary = true;
	for (int i = 0; maple_sql_tables[i] && !ret; i++) {
		const char *table = maple_sql_tables[i];

		call = (struct maple_pg_call){ .sql = sql };
		snprintf(sql, sizeof(sql),
			 "CREATE TEMP TABLE other_%s(LIKE %s%s", table, table,
			 strcmp(table, "corpus") ? ")" : ", whose BIGINT)");
		ret = maple_pg_call(c, &call, NULL, err);
		if (!ret)
			ret = send_table(c, copy, table, err);
		snprintf(sql, sizeof(sql), "ANALYZE other_%s", table);
		if (!ret)
			ret = maple_pg_call(c, &call, NULL, err);
	}
	if (ret)
		maple_pg_let_go(memo, NULL);
	return ret;
}
