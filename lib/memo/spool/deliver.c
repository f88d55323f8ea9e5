// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A spool is delivered: what a campaign has written since its server was lost
 * becomes part of the server's memo, in one transaction, which leaves its name
 * there, so that it is done once.
 *
 * It is a merge, by the same names (merge.c), but for what the server has from
 * the same campaign: marks are added to those that are there, and a run that
 * the server has seen begin is ended, not made again. The transaction that was
 * under way may have been committed all the same: its marks count unless it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memo/spool/spool.h"
#include "memo/sql.h"

/* In place of what was known locally: what is to be added. */
static const char marks[] =
	"DELETE FROM memo;"
	"INSERT INTO memo(program, goal, predicted, observed, exposed, failed,"
	" attempts, broke) SELECT program, goal, max(mark = 0), max(mark = 1),"
	" max(mark = 3), sum(mark = 4), sum(mark = 2), coalesce((SELECT"
	" CASE WHEN b.mark = 5 THEN 1 ELSE -1 END FROM marked b"
	" WHERE b.program = m.program AND b.goal = m.goal AND b.mark IN (5, 6)"
	" ORDER BY b.id DESC LIMIT 1), 0) FROM marked m"
	" GROUP BY program, goal";

static const char add_marks[] =
	"INSERT INTO memo(program, goal, predicted, observed, exposed, failed,"
	" attempts, broke) SELECT p.new, i.new, sum(o.predicted),"
	" sum(o.observed), sum(o.exposed), sum(o.failed), sum(o.attempts),"
	" sum(o.broke) FROM other_memo o"
	" JOIN merge_program p ON p.old = o.program"
	" JOIN merge_goal i ON i.old = o.goal WHERE true GROUP BY 1, 2"
	" ON CONFLICT(program, goal) DO UPDATE SET"
	" predicted = max(memo.predicted, excluded.predicted),"
	" observed = max(memo.observed, excluded.observed),"
	" exposed = max(memo.exposed, excluded.exposed),"
	" failed = memo.failed + excluded.failed,"
	" attempts = memo.attempts + excluded.attempts,"
	" broke = CASE WHEN excluded.broke = 0 THEN memo.broke"
	" ELSE max(excluded.broke, 0) END;"
	"UPDATE memo SET broke = 0 WHERE broke < 0";

/* %s: the runs that the server has given their numbers, unless it was undone */
static const char old_runs[] =
	"INSERT INTO merge_run SELECT o.id, r.id FROM other_runs o"
	" JOIN merge_campaign x ON x.old = o.campaign JOIN runs r"
	" ON r.id = o.id AND r.campaign = x.new WHERE o.id IN (%s);"
	"UPDATE runs SET ended = o.ended, verdict = o.verdict,"
	" signo = o.signo, status = o.status, seconds = o.seconds,"
	" cpu_seconds = o.cpu_seconds, delivered = o.delivered,"
	" exposed = o.exposed, claimed = o.claimed, reason = o.reason,"
	" rested = o.rested, news = o.news FROM other_runs o"
	" WHERE runs.id IN (SELECT new FROM merge_run) AND o.id = runs.id"
	" AND runs.ended IS NULL";

static const char new_runs[] =
	"CREATE TEMP TABLE merge_ours AS SELECT o.id AS old,"
	" x.new AS campaign, row_number() OVER (PARTITION BY o.campaign"
	" ORDER BY o.id) AS nth, (SELECT coalesce(max(r.id), 0) FROM runs r"
	" WHERE r.campaign = x.new) AS last FROM other_runs o"
	" JOIN merge_campaign x ON x.old = o.campaign"
	" WHERE o.id NOT IN (SELECT old FROM merge_run);"
	"INSERT INTO runs(campaign, kind, goal, plan, seed, attempt, flip,"
	" began, ended, verdict, signo, status, seconds, cpu_seconds,"
	" delivered, exposed, claimed, reason, rested, news) SELECT x.campaign,"
	" r.kind, i.new, r.plan, r.seed, r.attempt, r.flip, r.began, r.ended,"
	" r.verdict, r.signo, r.status, r.seconds, r.cpu_seconds, r.delivered,"
	" r.exposed, r.claimed, r.reason, r.rested, r.news FROM merge_ours x"
	" JOIN other_runs r ON r.id = x.old"
	" LEFT JOIN merge_goal i ON i.old = r.goal ORDER BY r.id;"
	"INSERT INTO merge_run SELECT x.old, t.id FROM merge_ours x JOIN"
	" (SELECT r.id, r.campaign, row_number() OVER (PARTITION BY r.campaign"
	" ORDER BY r.id) AS nth FROM runs r WHERE r.id > (SELECT min(last)"
	" FROM merge_ours o WHERE o.campaign = r.campaign)) t"
	" ON t.campaign = x.campaign AND t.nth = x.nth;"
	"INSERT INTO samples(run, class, predicted, exposed, failed, \"left\","
	" barred) SELECT m.new, k.new, s.predicted, s.exposed, s.failed,"
	" s.\"left\", s.barred FROM other_samples s"
	" JOIN merge_run m ON m.old = s.run"
	" JOIN merge_class k ON k.old = s.class WHERE true"
	" ON CONFLICT DO NOTHING";

static const char findings[] =
	"INSERT INTO findings(owner, id, program, campaign, json, first_seen,"
	" last_seen, times_seen, machine, cpu, kernel, backend, level)"
	" SELECT o.owner, o.id, p.new, c.new, o.json,"
	" o.first_seen, o.last_seen, o.times_seen,"
	" o.machine, o.cpu, o.kernel, o.backend, o.level"
	" FROM other_findings o"
	" LEFT JOIN merge_program p ON p.old = o.program"
	" LEFT JOIN merge_campaign c ON c.old = o.campaign WHERE true"
	" ORDER BY o.rowid ON CONFLICT(owner, id) DO UPDATE SET"
	" program = excluded.program, campaign = excluded.campaign,"
	" json = excluded.json,"
	" last_seen = max(findings.last_seen, excluded.last_seen),"
	" times_seen = findings.times_seen + CASE WHEN findings.campaign"
	" IS DISTINCT FROM excluded.campaign THEN excluded.times_seen"
	" ELSE 0 END;"
	"INSERT INTO corpus(program, owner, strategy, at, text)"
	" SELECT p.new, o.owner, o.strategy, o.at, o.text FROM other_corpus o"
	" JOIN merge_program p ON p.old = o.program WHERE true"
	" ON CONFLICT(program, owner, strategy) DO UPDATE SET"
	" at = excluded.at, text = excluded.text WHERE corpus.at <= excluded.at";

/* The first column of the only row of @sql, about @name. */
static int ask(struct maple_memo *memo, const char *sql, const char *name,
	       int64_t *number, struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(memo, sql, name ? "s" : "", &query, err);

	*number = 0;
	if (!ret && name)
		ret = maple_sql_bind(query, err, name);
	if (!ret)
		ret = maple_sql_step(memo, query, err);
	if (ret > 0)
		*number = maple_sql_number(query, 0);
	maple_sql_finish(query);
	return ret < 0 ? ret : 0;
}

static int read_origin(struct maple_memo *copy, struct maple_origin *origin,
		       struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(copy,
				    "SELECT memo, client, serial FROM spool",
				    "", &query, err);

	if (!ret)
		ret = maple_sql_step(copy, query, err);
	if (!ret)
		ret = maple_sql_damaged(copy, err);
	if (ret > 0) {
		ret = 0;
		snprintf(origin->memo, sizeof(origin->memo), "%s",
			 maple_sql_text_of(query, 0) ?: "");
		snprintf(origin->client, sizeof(origin->client), "%s",
			 maple_sql_text_of(query, 1) ?: "");
		origin->serial = maple_sql_number(query, 2);
	}
	maple_sql_finish(query);
	return ret;
}

/* "12,13", or "0", which is none's; to be freed */
static int list_known(struct maple_memo *copy, char **list,
		      struct maple_error *err)
{
	struct maple_query *query = NULL;
	size_t size;
	FILE *out = open_memstream(list, &size);
	int ret = out ? maple_sql_prepare(copy, "SELECT run FROM known", "",
					  &query, err)
		      : -1;

	if (out)
		putc('0', out);
	while (!ret && (ret = maple_sql_step(copy, query, err)) > 0) {
		fprintf(out, ",%lld", (long long)maple_sql_number(query, 0));
		ret = 0;
	}
	maple_sql_finish(query);
	if (!out || fclose(out))
		return maple_error_set(err, ENOMEM, "out of memory");
	return ret;
}

static int add_runs(struct maple_memo *memo, const char *known,
		    struct maple_error *err)
{
	char *sql = NULL;
	int ret = maple_sql_numbers(memo, "merge_run", err);

	if (!ret && asprintf(&sql, old_runs, known) < 0)
		ret = maple_error_set(err, ENOMEM, "out of memory");
	if (!ret)
		ret = maple_sql_exec(memo, sql, err);
	free(sql);
	return ret ? ret : maple_sql_exec(memo, new_runs, err);
}

static int forget(struct maple_memo *memo, struct maple_memo *copy,
		  struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(copy, "SELECT id, owner FROM forgotten", "",
				    &query, err);

	while (!ret && (ret = maple_sql_step(copy, query, err)) > 0)
		ret = maple_sql_run(memo, MAPLE_SQL_FINDING_FORGET, err, "si",
				    maple_sql_text_of(query, 0),
				    maple_sql_number(query, 1));
	maple_sql_finish(query);
	return ret;
}

static int sign(struct maple_memo *memo, const struct maple_origin *origin,
		struct maple_error *err)
{
	struct maple_query *query = NULL;
	int ret = maple_sql_prepare(memo,
				    "INSERT INTO deliveries(client, at)"
				    " VALUES($1, unixepoch())",
				    "s", &query, err);

	if (!ret)
		ret = maple_sql_bind(query, err, origin->client);
	if (!ret)
		ret = maple_sql_step(memo, query, err);
	maple_sql_finish(query);
	return ret;
}

/* In a transaction: nobody else delivers. @there: somebody has. */
static int add(struct maple_memo *memo, struct maple_memo *copy,
	       const struct maple_origin *origin, const char *known,
	       int64_t *there, struct maple_error *err)
{
	int ret = ask(memo, "SELECT count(*) FROM deliveries WHERE client = $1",
		      origin->client, there, err);

	if (ret || *there)
		return ret;
	ret = sign(memo, origin, err);
	if (!ret)
		ret = maple_sql_identify(memo, err);
	if (!ret)
		ret = maple_sql_exec(memo, add_marks, err);
	if (!ret)
		ret = add_runs(memo, known, err);
	if (!ret)
		ret = forget(memo, copy, err);
	if (!ret)
		ret = maple_sql_exec(memo, findings, err);
	return ret ? ret : maple_sql_forget_numbers(memo, err);
}

/* Only servers are delivered to; they leave the copy as it is. */
static int unite(struct maple_memo *memo, struct maple_memo *copy,
		 const struct maple_origin *origin, const char *known,
		 int64_t *there, struct maple_error *err)
{
	int ret = memo->driver->take_in(memo, copy, err);

	if (ret)
		return ret;
	ret = memo->driver->begin(memo, MAPLE_BEGIN_ALONE, err);
	if (!ret)
		ret = maple_sql_leave(
			memo, true, add(memo, copy, origin, known, there, err),
			err);
	memo->driver->let_go(memo, ret ? NULL : err);
	return ret;
}

static int deliver(struct maple_memo *memo, struct maple_memo *copy,
		   const struct maple_origin *origin, int64_t *there,
		   struct maple_error *err)
{
	char *known = NULL;
	bool done;
	int ret = memo->driver->settled(memo, origin, &done, err);

	if (!ret && done)
		ret = maple_sql_exec(copy, "DELETE FROM marked WHERE pending",
				     err);
	if (!ret)
		ret = maple_sql_exec(copy, marks, err);
	if (!ret)
		ret = list_known(copy, &known, err);
	if (!ret)
		ret = unite(memo, copy, origin, known, there, err);
	free(known);
	return ret;
}

/* maple_spool_deliver - see spool.h */
int maple_spool_deliver(struct maple_memo *memo, const char *path,
			bool going_on, enum maple_spool_end *what,
			int64_t *runs, struct maple_error *err)
{
	struct maple_origin origin, ours;
	struct maple_memo *copy;
	int64_t there = 0;
	int ret = maple_sql_copy(path, &copy, err);

	if (ret)
		return ret;
	*what = MAPLE_SPOOL_OTHER;
	ret = read_origin(copy, &origin, err);
	if (!ret && going_on)
		ret = maple_sql_exec(
			copy, "DELETE FROM runs WHERE ended IS NULL", err);
	if (!ret)
		ret = memo->driver->origin(memo, &ours, err);
	if (!ret && !strcmp(origin.memo, ours.memo)) {
		ret = ask(copy,
			  "SELECT count(*) FROM runs WHERE id NOT IN"
			  " (SELECT run FROM known WHERE over)",
			  NULL, runs, err);
		if (!ret)
			ret = deliver(memo, copy, &origin, &there, err);
		*what = there ? MAPLE_SPOOL_BEFORE : MAPLE_SPOOL_DELIVERED;
		*runs = there ? 0 : *runs;
	}
	maple_memo_close(copy);
	return ret;
}
