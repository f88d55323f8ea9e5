// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The union of two databases. Rows are told apart by what they are, not by
 * their numbers: images by build-id, sites by image and offset, campaigns by
 * the random name they got at birth, runs by their place in their campaign,
 * findings by owner and id: whose the other file is has no say in who owns
 * them, unless we would believe that file by itself.
 * Numbers of the other database become ours by way of temporary tables.
 */
#include "memo/sql.h"
#include "memo/store.h"

#define NUMBERS(table) \
	"CREATE TEMP TABLE " table "(old INTEGER PRIMARY KEY, new INTEGER);"

static const char images[] =
	"INSERT OR IGNORE INTO main.images(build_id, path)"
	" SELECT build_id, path FROM other.images;" NUMBERS(
		"merge_image") "INSERT INTO merge_image SELECT o.id, m.id FROM other.images o"
			       " JOIN main.images m ON m.build_id = o.build_id;"
			       "INSERT OR IGNORE INTO main.rebuilds(old, new) SELECT a.new, b.new"
			       " FROM other.rebuilds o JOIN merge_image a ON a.old = o.old"
			       " JOIN merge_image b ON b.old = o.new";

static const char sites[] =
	"INSERT INTO main.sites(image, offset, is_call, function, file, line,"
	" fingerprint) SELECT x.new, o.offset, o.is_call, o.function, o.file,"
	" o.line, o.fingerprint FROM other.sites o JOIN merge_image x"
	" ON x.old = o.image WHERE true"
	" ON CONFLICT(image, offset, is_call) DO UPDATE SET"
	" function = coalesce(function, excluded.function),"
	" line = iif(file IS NULL, excluded.line, line),"
	" file = coalesce(file, excluded.file),"
	" fingerprint = coalesce(fingerprint, excluded.fingerprint);" NUMBERS(
		"merge_site") "INSERT INTO merge_site SELECT o.id, m.id FROM other.sites o"
			      " JOIN merge_image x ON x.old = o.image JOIN main.sites m"
			      " ON m.image = x.new AND m.offset = o.offset AND m.is_call = o.is_call";

/* The sites of goal o; CROSS keeps their order. */
#define OUR_SITES                                                   \
	"(SELECT json_group_array(x.new) FROM json_each(o.sites) u" \
	" CROSS JOIN merge_site x ON x.old = u.value)"

static const char goals[] =
	"INSERT OR IGNORE INTO main.classes(name)"
	" SELECT name FROM other.classes ORDER BY id;" NUMBERS(
		"merge_class") "INSERT INTO merge_class SELECT o.id, m.id FROM other.classes o"
			       " JOIN main.classes m ON m.name = o.name;"
			       "INSERT OR IGNORE INTO main.goals(class, kinds, sites, contexts)"
			       " SELECT k.new, o.kinds, " OUR_SITES
			       ", o.contexts"
			       " FROM other.goals o JOIN merge_class k ON k.old = o.class;" NUMBERS(
				       "merge_goal") "INSERT INTO merge_goal SELECT o.id, m.id FROM other.goals o"
						     " JOIN merge_class k ON k.old = o.class JOIN main.goals m"
						     " ON m.class = k.new AND m.kinds = o.kinds"
						     " AND m.contexts = o.contexts AND m.sites = " OUR_SITES;

static const char marks[] =
	"INSERT INTO main.programs(build_id, input, path, apart)"
	" SELECT build_id, input, path, apart FROM other.programs WHERE true"
	" ON CONFLICT(build_id, input) DO UPDATE SET"
	" apart = max(apart, excluded.apart);" NUMBERS(
		"merge_program") "INSERT INTO merge_program SELECT o.id, m.id FROM other.programs o"
				 " JOIN main.programs m ON m.build_id = o.build_id"
				 " AND m.input = o.input;"
				 "INSERT INTO main.memo(program, goal, predicted, observed, exposed,"
				 " failed, attempts, broke) SELECT p.new, i.new, o.predicted, o.observed,"
				 " o.exposed, o.failed, o.attempts, o.broke FROM other.memo o"
				 " JOIN merge_program p ON p.old = o.program"
				 " JOIN merge_goal i ON i.old = o.goal WHERE true"
				 " ON CONFLICT(program, goal) DO UPDATE SET" MAPLE_SQL_UNION_OF_MARKS;

static const char campaigns[] =
	"INSERT INTO main.campaigns(program, argv, cwd, input, exe, strategy,"
	" seed, version, began, ended, outcome, uid, apart, unobserved, parts)"
	" SELECT p.new,"
	" o.argv, o.cwd, o.input, o.exe, o.strategy, o.seed, o.version,"
	" o.began, o.ended, o.outcome, o.uid, o.apart, o.unobserved,"
	" o.parts"
	" FROM other.campaigns o"
	" LEFT JOIN merge_program p ON p.old = o.program WHERE true"
	" ORDER BY o.id ON CONFLICT(uid) DO UPDATE SET"
	" program = coalesce(program, excluded.program),"
	" ended = coalesce(ended, excluded.ended),"
	" outcome = coalesce(outcome, excluded.outcome),"
	" unobserved = coalesce(unobserved, excluded.unobserved),"
	" parts = coalesce(parts, excluded.parts);" NUMBERS(
		"merge_campaign") "INSERT INTO merge_campaign SELECT o.id, m.id FROM other.campaigns o"
				  " JOIN main.campaigns m ON m.uid = o.uid";

/* Of a campaign that both have, one may know more runs than the other. */
static const char runs[] =
	"CREATE TEMP TABLE merge_run AS SELECT r.id AS old, x.new AS campaign,"
	" row_number() OVER (PARTITION BY r.campaign ORDER BY r.id) AS nth,"
	" (SELECT count(*) FROM main.runs h WHERE h.campaign = x.new) AS had"
	" FROM other.runs r JOIN merge_campaign x ON x.old = r.campaign;"
	"INSERT INTO main.runs(campaign, kind, goal, plan, seed, attempt,"
	" flip, began, ended, verdict, signo, status, seconds, cpu_seconds,"
	" delivered, exposed, claimed, reason, rested) SELECT x.campaign, r.kind,"
	" i.new, r.plan, r.seed, r.attempt, r.flip, r.began, r.ended,"
	" r.verdict, r.signo, r.status, r.seconds, r.cpu_seconds, r.delivered,"
	" r.exposed, r.claimed, r.reason, r.rested FROM merge_run x"
	" JOIN other.runs r"
	" ON r.id = x.old LEFT JOIN merge_goal i ON i.old = r.goal"
	" WHERE x.nth > x.had ORDER BY r.id;"
	"CREATE TEMP TABLE merge_ours AS SELECT id, campaign, row_number()"
	" OVER (PARTITION BY campaign ORDER BY id) AS nth FROM main.runs"
	" WHERE campaign IN (SELECT new FROM merge_campaign);"
	"CREATE UNIQUE INDEX temp.merge_ours_nth ON merge_ours(campaign, nth);"
	"CREATE UNIQUE INDEX temp.merge_run_old ON merge_run(old);"
	"INSERT OR IGNORE INTO main.samples(run, class, predicted, exposed,"
	" failed, left, barred) SELECT m.id, k.new, s.predicted, s.exposed,"
	" s.failed, s.left, s.barred"
	" FROM other.samples s JOIN merge_run x ON x.old = s.run"
	" JOIN merge_class k ON k.old = s.class"
	" JOIN merge_ours m ON m.campaign = x.campaign AND m.nth = x.nth";

static const char findings[] =
	"INSERT INTO main.findings(owner, id, program, campaign, json,"
	" first_seen, last_seen, times_seen) SELECT"
	" iif(o.owner = whose(-1), coalesce((SELECT owner FROM main.findings f"
	" WHERE f.owner = whose(-1) AND f.id = o.id), -1), o.owner),"
	" o.id, p.new, c.new, o.json,"
	" o.first_seen, o.last_seen, o.times_seen FROM other.findings o"
	" LEFT JOIN merge_program p ON p.old = o.program"
	" LEFT JOIN merge_campaign c ON c.old = o.campaign WHERE true"
	" ORDER BY o.rowid ON CONFLICT(owner, id) DO UPDATE SET"
	" json = iif(excluded.last_seen > last_seen, excluded.json, json),"
	" first_seen = min(first_seen, excluded.first_seen),"
	" last_seen = max(last_seen, excluded.last_seen),"
	" times_seen = max(times_seen, excluded.times_seen)";

static const char forget[] = "DROP TABLE IF EXISTS temp.merge_image;"
			     "DROP TABLE IF EXISTS temp.merge_site;"
			     "DROP TABLE IF EXISTS temp.merge_class;"
			     "DROP TABLE IF EXISTS temp.merge_goal;"
			     "DROP TABLE IF EXISTS temp.merge_program;"
			     "DROP TABLE IF EXISTS temp.merge_campaign;"
			     "DROP TABLE IF EXISTS temp.merge_run;"
			     "DROP TABLE IF EXISTS temp.merge_ours;"
			     "DROP TABLE IF EXISTS temp.merge_corpus";

static int unite(struct maple_memo *memo, struct maple_error *err)
{
	static const char *const steps[] = { images,	sites, goals,	marks,
					     campaigns, runs,  findings };
	int ret = memo->driver->begin(memo, true, err);

	if (ret)
		return ret;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(*steps) && !ret; i++)
		ret = maple_sql_exec(memo, steps[i], err);
	if (!ret)
		ret = maple_corpora_merge(memo, err);
	if (!ret)
		ret = maple_sql_exec(memo, forget, err);
	/* A rollback takes the temporary tables with it. */
	return maple_sql_leave(memo, true, ret, err);
}

int maple_store_merge(struct maple_memo *memo, const char *path,
		      struct maple_error *err)
{
	struct maple_memo *copy;
	int ret = maple_sql_copy(memo, path, &copy, err);

	if (ret)
		return ret;
	ret = maple_sql_exec(copy,
			     "UPDATE OR REPLACE findings SET"
			     " owner = whose(owner)",
			     err);
	if (!ret)
		ret = maple_corpora_prepare(copy, err);
	if (!ret)
		ret = memo->driver->take_in(memo, copy, err);
	if (!ret) {
		ret = unite(memo, err);
		memo->driver->let_go(memo, ret ? NULL : err);
	}
	maple_memo_close(copy);
	return ret;
}
