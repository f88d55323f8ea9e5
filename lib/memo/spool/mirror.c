// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The mirror of a server's memo, and leaving the server for it.
 *
 * What a transaction writes is written here as well, statement by statement, so
 * at each point the mirror is what a file would be that this process had
 * written alone. When the server has committed, what the server has is dropped
 * but for what later statements refer to. What is left when the server is lost
 * is the transaction under way: nobody knows whether it was committed there, so
 * its marks are said to be pending, and its runs to be known to the server
 * perhaps. Which of it was, is found out when it is delivered (deliver.c).
 *
 * Statements in other words than these (a rebuild that is carried over, what is
 * forgotten of a program) are for the server alone: they fail with it.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "memo/spool/mirror.h"
#include "memo/spool/spool.h"

/*
 * What is written in both, the table that gives it a number, and what is to be
 * dropped then, as bits.
 */
struct mirrored {
	bool is;
	const char *table;
	unsigned int kept;
};

static const struct mirrored mirrored[MAPLE_SQL_MAX] = {
	[MAPLE_SQL_CAMPAIGN_BEGIN] = { true, "campaigns" },
	[MAPLE_SQL_CAMPAIGN_END] = { true },
	[MAPLE_SQL_CAMPAIGN_PROGRAM] = { true },
	[MAPLE_SQL_PROGRAM] = { true, "programs" },
	[MAPLE_SQL_IMAGE_ADD] = { true, "images" },
	[MAPLE_SQL_SITE_ADD] = { true, "sites" },
	[MAPLE_SQL_CLASS_ADD] = { true, "classes" },
	[MAPLE_SQL_GOAL_ADD] = { true, "goals" },
	[MAPLE_SQL_MARK] = { true, NULL, 1u << KEPT_MARKS },
	[MAPLE_SQL_RUN_BEGIN] = { true, "runs", 1u << KEPT_RUNS },
	[MAPLE_SQL_RUN_BEGIN_AS] = { true, NULL, 1u << KEPT_RUNS },
	[MAPLE_SQL_RUN_END] = { true },
	[MAPLE_SQL_SAMPLE] = { true, NULL, 1u << KEPT_SAMPLES },
	[MAPLE_SQL_FINDING_STORE] = { true, NULL, 1u << KEPT_FINDINGS },
	[MAPLE_SQL_FINDING_FORGET] = { true, NULL, 1u << KEPT_FORGOTTEN },
	[MAPLE_SQL_CORPUS_KEEP] = { true, NULL, 1u << KEPT_CORPUS },
};

/* Each mark, in order; runs of the server's; findings that are to be dropped. */
static const char tables[] =
	"CREATE TABLE spool(memo TEXT, client TEXT, serial INTEGER);"
	"CREATE TABLE marked(id INTEGER PRIMARY KEY, program INTEGER,"
	" goal INTEGER, mark INTEGER, pending INTEGER);"
	"CREATE TABLE known(run INTEGER PRIMARY KEY, over INTEGER);"
	"CREATE TABLE forgotten(id TEXT, owner INTEGER)";

#define RUNS	   64 /* that stay: a run's sample may come after its end */
#define TEXT(n)	   TEXT_OF(n)
#define TEXT_OF(n) #n

static const char *const drop_kept[KEPT_MAX] = {
	[KEPT_MARKS] = "DELETE FROM marked",
	[KEPT_FORGOTTEN] = "DELETE FROM forgotten",
	[KEPT_SAMPLES] = "DELETE FROM samples",
	[KEPT_RUNS] =
		("DELETE FROM runs WHERE ended IS NOT NULL AND id NOT IN"
		 " (SELECT id FROM runs ORDER BY id DESC LIMIT " TEXT(RUNS) ")"),
	[KEPT_FINDINGS] = "DELETE FROM findings",
	[KEPT_CORPUS] = "DELETE FROM corpus",
};

bool maple_mirror_is_left(const struct maple_memo *memo)
{
	return memo->mirror && memo->mirror->left;
}

static bool beside(const struct maple_memo *memo)
{
	return memo->mirror && !memo->mirror->left;
}

bool maple_mirror_leaves(const struct maple_memo *memo, int ret)
{
	return beside(memo) && (ret == -ENOTCONN || ret == -ENOSPC);
}

bool maple_mirror_knows(const struct maple_memo *memo)
{
	return beside(memo) && memo->mirror->found;
}

/* maple_mirror_prepare - what it asks of @memo, which is it from now on */
int maple_mirror_prepare(struct maple_mirror *m, struct maple_memo *memo,
			 struct maple_error *err)
{
	int ret = maple_sql_prepare(memo,
				    "INSERT INTO marked(program, goal, mark,"
				    " pending) VALUES($1, $2, $3, 0)",
				    "iiu", &m->mark, err);

	if (!ret)
		ret = maple_sql_prepare(memo,
					"INSERT INTO forgotten(id, owner)"
					" VALUES($1, $2)",
					"si", &m->forget, err);
	if (!ret)
		ret = maple_sql_prepare(
			memo,
			"INSERT INTO memo(program, goal, predicted, observed,"
			" exposed, failed, attempts, broke)"
			" VALUES($1, $2, $3, 0, $4, $5, $6, $7)"
			" ON CONFLICT(program, goal) DO UPDATE SET"
			" predicted = excluded.predicted,"
			" exposed = excluded.exposed,"
			" failed = excluded.failed,"
			" attempts = excluded.attempts,"
			" broke = excluded.broke",
			"iiuuuuu", &m->state, err);
	for (int i = 0; i < KEPT_MAX && !ret; i++)
		ret = maple_sql_prepare(memo, drop_kept[i], "", &m->drop[i],
					err);
	return ret;
}

/* maple_mirror_finish - nothing more is asked of it, and it can be closed */
void maple_mirror_finish(struct maple_mirror *m)
{
	if (!m)
		return;
	maple_sql_finish(m->mark);
	maple_sql_finish(m->forget);
	maple_sql_finish(m->state);
	m->mark = m->forget = m->state = NULL;
	for (int i = 0; i < KEPT_MAX; i++) {
		maple_sql_finish(m->drop[i]);
		m->drop[i] = NULL;
	}
}

/* maple_memo_spool - see maple/memo.h */
int maple_memo_spool(struct maple_memo *memo, const char *folder,
		     void (*notice)(void *ctx, const char *text), void *ctx,
		     struct maple_error *err)
{
	struct maple_origin origin;
	struct maple_mirror *m;
	int ret;

	if (memo->host || !memo->driver->origin)
		return 0;
	assert(!memo->mirror && !memo->driver->in_transaction(memo));
	m = calloc(1, sizeof(*m));
	if (!m)
		return maple_error_set(err, ENOMEM, "out of memory");
	m->notice = notice;
	m->ctx = ctx;
	m->lock = -1;
	m->folder = strdup(folder);
	ret = m->folder ? memo->driver->origin(memo, &origin, err)
			: maple_error_set(err, ENOMEM, "out of memory");
	if (!ret)
		ret = maple_memo_open(":memory:", 0, &m->memo, err);
	if (!ret)
		ret = maple_sql_exec(m->memo, tables, err);
	if (!ret)
		ret = maple_mirror_prepare(m, m->memo, err);
	if (ret)
		maple_mirror_close(m);
	else
		memo->mirror = m;
	return ret;
}

/* maple_memo_spooled - see maple/memo.h */
const char *maple_memo_spooled(const struct maple_memo *memo)
{
	return maple_mirror_is_left(memo) ? memo->path : NULL;
}

void maple_mirror_close(struct maple_mirror *m)
{
	if (!m)
		return;
	maple_mirror_finish(m);
	for (int i = 0; i < MAPLE_SQL_MAX; i++)
		maple_sql_finish(m->former.statement[i]);
	if (m->former.db)
		m->former.driver->close(&m->former);
	free(m->former.path);
	maple_memo_close(m->memo);
	if (m->lock >= 0)
		close(m->lock);
	free(m->folder);
	free(m);
}

void maple_mirror_lost(struct maple_memo *memo)
{
	if (!beside(memo))
		return;
	maple_mirror_close(memo->mirror);
	memo->mirror = NULL;
}

void maple_mirror_kept(struct maple_memo *memo)
{
	struct maple_mirror *m = memo->mirror;
	unsigned int told;
	int ret = 0;

	if (!beside(memo))
		return;
	told = m->told;
	/* That is done now and then: what stays is known to the server. */
	if (m->runs < RUNS)
		told &= ~(1u << KEPT_RUNS);
	else
		m->runs = 0;
	for (int i = 0; i < KEPT_MAX && !ret; i++)
		if (told & 1u << i)
			ret = maple_sql_step(m->memo, m->drop[i], NULL);
	m->told &= ~told;
	if (ret)
		maple_mirror_lost(memo);
}

/* The row that was just made has the server's number. */
static int renumber(struct maple_memo *mirror, const char *table, int64_t from,
		    int64_t to, struct maple_error *err)
{
	char sql[128];

	if (from == to)
		return 0;
	snprintf(sql, sizeof(sql), "UPDATE %s SET id = %lld WHERE id = %lld",
		 table, (long long)to, (long long)from);
	return maple_sql_exec(mirror, sql, err);
}

static int repeat(struct maple_memo *mirror, enum maple_statement which,
		  int64_t id, struct maple_error *err, const char *types,
		  va_list ap)
{
	int64_t here = 0;
	int ret = maple_sql_number_of(mirror, which, &here, err, types, ap);

	return ret || !mirrored[which].table
		       ? ret
		       : renumber(mirror, mirrored[which].table, here, id, err);
}

/* What a spool keeps beside what a memo has. */
static int note(struct maple_mirror *m, struct maple_memo *where,
		enum maple_statement which, struct maple_error *err, va_list ap)
{
	struct maple_query *query = NULL;
	int ret;

	if (which == MAPLE_SQL_MARK) {
		int64_t program = va_arg(ap, int64_t);
		int64_t goal = va_arg(ap, int64_t);

		query = m->mark;
		ret = maple_sql_bind(query, err, program, goal,
				     va_arg(ap, unsigned int));
	} else if (which == MAPLE_SQL_FINDING_FORGET) {
		const char *id = va_arg(ap, const char *);

		query = m->forget;
		ret = maple_sql_bind(query, err, id, va_arg(ap, int64_t));
	}
	if (!query)
		return 0;
	return ret ? ret : maple_sql_step(where, query, err);
}

int maple_mirror_tell(struct maple_memo *memo, enum maple_statement which,
		      int64_t id, struct maple_error *err, const char *types,
		      va_list ap)
{
	struct maple_mirror *m = memo->mirror;
	struct maple_error why;
	va_list copy;
	int ret;

	if (!m || !mirrored[which].is)
		return 0;
	va_copy(copy, ap);
	if (m->left) {
		/* They have no number at the server. */
		m->strange |= which == MAPLE_SQL_CAMPAIGN_BEGIN ||
			      which == MAPLE_SQL_PROGRAM;
		ret = note(m, memo, which, err, copy);
	} else {
		m->told |= mirrored[which].kept;
		m->runs += (mirrored[which].kept & 1u << KEPT_RUNS) != 0;
		ret = repeat(m->memo, which, id, &why, types, ap);
		if (!ret)
			ret = note(m, m->memo, which, &why, copy);
		/* Then the server has to stay. */
		if (ret)
			maple_mirror_lost(memo);
		else if (!memo->driver->in_transaction(memo))
			maple_mirror_kept(memo);
		ret = 0;
	}
	va_end(copy);
	return ret;
}

void maple_mirror_state(struct maple_memo *memo, int64_t program, int64_t goal,
			const struct maple_memo_state *state)
{
	struct maple_query *query;

	if (!beside(memo))
		return;
	query = memo->mirror->state;
	if (maple_sql_bind(query, NULL, program,
			   maple_numbers_now(&memo->goals, goal),
			   (unsigned int)state->predicted,
			   (unsigned int)state->exposed, state->failed,
			   state->attempts, (unsigned int)state->broke) ||
	    maple_sql_step(memo->mirror->memo, query, NULL))
		maple_mirror_lost(memo);
}

int maple_mirror_find(struct maple_memo *memo, enum maple_statement which,
		      int64_t *id, struct maple_error *err, const char *types,
		      va_list ap)
{
	int ret;

	*id = 0;
	if (!beside(memo))
		return 0;
	ret = maple_sql_number_of(memo->mirror->memo, which, id, err, types, ap);
	memo->mirror->found = *id;
	return ret;
}

/* ---- leaving ---- */

/* What is pending, and where it is to go. */
static int sign(struct maple_mirror *m, const struct maple_origin *origin,
		struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_exec(m->memo,
				 "UPDATE marked SET pending = 1;"
				 "INSERT INTO known SELECT id,"
				 " ended IS NOT NULL FROM runs",
				 err);

	if (!ret)
		ret = maple_sql_prepare(m->memo,
					"INSERT INTO spool VALUES($1, $2, $3)",
					"ssi", &query, err);
	if (!ret)
		ret = maple_sql_bind(query, err, origin->memo, origin->client,
				     origin->serial);
	if (!ret)
		ret = maple_sql_step(m->memo, query, err);
	maple_sql_finish(query);
	return ret;
}

/* The mirror's file; *path is to be freed. */
static int save(struct maple_mirror *m, const struct maple_origin *origin,
		char **path, struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_spool_make(m->folder, origin->client, path, &m->lock,
				   err);

	if (!ret)
		ret = sign(m, origin, err);
	if (!ret)
		ret = maple_sql_prepare(m->memo, "VACUUM INTO $1", "s", &query,
					err);
	if (!ret)
		ret = maple_sql_bind(query, err, *path);
	if (!ret)
		ret = maple_sql_step(m->memo, query, err);
	maple_sql_finish(query);
	return ret;
}

/* @spool is @memo's from now on; who holds queries of the server may do so. */
static void change(struct maple_memo *memo, struct maple_memo *spool)
{
	struct maple_mirror *m = memo->mirror;

	m->former = *memo;
	memo->driver->adopt(&m->former, memo, memo);
	m->pause = MAPLE_RETURN_FIRST;
	m->next = maple_clock_now() + m->pause;
	memset(memo->statement, 0, sizeof(memo->statement));
	memo->driver = spool->driver;
	memo->db = spool->db;
	memo->path = spool->path;
	spool->db = NULL;
	spool->path = NULL;
	m->left = true;
}

static int become(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_mirror *m = memo->mirror;
	bool begun = memo->driver->in_transaction(memo);
	struct maple_memo *spool = NULL;
	struct maple_origin origin;
	char *path = NULL;
	int ret = memo->driver->origin(memo, &origin, err);

	if (!ret)
		ret = save(m, &origin, &path, err);
	if (!ret)
		ret = maple_memo_open(path, 0, &spool, err);
	if (!ret) {
		maple_mirror_finish(m);
		maple_memo_close(m->memo);
		m->memo = spool; /* its functions know it by this name */
		ret = maple_mirror_prepare(m, spool, err);
	}
	if (!ret && begun)
		ret = spool->driver->begin(spool, MAPLE_BEGIN_ALONE, err);
	if (ret && path)
		unlink(path);
	free(path);
	if (ret)
		return ret;
	memo->driver->part(memo);
	change(memo, spool);
	return 0;
}

int maple_mirror_leave(struct maple_memo *memo, struct maple_error *err)
{
	struct maple_mirror *m = memo->mirror;
	struct maple_error lost = { "the server is gone" }, why = { "" };
	char text[sizeof(lost.text) + 256];
	int ret;

	if (err)
		lost = *err;
	ret = become(memo, &why);
	if (ret)
		maple_mirror_lost(memo);
	if (ret)
		return maple_error_set(err, -ret,
				       "%s; and it does not go on without it: "
				       "%s",
				       lost.text, why.text);
	snprintf(text, sizeof(text),
		 "%s; the campaign goes on without the server, what it learns "
		 "is kept in '%s', and delivered later",
		 lost.text, memo->path);
	if (m->notice)
		m->notice(m->ctx, text);
	return 0;
}
