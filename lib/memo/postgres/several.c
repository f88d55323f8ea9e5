// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What runs write, several rows in a statement, and without a lock that all
 * others wait for.
 *
 * Marks are kept until something reads them, or until the end. Then they are
 * one statement, in the order of their goals: transactions that have goals in
 * common lock their rows in one order, so none of them has to give way to
 * another one.
 *
 * Numbers for runs are taken from the server ahead, so that a run begins in one
 * message. One campaign's runs have rising numbers; those of several say
 * nothing about who was first.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "memo/postgres/connection.h"

#define DIGITS	    21 /* of a number, with what stands before it */
#define FIRST_BLOCK 4

static_assert(MAPLE_MEMO_PREDICTED == 0 && MAPLE_MEMO_OBSERVED == 1 &&
		      MAPLE_MEMO_ATTEMPT == 2 && MAPLE_MEMO_EXPOSED == 3 &&
		      MAPLE_MEMO_FAILED == 4 &&
		      MAPLE_MEMO_BROKE + 1 == MAPLE_PG_MARKS,
	      "marks are columns, in this order");

/* As MAPLE_SQL_MARK (statements.c), of many goals, each once. */
static const char add_marks[] =
	"INSERT INTO memo(program, goal, predicted, observed, attempts,"
	" exposed, failed, broke) SELECT $1, t.* FROM unnest($2::BIGINT[],"
	" $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[],"
	" $7::BIGINT[], $8::BIGINT[]) t"
	" ON CONFLICT(program, goal) DO UPDATE SET"
	" predicted = greatest(memo.predicted, excluded.predicted),"
	" observed = greatest(memo.observed, excluded.observed),"
	" exposed = greatest(memo.exposed, excluded.exposed),"
	" failed = memo.failed + excluded.failed,"
	" attempts = memo.attempts + excluded.attempts,"
	" broke = greatest(memo.broke, excluded.broke)";

static const char add_samples[] =
	"INSERT INTO samples(run, class, predicted, exposed, failed, \"left\","
	" barred) SELECT $1, t.* FROM unnest($2::BIGINT[], $3::BIGINT[],"
	" $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[]) t";

static int get(struct maple_pg *c, struct maple_query **query, const char *sql,
	       const char *types, struct maple_error *err)
{
	if (*query)
		return 0;
	return maple_pg_prepare(c->memo, sql, types, query, err);
}

static int no_memory(struct maple_error *err)
{
	return maple_error_set(err, ENOMEM, "out of memory");
}

/* Column @i of @n rows of @width numbers, as {1,2,3}, is argument @to. */
static int bind_column(struct maple_query *query, int to, const int64_t *rows,
		       size_t n, size_t width, size_t i)
{
	char *list = malloc(n * DIGITS + 2);
	size_t at = 0;
	int ret;

	if (!list)
		return -ENOMEM;
	for (size_t row = 0; row < n; row++)
		at += (size_t)sprintf(list + at, "%c%" PRId64, row ? ',' : '{',
				      rows[row * width + i]);
	strcpy(list + at, "}");
	ret = maple_pg_bind_text(query, to, list);
	free(list);
	return ret;
}

/* @query of @key and the columns of @rows. */
static int do_rows(struct maple_pg *c, struct maple_query *query, int64_t key,
		   const int64_t *rows, size_t n, size_t width,
		   struct maple_error *err)
{
	int ret = maple_pg_bind_number(query, 1, key);

	assert(n && strlen(query->types) == width + 1);
	for (size_t i = 0; i < width && !ret; i++)
		ret = bind_column(query, (int)i + 2, rows, n, width, i);
	if (ret)
		return no_memory(err);
	maple_pg_reset(query);
	ret = maple_pg_step(c->memo, query, err);
	maple_pg_reset(query);
	return ret;
}

/* ---- marks ---- */

static struct maple_pg_mark *mark_of(struct maple_pg *c, int64_t program,
				     int64_t goal)
{
	/* Those of one run are few, or each is new: the last is looked at. */
	for (size_t i = c->nmarks; i-- && c->nmarks - i <= 64;)
		if (c->mark[i].program == program && c->mark[i].goal == goal)
			return &c->mark[i];
	if (!maple_array_reserve(c->mark, c->nmarks, c->mark_room))
		return NULL;
	c->mark[c->nmarks] =
		(struct maple_pg_mark){ .program = program, .goal = goal };
	return &c->mark[c->nmarks++];
}

/* maple_pg_mark - see driver.h */
int maple_pg_mark(struct maple_memo *memo, int64_t program, int64_t goal,
		  unsigned int mark, struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	struct maple_pg_mark *m;

	assert(c->begun && c->kind != MAPLE_PG_READ && mark < MAPLE_PG_MARKS);
	m = mark_of(c, program, goal);
	if (!m)
		return no_memory(err);
	m->count[mark]++;
	return 0;
}

static int by_goal(const void *a, const void *b)
{
	const struct maple_pg_mark *x = a, *y = b;

	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return (x->goal > y->goal) - (x->goal < y->goal);
}

/* No statement meets one row twice. */
static void unite(struct maple_pg *c)
{
	size_t n = 0;

	qsort(c->mark, c->nmarks, sizeof(*c->mark), by_goal);
	for (size_t i = 0; i < c->nmarks; i++) {
		if (!n || by_goal(&c->mark[n - 1], &c->mark[i])) {
			c->mark[n++] = c->mark[i];
			continue;
		}
		for (unsigned int m = 0; m < MAPLE_PG_MARKS; m++)
			c->mark[n - 1].count[m] += c->mark[i].count[m];
	}
	c->nmarks = n;
}

static bool is_counted(unsigned int mark)
{
	return mark == MAPLE_MEMO_ATTEMPT || mark == MAPLE_MEMO_FAILED;
}

/* Of @n marks, which are of one program. */
static int tell_some(struct maple_pg *c, const struct maple_pg_mark *marks,
		     size_t n, struct maple_error *err)
{
	int64_t(*rows)[1 + MAPLE_PG_MARKS] = calloc(n, sizeof(*rows));
	int ret;

	if (!rows)
		return no_memory(err);
	for (size_t i = 0; i < n; i++) {
		const unsigned int *count = marks[i].count;

		rows[i][0] = marks[i].goal;
		for (unsigned int m = 0; m < MAPLE_PG_MARKS; m++)
			rows[i][1 + m] = is_counted(m) ? count[m]
						       : count[m] > 0;
	}
	ret = get(c, &c->marks, add_marks, "isssssss", err);
	if (!ret)
		ret = do_rows(c, c->marks, marks->program, rows[0], n,
			      1 + MAPLE_PG_MARKS, err);
	free(rows);
	return ret;
}

/* maple_pg_reads_marks - whether @call may see, or change, what is kept yet */
bool maple_pg_reads_marks(const struct maple_pg_call *call)
{
	return !call->types || strstr(call->sql, " memo");
}

/* maple_pg_tell_marks - those that are kept yet, now */
int maple_pg_tell_marks(struct maple_pg *c, struct maple_error *err)
{
	size_t from = 0, n = c->nmarks;
	int ret = 0;

	if (!n)
		return 0;
	unite(c);
	n = c->nmarks;
	c->nmarks = 0; /* what tells them does not come here again */
	for (size_t i = 1; i <= n && !ret; i++)
		if (i == n || c->mark[i].program != c->mark[from].program) {
			ret = tell_some(c, c->mark + from, i - from, err);
			from = i;
		}
	return ret;
}

/* ---- samples ---- */

static_assert(sizeof(struct maple_sample_row) == 6 * sizeof(int64_t),
	      "a row is its columns");

/* maple_pg_sample - see driver.h */
int maple_pg_sample(struct maple_memo *memo, int64_t run,
		    const struct maple_sample_row *rows, size_t n,
		    struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	int ret = get(c, &c->samples, add_samples, "issssss", err);

	return ret ? ret : do_rows(c, c->samples, run, &rows->class, n, 6, err);
}

/* ---- numbers of runs ---- */

/*
 * maple_pg_number_runs - there are some; not in a transaction
 *
 * They are ours only when the server cannot forget that it gave them.
 */
int maple_pg_number_runs(struct maple_pg *c, struct maple_error *err)
{
	struct maple_pg_call call;
	PGresult *r = NULL;
	char sql[160];
	int ret;

	if (c->nnumbers)
		return 0;
	c->block = c->block ? 2 * c->block : FIRST_BLOCK;
	if (c->block > MAPLE_PG_BLOCK)
		c->block = MAPLE_PG_BLOCK;
	snprintf(sql, sizeof(sql),
		 "SET LOCAL synchronous_commit = on;"
		 "SELECT nextval('runs_id') FROM generate_series(1, %u)",
		 c->block);
	call = (struct maple_pg_call){ .sql = sql, .bounded = true };
	ret = maple_pg_call(c, &call, &r, err);
	if (!ret)
		c->nnumbers = (unsigned int)c->pq->PQntuples(r);
	assert(c->nnumbers <= MAPLE_PG_BLOCK);
	for (unsigned int i = 0; i < c->nnumbers; i++)
		c->number[c->nnumbers - 1 - i] =
			strtoll(c->pq->PQgetvalue(r, (int)i, 0), NULL, 10);
	c->pq->PQclear(r);
	return ret;
}

/* maple_pg_run_number - see driver.h */
int64_t maple_pg_run_number(struct maple_memo *memo)
{
	struct maple_pg *c = memo->db;

	return c->nnumbers ? c->number[--c->nnumbers] : 0;
}
