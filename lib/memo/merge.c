// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The union of two databases. Rows are told apart by what they are, not by
 * their numbers: images by build-id, sites by image and offset, campaigns by
 * the random name they got at birth, runs by their place in their campaign,
 * findings by owner and id: whose the other file is has no say in who owns
 * them, unless we would believe that file by itself.
 * Numbers of the other database become ours by way of temporary tables. Its own
 * tables are there as other_TABLE, whichever driver either of the two has.
 */
#include "memo/sql.h"
#include "memo/store.h"

/* The sites of goal o, in their order. */
#define OUR_SITES                                                     \
	"(SELECT json_group_array(t.site) FROM (SELECT x.new AS site" \
	" FROM json_each(o.sites) u JOIN merge_site x"                \
	" ON x.old = CAST(u.value AS BIGINT) ORDER BY u.key) t)"

/* Of a finding that both have: where it was made first. */
#define FIRST(column)                                                       \
	" " column " = CASE WHEN excluded.first_seen < findings.first_seen" \
	" THEN excluded." column " ELSE findings." column " END,"

/* One step: what is done with a table of numbers, which is made before it. */
struct step {
	const char *numbers; /* the table's name; NULL: none */
	const char *sql;
};

/* Who is who in both; what a campaign says of itself. */
static const struct step identities[] = {
	/* images, and which are builds of which */
	{ NULL, "INSERT INTO images(build_id, path)"
		" SELECT build_id, path FROM other_images WHERE true"
		" ON CONFLICT DO NOTHING" },
	{ "merge_image",
	  "INSERT INTO merge_image SELECT o.id, m.id FROM other_images o"
	  " JOIN images m ON m.build_id = o.build_id;"
	  "INSERT INTO rebuilds(old, new) SELECT a.new, b.new"
	  " FROM other_rebuilds o JOIN merge_image a ON a.old = o.old"
	  " JOIN merge_image b ON b.old = o.new WHERE true"
	  " ON CONFLICT DO NOTHING" },

	/* sites */
	{ NULL,
	  "INSERT INTO sites(image, \"offset\", is_call, function, file, line,"
	  " fingerprint) SELECT x.new, o.\"offset\", o.is_call, o.function,"
	  " o.file, o.line, o.fingerprint FROM other_sites o"
	  " JOIN merge_image x ON x.old = o.image WHERE true"
	  " ON CONFLICT(image, \"offset\", is_call) DO UPDATE SET"
	  " function = coalesce(sites.function, excluded.function),"
	  " line = CASE WHEN sites.file IS NULL THEN excluded.line"
	  " ELSE sites.line END,"
	  " file = coalesce(sites.file, excluded.file),"
	  " fingerprint = coalesce(sites.fingerprint, excluded.fingerprint)" },
	{ "merge_site",
	  "INSERT INTO merge_site SELECT o.id, m.id FROM other_sites o"
	  " JOIN merge_image x ON x.old = o.image JOIN sites m"
	  " ON m.image = x.new AND m.\"offset\" = o.\"offset\""
	  " AND m.is_call = o.is_call" },

	/* goals, with their classes and sites */
	{ NULL, "INSERT INTO classes(name)"
		" SELECT name FROM other_classes WHERE true ORDER BY id"
		" ON CONFLICT DO NOTHING" },
	{ "merge_class",
	  "INSERT INTO merge_class SELECT o.id, m.id FROM other_classes o"
	  " JOIN classes m ON m.name = o.name" },
	{ NULL, "INSERT INTO goals(class, kinds, sites, contexts)"
		" SELECT k.new, o.kinds, " OUR_SITES ", o.contexts"
		" FROM other_goals o JOIN merge_class k ON k.old = o.class"
		" WHERE true ON CONFLICT DO NOTHING" },
	{ "merge_goal",
	  "INSERT INTO merge_goal SELECT o.id, m.id FROM other_goals o"
	  " JOIN merge_class k ON k.old = o.class JOIN goals m"
	  " ON m.class = k.new AND m.kinds = o.kinds"
	  " AND m.contexts = o.contexts AND m.sites = " OUR_SITES },

	/* programs */
	{ NULL, "INSERT INTO programs(build_id, input, path, apart)"
		" SELECT build_id, input, path, apart FROM other_programs"
		" WHERE true ON CONFLICT(build_id, input) DO UPDATE SET"
		" apart = max(programs.apart, excluded.apart)" },
	{ "merge_program",
	  "INSERT INTO merge_program SELECT o.id, m.id FROM other_programs o"
	  " JOIN programs m ON m.build_id = o.build_id AND m.input = o.input" },

	/* campaigns */
	{ NULL,
	  "INSERT INTO campaigns(program, argv, cwd, input, exe, strategy,"
	  " seed, version, began, ended, outcome, uid, apart, unobserved,"
	  " parts, machine, cpu, kernel, backend) SELECT p.new, o.argv, o.cwd, o.input,"
	  " o.exe, o.strategy, o.seed, o.version, o.began, o.ended, o.outcome,"
	  " o.uid, o.apart, o.unobserved, o.parts, o.machine, o.cpu, o.kernel,"
	  " o.backend"
	  " FROM other_campaigns o"
	  " LEFT JOIN merge_program p ON p.old = o.program WHERE true"
	  " ORDER BY o.id ON CONFLICT(uid) DO UPDATE SET"
	  " program = coalesce(campaigns.program, excluded.program),"
	  " ended = coalesce(campaigns.ended, excluded.ended),"
	  " outcome = coalesce(campaigns.outcome, excluded.outcome),"
	  " unobserved = coalesce(campaigns.unobserved, excluded.unobserved),"
	  " parts = coalesce(campaigns.parts, excluded.parts)" },
	{ "merge_campaign",
	  "INSERT INTO merge_campaign SELECT o.id, m.id FROM other_campaigns o"
	  " JOIN campaigns m ON m.uid = o.uid" },
};

static const struct step rest[] = {
	/* marks */
	{ NULL,
	  "INSERT INTO memo(program, goal, predicted, observed, exposed,"
	  " failed, attempts, broke)"
	  " SELECT p.new, i.new," MAPLE_SQL_BEST_MARKS(
		  "o") " FROM other_memo o"
		       " JOIN merge_program p ON p.old = o.program"
		       " JOIN merge_goal i ON i.old = o.goal WHERE true GROUP BY 1, 2"
		       " ON CONFLICT(program, goal) DO UPDATE SET" MAPLE_SQL_UNION_OF_MARKS },

	/* Of a campaign that both have, one may know more runs than the other. */
	{ NULL,
	  "CREATE TEMP TABLE merge_run AS SELECT r.id AS old,"
	  " x.new AS campaign,"
	  " row_number() OVER (PARTITION BY r.campaign ORDER BY r.id) AS nth,"
	  " (SELECT count(*) FROM runs h WHERE h.campaign = x.new) AS had"
	  " FROM other_runs r JOIN merge_campaign x ON x.old = r.campaign;"
	  "INSERT INTO runs(campaign, kind, goal, plan, seed, attempt,"
	  " flip, began, ended, verdict, signo, status, seconds, cpu_seconds,"
	  " delivered, exposed, claimed, reason, rested, news)"
	  " SELECT x.campaign,"
	  " r.kind, i.new, r.plan, r.seed, r.attempt, r.flip, r.began, r.ended,"
	  " r.verdict, r.signo, r.status, r.seconds, r.cpu_seconds,"
	  " r.delivered, r.exposed, r.claimed, r.reason, r.rested, r.news"
	  " FROM merge_run x JOIN other_runs r"
	  " ON r.id = x.old LEFT JOIN merge_goal i ON i.old = r.goal"
	  " WHERE x.nth > x.had ORDER BY r.id;"
	  "CREATE TEMP TABLE merge_ours AS SELECT id, campaign, row_number()"
	  " OVER (PARTITION BY campaign ORDER BY id) AS nth FROM runs"
	  " WHERE campaign IN (SELECT new FROM merge_campaign);"
	  "CREATE UNIQUE INDEX merge_ours_nth ON merge_ours(campaign, nth);"
	  "CREATE UNIQUE INDEX merge_run_old ON merge_run(old);"
	  "INSERT INTO samples(run, class, predicted, exposed,"
	  " failed, \"left\", barred) SELECT m.id, k.new, s.predicted,"
	  " s.exposed, s.failed, s.\"left\", s.barred"
	  " FROM other_samples s JOIN merge_run x ON x.old = s.run"
	  " JOIN merge_class k ON k.old = s.class"
	  " JOIN merge_ours m ON m.campaign = x.campaign AND m.nth = x.nth"
	  " WHERE true ON CONFLICT DO NOTHING" },

	/* findings */
	{ NULL,
	  "INSERT INTO findings(owner, id, program, campaign, json,"
	  " first_seen, last_seen, times_seen,"
	  " machine, cpu, kernel, backend, level) SELECT"
	  " CASE WHEN o.owner = whose(-1)"
	  " THEN coalesce((SELECT f.owner FROM findings f"
	  " WHERE f.owner = whose(-1) AND f.id = o.id), -1)"
	  " ELSE o.owner END, o.id, p.new, c.new, o.json,"
	  " o.first_seen, o.last_seen, o.times_seen,"
	  " o.machine, o.cpu, o.kernel, o.backend, o.level"
	  " FROM other_findings o"
	  " LEFT JOIN merge_program p ON p.old = o.program"
	  " LEFT JOIN merge_campaign c ON c.old = o.campaign WHERE true"
	  " ORDER BY o.rowid ON CONFLICT(owner, id) DO UPDATE SET"
	  " json = CASE WHEN excluded.last_seen > findings.last_seen"
	  " THEN excluded.json ELSE findings.json END," FIRST("machine") FIRST(
		  "cpu") FIRST("kernel")
		  FIRST("backend") " first_seen = min(findings.first_seen, excluded.first_seen),"
				   " last_seen = max(findings.last_seen, excluded.last_seen),"
				   " times_seen = max(findings.times_seen, excluded.times_seen)" },
};

static const char forget[] = "DROP TABLE IF EXISTS merge_image;"
			     "DROP TABLE IF EXISTS merge_site;"
			     "DROP TABLE IF EXISTS merge_class;"
			     "DROP TABLE IF EXISTS merge_goal;"
			     "DROP TABLE IF EXISTS merge_program;"
			     "DROP TABLE IF EXISTS merge_campaign;"
			     "DROP TABLE IF EXISTS merge_run;"
			     "DROP TABLE IF EXISTS merge_ours;"
			     "DROP TABLE IF EXISTS merge_corpus";

static int take(struct maple_memo *memo, const struct step *step,
		struct maple_error *err)
{
	int ret = step->numbers ? maple_sql_numbers(memo, step->numbers, err)
				: 0;

	return ret ? ret : maple_sql_exec(memo, step->sql, err);
}

static int take_all(struct maple_memo *memo, const struct step *steps, size_t n,
		    struct maple_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = take(memo, &steps[i], err);
	return ret;
}

/*
 * maple_sql_identify - of the memo that has been taken in, everything that its
 * rows are known by is ours as well; merge_image, merge_site, merge_class,
 * merge_goal, merge_program and merge_campaign say which is which
 * maple_sql_forget_numbers - these are not used any more
 */
int maple_sql_identify(struct maple_memo *memo, struct maple_error *err)
{
	return take_all(memo, identities,
			sizeof(identities) / sizeof(*identities), err);
}

int maple_sql_forget_numbers(struct maple_memo *memo, struct maple_error *err)
{
	return maple_sql_exec(memo, forget, err);
}

static int unite(struct maple_memo *memo, struct maple_error *err)
{
	int ret = memo->driver->begin(memo, MAPLE_BEGIN_ALONE, err);

	if (ret)
		return ret;
	ret = maple_sql_identify(memo, err);
	if (!ret)
		ret = take_all(memo, rest, sizeof(rest) / sizeof(*rest), err);
	if (!ret)
		ret = maple_corpora_merge(memo, err);
	if (!ret)
		ret = maple_sql_forget_numbers(memo, err);
	/* A rollback takes the temporary tables with it. */
	return maple_sql_leave(memo, true, ret, err);
}

int maple_store_merge(struct maple_memo *memo, const char *path,
		      struct maple_error *err)
{
	struct maple_memo *copy;
	int ret = maple_sql_copy(path, &copy, err);

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
