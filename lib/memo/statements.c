// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The schema and every statement. A new version of the schema is one more
 * entry of maple_sql_migrations; those that were released never change.
 *
 * A goal is told from others by its class, the kinds and the sites of what it
 * uses, a JSON list of numbers, and the contexts of these, another list; '' if
 * none has any. The numbers of classes are the order in which they are shown; 1
 * to 7 are those that all goals had up to schema 9. A program is an executable
 * (by build-id) with one input (its name, or maple_memo_input()): attempts are
 * counted for each input, exposure and failures hold for the executable with
 * every one that was named, but for inputs that stand apart, as those without a
 * name do: what is known with them is known for each alone. What broke
 * a run is not exposed, whatever else it is: that it does no harm is not known.
 *
 * The statements are in words that SQLite and PostgreSQL both have, and mean
 * the same in both: a number is compared and is no truth value by itself, a
 * truth value becomes a number by CASE, columns of the table that an INSERT
 * meets are said with their table, and what is a word of SQL to one of them is
 * quoted. What PostgreSQL has under another name it is given
 * (postgres/schema.c). The migrations are SQLite's own.
 */
#include "memo/sql.h"

#define ADD	   " ON CONFLICT(owner) DO UPDATE SET bytes = bytes + excluded.bytes;"
#define ADD_UP	   ADD " END;"
#define SIZE_OF(f) "(256 + length(CAST(" f ".json AS BLOB)))"
#define KEPT_SIZE(f) \
	"(256 + length(CAST(" f ".strategy || " f ".text AS BLOB)))"

const char *const maple_sql_migrations[] = {
	/* 1 */
	"CREATE TABLE images(id INTEGER PRIMARY KEY,"
	" build_id TEXT NOT NULL UNIQUE, path TEXT);"
	"CREATE TABLE sites(id INTEGER PRIMARY KEY,"
	" image INTEGER NOT NULL REFERENCES images, offset INTEGER NOT NULL,"
	" is_call INTEGER NOT NULL, function TEXT, file TEXT, line INTEGER,"
	" fingerprint TEXT, UNIQUE(image, offset, is_call));"
	"CREATE TABLE iroots(id INTEGER PRIMARY KEY, idiom INTEGER NOT NULL,"
	" kinds TEXT NOT NULL, site0 INTEGER NOT NULL REFERENCES sites,"
	" site1 INTEGER NOT NULL REFERENCES sites, site2 INTEGER NOT NULL,"
	" site3 INTEGER NOT NULL,"
	" UNIQUE(site0, site1, site2, site3, idiom, kinds));"
	"CREATE TABLE programs(id INTEGER PRIMARY KEY, build_id TEXT NOT NULL,"
	" input TEXT NOT NULL, path TEXT, UNIQUE(build_id, input));"
	"CREATE TABLE memo("
	" program INTEGER NOT NULL REFERENCES programs ON DELETE CASCADE,"
	" iroot INTEGER NOT NULL REFERENCES iroots,"
	" predicted INTEGER NOT NULL, observed INTEGER NOT NULL,"
	" exposed INTEGER NOT NULL, failed INTEGER NOT NULL,"
	" attempts INTEGER NOT NULL, PRIMARY KEY(program, iroot))"
	" WITHOUT ROWID;"
	"CREATE TABLE campaigns(id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" program INTEGER REFERENCES programs ON DELETE CASCADE,"
	" argv TEXT NOT NULL, cwd TEXT, input TEXT, exe TEXT, strategy TEXT,"
	" seed INTEGER NOT NULL, version TEXT, began INTEGER NOT NULL,"
	" ended INTEGER, outcome TEXT);"
	"CREATE INDEX campaigns_program ON campaigns(program);"
	"CREATE TABLE runs(id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,"
	" kind TEXT NOT NULL, iroot INTEGER REFERENCES iroots, plan TEXT,"
	" seed INTEGER NOT NULL, attempt INTEGER NOT NULL,"
	" flip INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER,"
	" verdict TEXT, signo INTEGER, status INTEGER, seconds REAL,"
	" cpu_seconds REAL, delivered INTEGER, exposed INTEGER);"
	"CREATE INDEX runs_campaign ON runs(campaign);"
	"CREATE TABLE findings(id TEXT PRIMARY KEY,"
	" program INTEGER REFERENCES programs ON DELETE CASCADE,"
	" campaign INTEGER REFERENCES campaigns ON DELETE SET NULL,"
	" json TEXT NOT NULL, first_seen INTEGER NOT NULL,"
	" last_seen INTEGER NOT NULL, times_seen INTEGER NOT NULL);"
	"CREATE TABLE samples("
	" run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
	" idiom INTEGER NOT NULL, predicted INTEGER NOT NULL,"
	" exposed INTEGER NOT NULL, failed INTEGER NOT NULL,"
	" PRIMARY KEY(run, idiom)) WITHOUT ROWID;",
	/* 2: why a try failed; what tells a campaign in two databases */
	"ALTER TABLE runs ADD COLUMN claimed INTEGER;"
	"ALTER TABLE runs ADD COLUMN reason TEXT;"
	"ALTER TABLE campaigns ADD COLUMN uid TEXT;"
	"UPDATE campaigns SET uid = printf('%x-%x-%d', began, seed, id);"
	"CREATE UNIQUE INDEX campaigns_uid ON campaigns(uid);"
	"CREATE INDEX memo_iroot ON memo(iroot);"
	"CREATE INDEX images_path ON images(path);"
	"CREATE INDEX runs_iroot ON runs(iroot);"
	"CREATE TABLE rebuilds(old INTEGER NOT NULL REFERENCES images,"
	" new INTEGER NOT NULL REFERENCES images, PRIMARY KEY(old, new))"
	" WITHOUT ROWID;",
	/* 3: whether the scheduler was asked for what was put to rest */
	"ALTER TABLE runs ADD COLUMN rested INTEGER;",
	/* 4: whose a campaign is, and the last request that was done for it */
	"ALTER TABLE campaigns ADD COLUMN owner INTEGER;"
	"ALTER TABLE campaigns ADD COLUMN request INTEGER;"
	"ALTER TABLE campaigns ADD COLUMN answer INTEGER;",
	/* 5: what broke runs; what was left to try after a run */
	"ALTER TABLE memo ADD COLUMN broke INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE samples ADD COLUMN left INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE samples ADD COLUMN barred INTEGER NOT NULL DEFAULT 0;"
	"UPDATE samples SET left = max(predicted - exposed - failed, 0);",
	/* 6: inputs of which each is known for itself */
	("ALTER TABLE campaigns ADD COLUMN apart INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE programs ADD COLUMN apart INTEGER NOT NULL DEFAULT 0;"),
	/* 7: of the program, what a campaign says nothing about */
	"ALTER TABLE campaigns ADD COLUMN unobserved TEXT;",
	/* 8: whose a finding is; -1: his whose the file is */
	"CREATE TABLE owned(owner INTEGER NOT NULL, id TEXT NOT NULL,"
	" program INTEGER REFERENCES programs ON DELETE CASCADE,"
	" campaign INTEGER REFERENCES campaigns ON DELETE SET NULL,"
	" json TEXT NOT NULL, first_seen INTEGER NOT NULL,"
	" last_seen INTEGER NOT NULL, times_seen INTEGER NOT NULL,"
	" PRIMARY KEY(owner, id));"
	"INSERT INTO owned SELECT coalesce((SELECT owner FROM campaigns c"
	" WHERE c.id = f.campaign), -1), f.id, f.program, f.campaign, f.json,"
	" f.first_seen, f.last_seen, f.times_seen FROM findings f"
	" ORDER BY f.rowid;"
	"DROP TABLE findings;"
	"ALTER TABLE owned RENAME TO findings;"
	"CREATE INDEX findings_id ON findings(id);",
	/* 9: how much each user's campaigns and findings take, about */
	"ALTER TABLE campaigns ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
	"CREATE TABLE usage(owner INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);"
	"CREATE TRIGGER usage_campaign AFTER UPDATE OF bytes ON campaigns BEGIN"
	" INSERT INTO usage VALUES(coalesce(new.owner, -1),"
	" new.bytes - old.bytes)" ADD_UP "CREATE TRIGGER usage_no_campaign"
	" AFTER DELETE ON campaigns BEGIN"
	" INSERT INTO usage VALUES(coalesce(old.owner, -1), -old.bytes)" ADD_UP
	"CREATE TRIGGER usage_finding AFTER INSERT ON findings BEGIN"
	" INSERT INTO usage VALUES(new.owner, " SIZE_OF(
		"new") ")" ADD_UP
		       "CREATE TRIGGER usage_changed AFTER UPDATE ON findings BEGIN"
		       " INSERT INTO usage VALUES(old.owner, -" SIZE_OF("old") ")" ADD " INSERT INTO usage VALUES(new.owner, " SIZE_OF(
			       "new") ")" ADD_UP
				      "CREATE TRIGGER usage_no_finding AFTER DELETE ON findings BEGIN"
				      " INSERT INTO usage VALUES(old.owner, -" SIZE_OF(
					      "old") ")" ADD_UP
						     "INSERT INTO usage SELECT owner, sum(" SIZE_OF(
							     "f") ")"
								  " FROM findings f GROUP BY owner;"
								  "UPDATE campaigns SET bytes = 512 + length(argv) + coalesce((SELECT"
								  " sum(512 + coalesce(length(plan), 0)) FROM runs"
								  " WHERE campaign = campaigns.id), 0);",
	/* 10: goals of any class, in place of iRoots; foreign keys follow */
	("CREATE TABLE classes(id INTEGER PRIMARY KEY,"
	 " name TEXT NOT NULL UNIQUE);"
	 "INSERT INTO classes VALUES(1, 'idiom 1'), (2, 'idiom 2'),"
	 " (3, 'idiom 3'), (4, 'idiom 4'), (5, 'idiom 5'), (6, 'idiom 6'),"
	 " (7, 'deadlock');"
	 "CREATE TABLE keys(id INTEGER PRIMARY KEY,"
	 " class INTEGER NOT NULL REFERENCES classes, kinds TEXT NOT NULL,"
	 " sites TEXT NOT NULL, contexts TEXT NOT NULL,"
	 " UNIQUE(sites, class, kinds, contexts));"
	 "INSERT INTO keys SELECT id, idiom, kinds, '[' || site0 || ','"
	 " || site1 || iif(site2, ',' || site2, '')"
	 " || iif(site3, ',' || site3, '') || ']', '' FROM iroots;"
	 "DROP TABLE iroots;"
	 "ALTER TABLE keys RENAME TO iroots;"
	 "ALTER TABLE iroots RENAME TO goals;"
	 "ALTER TABLE memo RENAME COLUMN iroot TO goal;"
	 "ALTER TABLE runs RENAME COLUMN iroot TO goal;"
	 "ALTER TABLE samples RENAME COLUMN idiom TO class;"
	 "DROP INDEX memo_iroot;"
	 "DROP INDEX runs_iroot;"
	 "CREATE INDEX memo_goal ON memo(goal);"
	 "CREATE INDEX runs_goal ON runs(goal);"),
	/* 11: what each part of its strategy did */
	"ALTER TABLE campaigns ADD COLUMN parts TEXT;",
	/* 12: schedules that a strategy goes on with; owner as in findings */
	("CREATE TABLE corpus("
	 " program INTEGER NOT NULL REFERENCES programs ON DELETE CASCADE,"
	 " owner INTEGER NOT NULL, strategy TEXT NOT NULL,"
	 " at INTEGER NOT NULL, text TEXT NOT NULL,"
	 " PRIMARY KEY(program, owner, strategy));"
	 /* clang-format off */
	 "CREATE TRIGGER usage_corpus AFTER INSERT ON corpus BEGIN"
	 " INSERT INTO usage VALUES(new.owner, " KEPT_SIZE("new") ")" ADD_UP
	 "CREATE TRIGGER usage_corpus_changed AFTER UPDATE ON corpus BEGIN"
	 " INSERT INTO usage VALUES(old.owner, -" KEPT_SIZE("old") ")" ADD
	 " INSERT INTO usage VALUES(new.owner, " KEPT_SIZE("new") ")" ADD_UP
	 "CREATE TRIGGER usage_no_corpus AFTER DELETE ON corpus BEGIN"
	 " INSERT INTO usage VALUES(old.owner, -" KEPT_SIZE("old") ")" ADD_UP),
	/* clang-format on */
	/*
	 * 13: an input without a name is known by its command. What had been
	 * learned of all of them together is of none, and forgotten; what was
	 * run and found goes to the command that did so.
	 */
	("CREATE TABLE told(campaign INTEGER, finding INTEGER,"
	 " program INTEGER, input TEXT);"
	 "INSERT INTO told SELECT c.id, NULL, c.program,"
	 " input_of(c.argv, iif(c.apart, NULL, c.input)) FROM campaigns c"
	 " WHERE c.program IS NOT NULL AND (c.input IS NULL OR c.apart"
	 " OR c.input = 'attached' OR EXISTS(SELECT 1 FROM runs r"
	 "  WHERE r.campaign = c.id AND instr(r.plan, '\"between\":')));"
	 "INSERT INTO told SELECT NULL, f.rowid, p.id, input_of(f.json, NULL)"
	 " FROM findings f JOIN programs p ON p.id = f.program"
	 " WHERE f.campaign IS NULL AND p.input = '';"
	 "INSERT OR IGNORE INTO programs(build_id, input, path, apart)"
	 " SELECT p.build_id, t.input, p.path, 1 FROM told t"
	 " JOIN programs p ON p.id = t.program;"
	 "UPDATE campaigns SET program = q.id, input = t.input, apart = 1"
	 " FROM told t JOIN programs p ON p.id = t.program JOIN programs q"
	 " ON q.build_id = p.build_id AND q.input = t.input"
	 " WHERE campaigns.id = t.campaign;"
	 "UPDATE findings SET program = c.program FROM campaigns c"
	 " JOIN told t ON t.campaign = c.id WHERE findings.campaign = c.id;"
	 "UPDATE findings SET program = q.id FROM told t"
	 " JOIN programs p ON p.id = t.program JOIN programs q"
	 " ON q.build_id = p.build_id AND q.input = t.input"
	 " WHERE findings.rowid = t.finding;"
	 "INSERT INTO told(program) SELECT id FROM programs WHERE input = '';"
	 "DELETE FROM memo WHERE program IN (SELECT program FROM told);"
	 "DELETE FROM corpus WHERE program IN (SELECT program FROM told);"
	 "DELETE FROM programs WHERE id IN (SELECT program FROM told)"
	 " AND NOT EXISTS(SELECT 1 FROM campaigns c WHERE c.program ="
	 " programs.id) AND NOT EXISTS(SELECT 1 FROM findings f"
	 " WHERE f.program = programs.id);"
	 "DROP TABLE told;"),
	/* 14: where a campaign was */
	("ALTER TABLE campaigns ADD COLUMN machine TEXT;"
	 "ALTER TABLE campaigns ADD COLUMN cpu TEXT;"
	 "ALTER TABLE campaigns ADD COLUMN kernel TEXT;"),
	/*
	 * 15: with which backend, and what each run was the first to show;
	 * where a finding was made first, as far as it can be told: one that
	 * was seen again has lost that.
	 */
	("ALTER TABLE campaigns ADD COLUMN backend TEXT;"
	 "ALTER TABLE runs ADD COLUMN news INTEGER;"
	 "ALTER TABLE findings ADD COLUMN machine TEXT;"
	 "ALTER TABLE findings ADD COLUMN cpu TEXT;"
	 "ALTER TABLE findings ADD COLUMN kernel TEXT;"
	 "ALTER TABLE findings ADD COLUMN backend TEXT;"
	 "UPDATE findings SET machine = c.machine, cpu = c.cpu,"
	 " kernel = c.kernel FROM campaigns c"
	 " WHERE c.id = findings.campaign AND findings.times_seen = 1;"),
	/* 16: what is kept as a finding is, and is none: 1 is a violation */
	"ALTER TABLE findings ADD COLUMN level INTEGER NOT NULL DEFAULT 0;",
};

/* Children first, because of the foreign keys. */
const char *const maple_sql_tables[] = {
	"corpus",    "samples",	 "findings", "memo",  "runs",
	"campaigns", "programs", "goals",    "sites", "rebuilds",
	"images",    "classes",	 NULL,
};

const int maple_sql_version =
	sizeof(maple_sql_migrations) / sizeof(*maple_sql_migrations);

/* The programs that share $1's executable. */
#define SAME_EXECUTABLE                             \
	"(SELECT id FROM programs WHERE build_id =" \
	" (SELECT build_id FROM programs WHERE id = $1))"

/* Whether one of the programs in the list that follows stands apart. */
#define STANDS_APART \
	"EXISTS(SELECT 1 FROM programs t WHERE t.apart != 0 AND t.id IN "

/* The site in a row of json_each(). */
#define SITE_OF(u) "CAST(" u ".value AS BIGINT)"

/* A truth value as a number. */
#define NUMBER(what) "CASE WHEN " what " THEN 1 ELSE 0 END"

/* Whether goal @i, a number, uses sites in libraries alone. */
#define IN_LIBRARIES(i)                                                            \
	"NOT EXISTS(SELECT 1 FROM goals l, json_each(l.sites) u"                   \
	" JOIN sites s ON s.id = " SITE_OF(                                        \
		"u") " JOIN images g ON g.id = s.image"                            \
		     " JOIN programs e ON e.build_id = g.build_id WHERE l.id = " i \
		     ")"

/* Whether what is known of goal @i, a number, with program holds for $1. */
#define INHERITED(i)                                                           \
	"(NOT " STANDS_APART "(program, $1)) AND (program IN " SAME_EXECUTABLE \
	" OR " IN_LIBRARIES(i) "))"

/* What is known of goal @i, a number, from its rows of memo, for program $1. */
#define STATE(i)                                                                            \
	" coalesce(max(predicted) FILTER (WHERE program = $1), 0),"                         \
	" coalesce(max(max(exposed, observed)) FILTER (WHERE"                               \
	" program = $1 OR " INHERITED(                                                      \
		i) "), 0),"                                                                 \
		   " coalesce(sum(failed) FILTER (WHERE program = $1 OR (NOT " STANDS_APART \
		   "(program, $1)) AND program IN " SAME_EXECUTABLE ")), 0),"               \
		   " coalesce(sum(attempts) FILTER (WHERE program = $1), 0),"               \
		   " coalesce(max(broke) FILTER (WHERE"                                     \
		   " program = $1 OR " INHERITED(i) "), 0)"

/* Whether row @m of memo is of a goal that was exposed at all. */
#define EXPOSED                                                          \
	"(m.broke = 0 AND (m.exposed != 0 OR m.observed != 0 OR"         \
	" EXISTS(SELECT 1 FROM memo o"                                   \
	" WHERE o.goal = m.goal AND (o.exposed != 0 OR o.observed != 0)" \
	" AND o.broke = 0"                                               \
	" AND NOT " STANDS_APART "(o.program, m.program))"               \
	" AND ((SELECT build_id FROM programs WHERE id = o.program) ="   \
	" (SELECT build_id FROM programs WHERE id = m.program)"          \
	" OR " IN_LIBRARIES("m.goal") "))))"

/* The sites of goal i, in the new build where they were found again. */
#define SITES_NOW                                                                 \
	"(SELECT json_group_array(t.site) FROM (SELECT coalesce(c.new, " SITE_OF( \
		"u") ") AS site FROM json_each(i.sites) u"                        \
		     " LEFT JOIN carry_site c ON c.old = " SITE_OF(               \
			     "u") " ORDER BY u.key) t)"

/* Whether goal i uses a site in $1, and all of these are found again. */
#define ALL_FOUND                                                                  \
	"EXISTS(SELECT 1 FROM json_each(i.sites) u JOIN carry_site c"              \
	" ON c.old = " SITE_OF(                                                    \
		"u") ") AND NOT EXISTS(SELECT 1"                                   \
		     " FROM json_each(i.sites) u JOIN sites s ON s.id = " SITE_OF( \
			     "u") " WHERE s.image = $1 AND s.id NOT IN (SELECT old FROM carry_site))"

/* The programs that have image $1 for their executable. */
#define BUILT_AS_OLD                                \
	"(SELECT id FROM programs WHERE build_id =" \
	" (SELECT build_id FROM images WHERE id = $1))"

/*
 * What the marks of a program add up to. A goal counts as failed while it
 * was never exposed.
 */
#define COUNTS                                                    \
	" count(*) FILTER (WHERE m.predicted != 0) AS predicted," \
	" count(*) FILTER (WHERE " EXPOSED ") AS exposed,"        \
	" count(*) FILTER (WHERE m.failed != 0 AND NOT " EXPOSED ") AS failed"

const char *const maple_sql_text[MAPLE_SQL_MAX] = {
	[MAPLE_SQL_CAMPAIGN_BEGIN] =
		"INSERT INTO campaigns(argv, cwd, input, exe, strategy, seed,"
		" version, began, uid, owner, apart, machine, cpu, kernel,"
		" backend)"
		" VALUES($1, $2, $3, $4, $5, $6, $7, unixepoch(), $8,"
		" nullif($9, 0) - 1, $10, $11, $12, $13, $14)"
		" ON CONFLICT(uid) DO UPDATE SET uid = excluded.uid"
		" WHERE campaigns.owner IS NOT DISTINCT FROM excluded.owner"
		" RETURNING id",
	[MAPLE_SQL_CAMPAIGN_RESUME] =
		"SELECT coalesce(program, 0) FROM campaigns WHERE id = $1"
		" AND uid = $2 AND owner = $3 - 1",
	[MAPLE_SQL_CAMPAIGN_DONE] =
		"SELECT answer FROM campaigns WHERE id = $1 AND request = $2",
	[MAPLE_SQL_CAMPAIGN_NOTE] =
		"UPDATE campaigns SET request = $2, answer = $3,"
		" bytes = bytes + $4 WHERE id = $1",
	[MAPLE_SQL_CHARGE] =
		"UPDATE campaigns SET bytes = bytes + $2 WHERE id = $1",
	[MAPLE_SQL_USAGE] = "SELECT bytes FROM usage WHERE owner = $1",
	[MAPLE_SQL_RUN_CAMPAIGN] = "SELECT campaign FROM runs WHERE id = $1",
	[MAPLE_SQL_FOREIGN] =
		"SELECT (SELECT count(*) FROM campaigns"
		" WHERE owner IS DISTINCT FROM $2 - 1 AND program IN " SAME_EXECUTABLE
		") + (SELECT count(*) FROM findings"
		" WHERE owner IS DISTINCT FROM $2 - 1 AND program IN " SAME_EXECUTABLE
		")",
	[MAPLE_SQL_CAMPAIGN_END] = "UPDATE campaigns SET ended = unixepoch(),"
				   " outcome = $2, unobserved = $3, parts = $4"
				   " WHERE id = $1",
	[MAPLE_SQL_PROGRAM] =
		"INSERT INTO programs(build_id, path, input, apart)"
		" SELECT $2, $3, coalesce(input, ''), apart FROM campaigns"
		" WHERE id = $1 ON CONFLICT(build_id, input) DO UPDATE SET"
		" path = excluded.path, apart = max(programs.apart, excluded.apart)"
		" RETURNING id",
	[MAPLE_SQL_CAMPAIGN_PROGRAM] =
		"UPDATE campaigns SET program = $2 WHERE id = $1",

	[MAPLE_SQL_IMAGE_FIND] = "SELECT id FROM images WHERE build_id = $1",
	[MAPLE_SQL_IMAGE_ADD] = "INSERT INTO images(build_id, path)"
				" VALUES($1, $2) RETURNING id",
	[MAPLE_SQL_SITE_FIND] = "SELECT id FROM sites WHERE image = $1"
				" AND \"offset\" = $2 AND is_call = $3",
	[MAPLE_SQL_SITE_ADD] =
		"INSERT INTO sites(image, \"offset\", is_call, function, file,"
		" line, fingerprint) VALUES($1, $2, $3, $4, $5, nullif($6, 0), $7)"
		" RETURNING id",
	[MAPLE_SQL_SITE_PRINT] = "UPDATE sites SET fingerprint = $2"
				 " WHERE id = $1 AND fingerprint IS NULL",
	[MAPLE_SQL_CLASS_FIND] = "SELECT id FROM classes WHERE name = $1",
	[MAPLE_SQL_CLASS_ADD] = "INSERT INTO classes(name) VALUES($1)"
				" RETURNING id",
	[MAPLE_SQL_GOAL_FIND] =
		"SELECT id FROM goals WHERE class = $1 AND kinds = $2"
		" AND sites = $3 AND contexts = $4",
	[MAPLE_SQL_GOAL_ADD] = "INSERT INTO goals(class, kinds, sites, contexts)"
			       " VALUES($1, $2, $3, $4) RETURNING id",

	[MAPLE_SQL_MARK] =
		"INSERT INTO memo(program, goal, predicted, observed, exposed,"
		" failed, attempts, broke) VALUES($1, $2, " NUMBER("$3 = 0") ", " NUMBER("$3 = 1") ", " NUMBER("$3 = 3") ", " NUMBER("$3 = 4") ", " NUMBER("$3 = 2") ", " NUMBER(
			"$3 = 5") ")"
				  " ON CONFLICT(program, goal) DO UPDATE SET"
				  " predicted = " NUMBER(
					  "$3 = 0 OR memo.predicted != 0") ","
									   " observed = " NUMBER(
										   "$3 = 1 OR memo.observed != 0") ","
														   " exposed = " NUMBER(
															   "$3 = 3 OR memo.exposed != 0") ","
																			  " failed = memo.failed + " NUMBER(
																				  "$3 = 4") ","
																					    " attempts = memo.attempts + " NUMBER(
																						    "$3 = 2") ","
																							      " broke = " NUMBER(
																								      "$3 = 5 OR (memo.broke != 0 AND $3 != 6)"),
	[MAPLE_SQL_STATE] = "SELECT " STATE("$2") " FROM memo WHERE goal = $2",
	/* The same of several, the list $2, in its order. */
	[MAPLE_SQL_STATES] = "SELECT " STATE(
		"memo.goal") " FROM json_each($2) j LEFT JOIN memo"
			     " ON memo.goal = CAST(j.value AS BIGINT) GROUP BY j.key"
			     " ORDER BY j.key",

	[MAPLE_SQL_RUN_BEGIN] =
		"INSERT INTO runs(campaign, kind, goal, plan, seed, attempt,"
		" flip, began) VALUES($1, $2, nullif($3, 0), $4, $5, $6, $7,"
		" unixepoch()) RETURNING id",
	/* The same, with a number that was given to us before. */
	[MAPLE_SQL_RUN_BEGIN_AS] =
		"INSERT INTO runs(campaign, kind, goal, plan, seed, attempt,"
		" flip, began, id) VALUES($1, $2, nullif($3, 0), $4, $5, $6, $7,"
		" unixepoch(), $8)",
	[MAPLE_SQL_RUN_END] =
		"UPDATE runs SET ended = unixepoch(), verdict = $2,"
		" signo = $3, status = $4, seconds = $5, cpu_seconds = $6,"
		" delivered = $7, exposed = $8, claimed = $9,"
		" reason = $10, rested = $11,"
		" news = $12"
		" WHERE id = $1",

	[MAPLE_SQL_FINDING_STORE] =
		"INSERT INTO findings(owner, id, program, campaign, json,"
		" first_seen, last_seen, times_seen,"
		" machine, cpu, kernel, backend, level) SELECT"
		" coalesce(owner, $5), $1, program, $2, $3, $4, $4, 1,"
		" machine, cpu, kernel, backend, $6"
		" FROM campaigns WHERE id = $2"
		" ON CONFLICT(owner, id) DO UPDATE SET program = excluded.program,"
		" campaign = excluded.campaign, json = excluded.json,"
		" last_seen = excluded.last_seen,"
		" times_seen = findings.times_seen + " NUMBER(
			"findings.campaign IS DISTINCT FROM excluded.campaign"),
	[MAPLE_SQL_FINDING_FIND] =
		"SELECT json, first_seen, times_seen, whose(owner),"
		" machine, cpu, kernel, backend, id"
		" FROM findings WHERE substr(id, 1, length($1)) = $1"
		" AND $2 IN (-1, whose(owner)) ORDER BY id != $1 LIMIT 2",
	[MAPLE_SQL_FINDINGS] =
		"SELECT json, first_seen, times_seen, whose(owner),"
		" machine, cpu, kernel, backend"
		" FROM findings WHERE $1 = 0 OR program = $1 ORDER BY first_seen, rowid",
	/* Of this build, of older ones, and of what has its name elsewhere. */
	[MAPLE_SQL_FINDINGS_KNOWN] =
		"SELECT f.json, f.first_seen, f.times_seen, whose(f.owner),"
		" f.machine, f.cpu, f.kernel, f.backend"
		" FROM findings f"
		" JOIN programs q ON q.id = f.program JOIN programs p"
		" ON p.id = $1 AND f.level = 0"
		" AND q.input = p.input AND (q.id = p.id OR"
		" replace(q.path, rtrim(q.path, replace(q.path, '/', '')), '')"
		" = replace(p.path, rtrim(p.path, replace(p.path, '/', '')),"
		" '')) ORDER BY q.id != p.id, f.first_seen, f.rowid",
	[MAPLE_SQL_FINDING_FORGET] = "DELETE FROM findings WHERE id = $1"
				     " AND $2 IN (owner, whose(owner))",

	[MAPLE_SQL_CORPUS_KEEP] =
		"INSERT INTO corpus(program, owner, strategy, at, text)"
		" SELECT program, coalesce(owner, $2), $3, unixepoch(), $4"
		" FROM campaigns WHERE id = $1 AND program IS NOT NULL"
		" ON CONFLICT(program, owner, strategy) DO UPDATE SET"
		" at = excluded.at, text = excluded.text RETURNING program",
	/* Of this build, else of the one that kept last. */
	[MAPLE_SQL_CORPUS_RECALL] =
		"SELECT x.text FROM campaigns c"
		" JOIN programs p ON p.id = c.program JOIN programs q"
		" ON q.id = p.id OR (q.path = p.path AND q.input = p.input)"
		" JOIN corpus x ON x.program = q.id"
		" WHERE c.id = $1 AND x.strategy = $2"
		" AND whose(x.owner) = coalesce(c.owner, $3)"
		" AND octet_length(x.text) < $4"
		" ORDER BY q.id != p.id, x.at DESC, x.rowid DESC LIMIT 1",

	[MAPLE_SQL_REACHED] =
		"SELECT x.text FROM corpus x WHERE x.strategy = $2"
		" AND x.program IN " SAME_EXECUTABLE
		" AND octet_length(x.text) < $3"
		" UNION ALL SELECT t.text FROM (SELECT DISTINCT '{\"class\":' ||"
		" json_quote(k.name) || ',\"forced\":' || (SELECT"
		" json_group_array(o.place) FROM (SELECT CASE WHEN s.is_call != 0"
		" OR g.build_id != (SELECT build_id FROM programs WHERE id = $1)"
		" THEN -1 ELSE s.\"offset\" END AS place FROM json_each(i.sites) u"
		" JOIN sites s ON s.id = " SITE_OF(
			"u") " JOIN images g ON g.id = s.image ORDER BY u.key) o) || '}' AS text"
			     " FROM memo m JOIN goals i ON i.id = m.goal"
			     " JOIN classes k ON k.id = i.class"
			     " WHERE (m.exposed != 0 OR m.observed != 0)"
			     " AND m.broke = 0 AND m.program IN " SAME_EXECUTABLE
			     " LIMIT 100000) t"
			     /* What fails is no exposed goal, and was an order
				all the same. */
			     " UNION ALL SELECT t.text FROM (SELECT '{\"found\":[' || (SELECT"
			     " group_concat(o.moment) FROM (SELECT '[' ||"
			     " coalesce(json_extract(j.value, '$.event'), 'null') || ',' ||"
			     " coalesce(json_extract(j.value, '$.from'), 'null') || ',' ||"
			     " CASE WHEN json_extract(j.value, '$.build_id') = (SELECT build_id"
			     " FROM programs WHERE id = $1) THEN"
			     " coalesce(json_quote(json_extract(j.value, '$.offset')), 'null')"
			     " ELSE 'null' END || ']' AS moment"
			     " FROM json_each(json_extract(f.json, '$.moments')) j"
			     " WHERE j.type = 'object' ORDER BY j.key) o) || ']}' AS text"
			     " FROM findings f WHERE json_valid(f.json)"
			     " AND f.level = 0"
			     " AND f.program IN " SAME_EXECUTABLE
			     " LIMIT 1000) t"
			     " WHERE t.text IS NOT NULL",

	[MAPLE_SQL_SAMPLE] =
		"INSERT INTO samples(run, class, predicted, exposed, failed,"
		" \"left\", barred) VALUES($1, $2, $3, $4, $5, $6, $7)",
	[MAPLE_SQL_SAMPLES] =
		"SELECT s.run, k.name, s.predicted, s.exposed, s.failed,"
		" s.\"left\", s.barred FROM samples s JOIN runs r ON r.id = s.run"
		" JOIN campaigns c ON c.id = r.campaign"
		" JOIN classes k ON k.id = s.class"
		/* Confirming runs cannot add to it: no part of the curve. */
		" WHERE c.program = $1 AND s.run >= $2 AND r.kind"
		" NOT IN ('baseline', 'confirm') ORDER BY s.run, s.class",
	/* What the last campaign left is what its last run left. */
	[MAPLE_SQL_COVERAGE] =
		"SELECT 0, k.name, t.predicted, t.exposed, t.failed, s.\"left\","
		" s.barred FROM classes k LEFT JOIN"
		" (SELECT g.class," COUNTS " FROM memo m"
		" JOIN goals g ON g.id = m.goal WHERE m.program = $1"
		" GROUP BY g.class) t ON t.class = k.id"
		" LEFT JOIN samples s ON s.class = k.id AND s.run ="
		" (SELECT max(s.run) FROM samples s JOIN runs r ON r.id = s.run"
		" JOIN campaigns c ON c.id = r.campaign WHERE c.program = $1)"
		" WHERE t.class IS NOT NULL OR s.class IS NOT NULL ORDER BY k.id",
	[MAPLE_SQL_PROGRAMS] =
		"SELECT p.id, p.build_id, p.path, p.input,"
		" (SELECT count(*) FROM campaigns c WHERE c.program = p.id),"
		" (SELECT count(*) FROM runs r JOIN campaigns c"
		"  ON c.id = r.campaign WHERE c.program = p.id),"
		" (SELECT count(*) FROM findings f WHERE f.program = p.id"
		"  AND f.level = 0),"
		" (SELECT coalesce(max(coalesce(ended, began)), 0)"
		"  FROM campaigns c WHERE c.program = p.id) AS used,"
		" (SELECT c.unobserved FROM campaigns c WHERE c.program = p.id"
		"  AND c.ended IS NOT NULL ORDER BY c.ended DESC, c.id DESC"
		"  LIMIT 1) FROM programs p ORDER BY used DESC, p.id DESC",

	/* By what findings may depend on; who is unknown comes last. */
	[MAPLE_SQL_MACHINE_COUNT] =
		"SELECT count(DISTINCT machine) FROM campaigns",
	[MAPLE_SQL_MACHINES] =
		"SELECT c.machine, c.cpu, c.kernel, c.backend, count(*),"
		" coalesce(sum(r.runs), 0), coalesce(sum(r.news), 0),"
		" (SELECT count(*) FROM findings f"
		" WHERE f.machine IS NOT DISTINCT FROM c.machine"
		" AND f.cpu IS NOT DISTINCT FROM c.cpu"
		" AND f.kernel IS NOT DISTINCT FROM c.kernel"
		" AND f.backend IS NOT DISTINCT FROM c.backend"
		" AND f.level = 0),"
		" max(coalesce(r.heard, c.ended, c.began))"
		" FROM campaigns c LEFT JOIN (SELECT campaign,"
		" count(*) AS runs, sum(news) AS news,"
		" max(coalesce(ended, began)) AS heard FROM runs"
		" GROUP BY campaign) r ON r.campaign = c.id"
		" GROUP BY c.machine, c.cpu, c.kernel, c.backend"
		" ORDER BY c.machine IS NULL, c.machine, c.cpu, c.kernel,"
		" c.backend",
	[MAPLE_SQL_HOURS] =
		"SELECT t.since, sum(t.runs), sum(t.news), sum(t.findings)"
		" FROM (SELECT began - began % 3600 AS since,"
		" count(*) AS runs, coalesce(sum(news), 0) AS news,"
		" 0 AS findings FROM runs GROUP BY 1 UNION ALL"
		" SELECT first_seen - first_seen % 3600, 0, 0, count(*)"
		" FROM findings WHERE level = 0 GROUP BY 1) t GROUP BY t.since"
		" ORDER BY t.since",

	/* What a client has stored may be anything; it is no error. */
	[MAPLE_SQL_PARTS] =
		"SELECT json_extract(j.value, '$.name'),"
		" json_extract(j.value, '$.runs'),"
		" json_extract(j.value, '$.news'),"
		" json_extract(j.value, '$.findings'),"
		" json_extract(j.value, '$.seconds') FROM campaigns c,"
		" json_each(CASE WHEN json_valid(c.parts) THEN c.parts"
		" ELSE '[]' END) j WHERE c.program = $1 AND j.type = 'object'"
		" ORDER BY c.id, j.key",

	[MAPLE_SQL_FORGET_MEMO] =
		"DELETE FROM memo WHERE program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_CORPUS] =
		"DELETE FROM corpus WHERE program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_FINDINGS] =
		"DELETE FROM findings WHERE program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_CAMPAIGNS] = "DELETE FROM campaigns WHERE id != $2"
				       " AND program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_PROGRAMS] =
		"DELETE FROM programs WHERE id IN " SAME_EXECUTABLE
		" AND id NOT IN (SELECT program FROM campaigns"
		" WHERE program IS NOT NULL)",

	/*
	 * What was exposed unforced may be forced later, which is no try. Nor
	 * did the scheduler try what a controlled run was for.
	 */
	[MAPLE_SQL_SUCCESS] =
		"SELECT k.name, m.exposed, (SELECT r.reason FROM runs r"
		" JOIN campaigns c ON c.id = r.campaign"
		" WHERE r.goal = m.goal AND c.program = m.program"
		" AND r.kind = 'enforced' AND r.reason IS DISTINCT FROM 'exposed'"
		" ORDER BY r.id DESC LIMIT 1) AS why,"
		" (SELECT min(coalesce(r.rested, 0)) FROM runs r"
		" JOIN campaigns c ON c.id = r.campaign"
		" WHERE r.goal = m.goal AND c.program = m.program"
		" AND r.kind = 'enforced') AS rested,"
		" count(*) FROM memo m JOIN goals g ON g.id = m.goal"
		" JOIN classes k ON k.id = g.class"
		" WHERE m.program = $1 AND m.attempts != 0"
		" AND NOT EXISTS(SELECT 1 FROM runs r"
		" JOIN campaigns c ON c.id = r.campaign"
		" WHERE r.goal = m.goal AND c.program = m.program"
		" AND r.kind = 'controlled' AND r.attempt != 0)"
		" GROUP BY k.id, 2, 3, 4",
	[MAPLE_SQL_CLAIMS] = "SELECT count(*) FILTER (WHERE r.claimed != 0),"
			     " count(*) FILTER (WHERE r.reason = 'refused')"
			     " FROM runs r JOIN campaigns c ON c.id = r.campaign"
			     " WHERE c.program = $1 AND r.kind = 'enforced'",

	[MAPLE_SQL_OLDER] =
		"SELECT id FROM images WHERE path = $2 AND id != $1"
		" AND id NOT IN (SELECT old FROM rebuilds WHERE new = $1)"
		" ORDER BY id DESC LIMIT 1",
	[MAPLE_SQL_NAMESAKE] =
		"SELECT id FROM images WHERE id != $1"
		" AND substr(path, length(path) - length($3) + 1) = $3"
		" AND NOT EXISTS(SELECT 1 FROM images"
		"  WHERE path = $2 AND id != $1)"
		" AND id NOT IN (SELECT old FROM rebuilds WHERE new = $1)"
		" ORDER BY id DESC LIMIT 1",
	[MAPLE_SQL_CARRY_SITES] =
		"SELECT id, is_call, fingerprint FROM sites WHERE image = $1"
		" AND fingerprint IS NOT NULL",
	[MAPLE_SQL_CARRY_SITE] =
		"INSERT INTO carry_site(old, new) SELECT id, $2 FROM sites"
		" WHERE id = $1 AND image = $3 ON CONFLICT DO NOTHING",
	[MAPLE_SQL_CARRY_MAKE] =
		"INSERT INTO goals(class, kinds, sites, contexts)"
		" SELECT i.class, i.kinds, " SITES_NOW ", i.contexts"
		" FROM goals i WHERE " ALL_FOUND " ON CONFLICT DO NOTHING",
	[MAPLE_SQL_CARRY_GOALS] =
		"INSERT INTO carry_goal(old, new) SELECT i.id, n.id FROM goals i"
		" JOIN goals n ON n.class = i.class AND n.kinds = i.kinds"
		" AND n.contexts = i.contexts AND n.sites = " SITES_NOW
		" WHERE " ALL_FOUND,
	[MAPLE_SQL_CARRY_LIBRARIES] =
		"INSERT INTO carry_goal(old, new)"
		" SELECT i.id, i.id FROM goals i WHERE i.id IN"
		" (SELECT goal FROM memo WHERE program IN " BUILT_AS_OLD ")"
		" AND NOT EXISTS(SELECT 1 FROM json_each(i.sites) u"
		" JOIN sites s ON s.id = " SITE_OF(
			"u") " WHERE s.image = $1)"
			     " ON CONFLICT DO NOTHING",
	[MAPLE_SQL_CARRY_PROGRAMS] =
		"INSERT INTO programs(build_id, input, path, apart)"
		" SELECT g.build_id, p.input, g.path, p.apart FROM programs p"
		" JOIN images g ON g.id = $2 WHERE p.id IN " BUILT_AS_OLD
		" AND EXISTS(SELECT 1 FROM memo m JOIN carry_goal c"
		"  ON c.old = m.goal WHERE m.program = p.id)"
		" ON CONFLICT DO NOTHING",
	[MAPLE_SQL_CARRY_COUNT] =
		"SELECT count(DISTINCT m.goal) FROM memo m JOIN carry_goal c"
		" ON c.old = m.goal AND c.old != c.new"
		" WHERE m.exposed != 0 OR m.observed != 0"
		" OR m.attempts != 0",
	[MAPLE_SQL_CARRY_MARKS] =
		"INSERT INTO memo(program, goal, predicted, observed,"
		" exposed, failed, attempts, broke) SELECT"
		" coalesce(q.id, p.id), c.new," MAPLE_SQL_BEST_MARKS(
			"m") " FROM memo m JOIN carry_goal c ON c.old = m.goal"
			     " JOIN programs p ON p.id = m.program LEFT JOIN programs q"
			     " ON p.id IN " BUILT_AS_OLD " AND q.input = p.input"
			     " AND q.build_id = (SELECT build_id FROM images WHERE id = $2)"
			     " WHERE coalesce(q.id, p.id) != p.id OR c.old != c.new"
			     " GROUP BY 1, 2"
			     " ON CONFLICT(program, goal) DO UPDATE SET" MAPLE_SQL_UNION_OF_MARKS,
	/* What uses the image goes on with the new one. */
	[MAPLE_SQL_CARRY_LEAVE] =
		"DELETE FROM memo WHERE goal IN (SELECT old FROM carry_goal"
		" WHERE old != new) AND program NOT IN " BUILT_AS_OLD,
	[MAPLE_SQL_CARRY_DONE] = "INSERT INTO rebuilds VALUES($1, $2)"
				 " ON CONFLICT DO NOTHING",
};
