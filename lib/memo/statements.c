// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The schema and every statement. A new version of the schema is one more
 * entry of maple_sql_migrations; those that were released never change.
 *
 * An unused event of an iRoot has site 0. A program is an executable (by
 * build-id) with one input ('' if none was named): attempts are counted for
 * each input, exposure and failures hold for the executable.
 */
#include "memo/sql.h"

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
	"CREATE INDEX runs_iroot ON runs(iroot);",
};

const int maple_sql_version =
	sizeof(maple_sql_migrations) / sizeof(*maple_sql_migrations);

/* The programs that share ?1's executable. */
#define SAME_EXECUTABLE                             \
	"(SELECT id FROM programs WHERE build_id =" \
	" (SELECT build_id FROM programs WHERE id = ?1))"

/*
 * What the marks of a program add up to. An iRoot counts as failed while it
 * was never exposed.
 */
#define COUNTS                                               \
	" count(*) FILTER (WHERE m.predicted),"              \
	" count(*) FILTER (WHERE m.exposed OR m.observed),"  \
	" count(*) FILTER (WHERE m.failed AND NOT m.exposed" \
	" AND NOT m.observed)"

const char *const maple_sql_text[MAPLE_SQL_MAX] = {
	[MAPLE_SQL_BEGIN] = "BEGIN IMMEDIATE",
	[MAPLE_SQL_COMMIT] = "COMMIT",
	[MAPLE_SQL_ROLLBACK] = "ROLLBACK",

	[MAPLE_SQL_CAMPAIGN_BEGIN] =
		"INSERT INTO campaigns(argv, cwd, input, exe, strategy, seed,"
		" version, began, uid) VALUES(?, ?, ?, ?, ?, ?, ?,"
		" unixepoch(), lower(hex(randomblob(16))))"
		" RETURNING id",
	[MAPLE_SQL_CAMPAIGN_END] = "UPDATE campaigns SET ended = unixepoch(),"
				   " outcome = ?2 WHERE id = ?1",
	[MAPLE_SQL_PROGRAM] =
		"INSERT INTO programs(build_id, path, input) VALUES(?2, ?3,"
		" (SELECT coalesce(input, '') FROM campaigns WHERE id = ?1))"
		" ON CONFLICT(build_id, input) DO UPDATE SET"
		" path = excluded.path RETURNING id",
	[MAPLE_SQL_CAMPAIGN_PROGRAM] =
		"UPDATE campaigns SET program = ?2 WHERE id = ?1",

	[MAPLE_SQL_IMAGE_FIND] = "SELECT id FROM images WHERE build_id = ?",
	[MAPLE_SQL_IMAGE_ADD] = "INSERT INTO images(build_id, path)"
				" VALUES(?, ?) RETURNING id",
	[MAPLE_SQL_SITE_FIND] = "SELECT id FROM sites WHERE image = ?"
				" AND offset = ? AND is_call = ?",
	[MAPLE_SQL_SITE_ADD] =
		"INSERT INTO sites(image, offset, is_call, function, file,"
		" line, fingerprint) VALUES(?, ?, ?, ?, ?, nullif(?, 0), ?)"
		" RETURNING id",
	[MAPLE_SQL_SITE_PRINT] = "UPDATE sites SET fingerprint = ?2"
				 " WHERE id = ?1 AND fingerprint IS NULL",
	[MAPLE_SQL_IROOT_FIND] =
		"SELECT id FROM iroots WHERE idiom = ? AND kinds = ?"
		" AND site0 = ? AND site1 = ? AND site2 = ? AND site3 = ?",
	[MAPLE_SQL_IROOT_ADD] =
		"INSERT INTO iroots(idiom, kinds, site0, site1, site2, site3)"
		" VALUES(?, ?, ?, ?, ?, ?) RETURNING id",

	[MAPLE_SQL_MARK] =
		"INSERT INTO memo(program, iroot, predicted, observed, exposed,"
		" failed, attempts) VALUES(?1, ?2, ?3 = 0, ?3 = 1, ?3 = 3,"
		" ?3 = 4, ?3 = 2) ON CONFLICT(program, iroot) DO UPDATE SET"
		" predicted = predicted OR ?3 = 0,"
		" observed = observed OR ?3 = 1,"
		" exposed = exposed OR ?3 = 3,"
		" failed = failed + (?3 = 4),"
		" attempts = attempts + (?3 = 2)",
	[MAPLE_SQL_STATE] =
		"SELECT coalesce(max(predicted), 0),"
		" coalesce(max(exposed OR observed), 0),"
		" coalesce(sum(failed), 0),"
		" coalesce(sum(attempts) FILTER (WHERE program = ?1), 0)"
		" FROM memo WHERE iroot = ?2 AND program IN " SAME_EXECUTABLE,

	[MAPLE_SQL_RUN_BEGIN] =
		"INSERT INTO runs(campaign, kind, iroot, plan, seed, attempt,"
		" flip, began) VALUES(?, ?, nullif(?, 0), ?, ?, ?, ?,"
		" unixepoch()) RETURNING id",
	[MAPLE_SQL_RUN_END] =
		"UPDATE runs SET ended = unixepoch(), verdict = ?2,"
		" signo = ?3, status = ?4, seconds = ?5, cpu_seconds = ?6,"
		" delivered = ?7, exposed = ?8, claimed = ?9,"
		" reason = ?10 WHERE id = ?1",

	[MAPLE_SQL_FINDING_STORE] =
		"INSERT INTO findings(id, program, campaign, json, first_seen,"
		" last_seen, times_seen) VALUES(?1,"
		" (SELECT program FROM campaigns WHERE id = ?2), ?2, ?3,"
		" ?4, ?4, 1)"
		" ON CONFLICT(id) DO UPDATE SET program = excluded.program,"
		" campaign = excluded.campaign, json = excluded.json,"
		" last_seen = excluded.last_seen, times_seen = times_seen +"
		" (campaign IS NOT excluded.campaign)",
	[MAPLE_SQL_FINDING_FIND] =
		"SELECT json, first_seen, times_seen, id FROM findings"
		" WHERE substr(id, 1, length(?1)) = ?1"
		" ORDER BY id != ?1 LIMIT 2",
	[MAPLE_SQL_FINDINGS] =
		"SELECT json, first_seen, times_seen FROM findings"
		" WHERE ?1 = 0 OR program = ?1 ORDER BY first_seen, rowid",
	[MAPLE_SQL_FINDING_FORGET] = "DELETE FROM findings WHERE id = ?",

	[MAPLE_SQL_SAMPLE] =
		"INSERT INTO samples(run, idiom, predicted, exposed, failed)"
		" VALUES(?, ?, ?, ?, ?)",
	[MAPLE_SQL_SAMPLES] =
		"SELECT s.run, s.idiom, s.predicted, s.exposed, s.failed"
		" FROM samples s JOIN runs r ON r.id = s.run"
		" JOIN campaigns c ON c.id = r.campaign"
		/* Confirming runs cannot add to it: no part of the curve. */
		" WHERE c.program = ?1 AND s.run >= ?2"
		" AND r.kind NOT IN ('baseline', 'confirm') ORDER BY s.run",
	[MAPLE_SQL_COVERAGE] =
		"SELECT i.idiom," COUNTS " FROM memo m"
		" JOIN iroots i ON i.id = m.iroot WHERE m.program = ?"
		" GROUP BY i.idiom",
	[MAPLE_SQL_PROGRAMS] =
		"SELECT p.id, p.build_id, p.path, p.input,"
		" (SELECT count(*) FROM campaigns c WHERE c.program = p.id),"
		" (SELECT count(*) FROM runs r JOIN campaigns c"
		"  ON c.id = r.campaign WHERE c.program = p.id),"
		" (SELECT count(*) FROM findings f WHERE f.program = p.id),"
		" (SELECT coalesce(max(coalesce(ended, began)), 0)"
		"  FROM campaigns c WHERE c.program = p.id) AS used,"
		" (SELECT count(*) FROM memo m WHERE m.program = p.id"
		"  AND m.predicted AND NOT m.exposed AND NOT m.observed)"
		" FROM programs p ORDER BY used DESC, p.id DESC",

	[MAPLE_SQL_FORGET_MEMO] =
		"DELETE FROM memo WHERE program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_FINDINGS] =
		"DELETE FROM findings WHERE program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_CAMPAIGNS] = "DELETE FROM campaigns WHERE id != ?2"
				       " AND program IN " SAME_EXECUTABLE,
	[MAPLE_SQL_FORGET_PROGRAMS] =
		"DELETE FROM programs WHERE id IN " SAME_EXECUTABLE
		" AND id NOT IN (SELECT program FROM campaigns"
		" WHERE program IS NOT NULL)",

	[MAPLE_SQL_CHECK] = "PRAGMA integrity_check(1)",
};
