// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Claims, as advisory locks of the session: the server frees them when the
 * connection's process ends, whatever has become of the campaign. Their numbers
 * are hashes, since others may have such locks in the database as well.
 *
 * One that a connection has already is not asked for again: the server would
 * count it twice.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "memo/postgres/connection.h"

#define DIGITS 21 /* of a number, with what stands before it */

/* $1: the program, $2: its goals */
#define EACH(function)                                             \
	"SELECT " function "(hashtextextended('maple ' || $1 || '" \
	" ' || g, 0)) FROM unnest(string_to_array($2, ',')"        \
	"::BIGINT[]) WITH ORDINALITY t(g, i) ORDER BY i"

static const char claim_each[] = EACH("pg_try_advisory_lock");
static const char release_each[] = EACH("pg_advisory_unlock");

/* @sql, which is @query, for each of @goals; its answers are true or false. */
static int ask(struct maple_pg *c, struct maple_query **query, const char *sql,
	       int64_t program, const int64_t *goals, size_t n,
	       PGresult **result, struct maple_error *err)
{
	char number[DIGITS], list[n * DIGITS + 1];
	const char *const values[] = { number, list };
	struct maple_pg_call call;
	size_t at = 0;
	int ret = 0;

	assert(n);
	if (!*query)
		ret = maple_pg_prepare(c->memo, sql, "is", query, err);
	if (!ret)
		ret = maple_pg_known(*query, &call, err);
	if (ret)
		return ret;
	call.values = values;
	snprintf(number, sizeof(number), "%" PRId64, program);
	for (size_t i = 0; i < n; i++)
		at += (size_t)sprintf(list + at, "%s%" PRId64, i ? "," : "",
				      goals[i]);
	return maple_pg_call(c, &call, result, err);
}

static size_t find(const struct maple_pg *c, int64_t program, int64_t goal)
{
	size_t i;

	for (i = 0; i < c->nclaims; i++)
		if (c->claim[i].program == program && c->claim[i].goal == goal)
			break;
	return i;
}

static void forget(struct maple_pg *c, size_t i)
{
	if (i < c->nclaims)
		c->claim[i] = c->claim[--c->nclaims];
}

static bool says_yes(struct maple_pg *c, const PGresult *r, int row)
{
	return *c->pq->PQgetvalue(r, row, 0) == 't';
}

int maple_pg_claim(struct maple_memo *memo, int64_t program,
		   const int64_t *goals, size_t n, bool *taken,
		   struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	PGresult *r = NULL;
	int ret;

	if (!maple_array_extend(c->claim, c->nclaims, c->nclaims + n))
		return maple_error_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		assert(find(c, program, goals[i]) == c->nclaims);
	ret = ask(c, &c->claims, claim_each, program, goals, n, &r, err);
	for (int i = 0; i < MAPLE_PG_TRIES && ret == -ENOTCONN; i++) {
		ret = maple_pg_reconnect(c, err);
		if (ret)
			break;
		ret = ask(c, &c->claims, claim_each, program, goals, n, &r, err);
	}
	assert(ret || (size_t)c->pq->PQntuples(r) == n);
	for (size_t i = 0; i < n && !ret; i++) {
		taken[i] = !says_yes(c, r, (int)i);
		if (!taken[i])
			c->claim[c->nclaims++] =
				(struct maple_pg_claim){ program, goals[i] };
	}
	c->pq->PQclear(r);
	return ret;
}

int maple_pg_release(struct maple_memo *memo, int64_t program,
		     const int64_t *goals, size_t n, struct maple_error *err)
{
	struct maple_pg *c = memo->db;
	int ret;

	for (size_t i = 0; i < n; i++)
		forget(c, find(c, program, goals[i]));
	ret = ask(c, &c->releases, release_each, program, goals, n, NULL, err);
	/* They went with the connection; the next that is asked has another. */
	return ret == -ENOTCONN ? 0 : ret;
}

/*
 * maple_pg_reclaim - makes the claims of the former connection again, but for
 * those that others have made meanwhile: what is under way is tried twice then
 */
int maple_pg_reclaim(struct maple_pg *c, struct maple_error *err)
{
	int ret = 0;

	for (size_t i = c->nclaims; i-- && !ret;) {
		PGresult *r = NULL;

		ret = ask(c, &c->claims, claim_each, c->claim[i].program,
			  &c->claim[i].goal, 1, &r, err);
		if (!ret && !says_yes(c, r, 0))
			forget(c, i);
		c->pq->PQclear(r);
	}
	return ret;
}
