// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The memo's tables in PostgreSQL, in a schema of their own, and there what
 * PostgreSQL has under other names than the memo's statements (statements.c).
 * It begins with version 13, what SQLite's migrations lead to; each later
 * version is a migration for either.
 *
 * A row's number comes from a sequence, unless a session says which one it is
 * to get: in a transaction that is done once more after the connection was
 * lost, rows keep the numbers that have been told already (journal.c).
 */
#include <stddef.h>
#include "memo/postgres/schema.h"

/* clang-format off */
#define ID(table) "id BIGINT PRIMARY KEY DEFAULT number('" table "_id')"
#define SEQUENCE(table) "CREATE SEQUENCE " table "_id;"

const char maple_pg_schema[] =
	"CREATE SCHEMA IF NOT EXISTS maple;"
	"CREATE TABLE about(version BIGINT NOT NULL);"
	"INSERT INTO about VALUES(13);"
	/* What the last transaction of a connection was. */
	"CREATE TABLE clients(name TEXT PRIMARY KEY, serial BIGINT NOT NULL,"
	" at BIGINT NOT NULL);"

	/* A sequence may have forgotten what it gave just before a crash. */
	"CREATE FUNCTION numbered(sequence regclass, wanted BIGINT)"
	" RETURNS BIGINT LANGUAGE plpgsql VOLATILE AS $f$ BEGIN"
	" WHILE nextval(sequence) < wanted LOOP END LOOP;"
	" RETURN wanted; END $f$;"
	"CREATE FUNCTION number(sequence regclass) RETURNS BIGINT"
	" LANGUAGE sql VOLATILE AS $f$ SELECT CASE"
	" WHEN coalesce(current_setting('maple.id', true), '') = ''"
	" THEN nextval(sequence) ELSE numbered(sequence,"
	" current_setting('maple.id')::BIGINT) END $f$;"
	"CREATE FUNCTION unixepoch() RETURNS BIGINT LANGUAGE sql VOLATILE AS"
	" $f$ SELECT floor(extract(epoch FROM clock_timestamp()))::BIGINT $f$;"
	/* Whoever may write here may write anything: each is believed. */
	"CREATE FUNCTION whose(owner BIGINT) RETURNS BIGINT"
	" LANGUAGE sql IMMUTABLE AS $f$ SELECT owner $f$;"
	"CREATE FUNCTION max(a BIGINT, b BIGINT) RETURNS BIGINT"
	" LANGUAGE sql IMMUTABLE AS $f$ SELECT CASE WHEN a IS NULL OR b IS NULL"
	" THEN NULL ELSE greatest(a, b) END $f$;"
	"CREATE FUNCTION min(a BIGINT, b BIGINT) RETURNS BIGINT"
	" LANGUAGE sql IMMUTABLE AS $f$ SELECT CASE WHEN a IS NULL OR b IS NULL"
	" THEN NULL ELSE least(a, b) END $f$;"
	"CREATE FUNCTION json_valid(TEXT) RETURNS BOOLEAN"
	" LANGUAGE plpgsql IMMUTABLE STRICT AS"
	" $f$ BEGIN PERFORM $1::json; RETURN true;"
	" EXCEPTION WHEN OTHERS THEN RETURN false; END $f$;"
	"CREATE FUNCTION json_extract(TEXT, TEXT) RETURNS TEXT"
	" LANGUAGE plpgsql IMMUTABLE STRICT AS"
	" $f$ BEGIN RETURN $1::json ->> substr($2, 3);"
	" EXCEPTION WHEN OTHERS THEN RETURN NULL; END $f$;"
	/* Of an array alone. */
	"CREATE FUNCTION json_each(TEXT)"
	" RETURNS TABLE(key BIGINT, type TEXT, value TEXT)"
	" LANGUAGE sql IMMUTABLE AS"
	" $f$ SELECT e.n - 1, json_typeof(e.v), e.v::TEXT"
	" FROM json_array_elements(CASE WHEN json_typeof($1::json) = 'array'"
	" THEN $1::json ELSE '[]'::json END) WITH ORDINALITY e(v, n) $f$;"
	"CREATE FUNCTION json_numbers(numbers BIGINT[]) RETURNS TEXT"
	" LANGUAGE sql IMMUTABLE AS"
	" $f$ SELECT '[' || array_to_string(numbers, ',') || ']' $f$;"
	"CREATE AGGREGATE json_group_array(BIGINT)(SFUNC = array_append,"
	" STYPE = BIGINT[], FINALFUNC = json_numbers, INITCOND = '{}');"

	"CREATE FUNCTION json_quote(TEXT) RETURNS TEXT"
	" LANGUAGE sql IMMUTABLE AS $f$ SELECT to_json($1)::TEXT $f$;"
	"CREATE FUNCTION joined(words TEXT[]) RETURNS TEXT"
	" LANGUAGE sql IMMUTABLE AS $f$ SELECT array_to_string(words, ',') $f$;"
	"CREATE AGGREGATE group_concat(TEXT)(SFUNC = array_append,"
	" STYPE = TEXT[], FINALFUNC = joined);"

	SEQUENCE("images") SEQUENCE("sites") SEQUENCE("classes")
	SEQUENCE("goals") SEQUENCE("programs") SEQUENCE("campaigns")
	SEQUENCE("runs")
	"CREATE TABLE images(" ID("images") ","
	" build_id TEXT NOT NULL UNIQUE, path TEXT);"
	"CREATE INDEX images_path ON images USING hash(path);"
	"CREATE TABLE sites(" ID("sites") ","
	" image BIGINT NOT NULL REFERENCES images,"
	" \"offset\" BIGINT NOT NULL, is_call BIGINT NOT NULL, function TEXT,"
	" file TEXT, line BIGINT, fingerprint TEXT,"
	" UNIQUE(image, \"offset\", is_call));"
	"CREATE TABLE classes(" ID("classes") ", name TEXT NOT NULL UNIQUE);"
	"INSERT INTO classes(name) VALUES('idiom 1'), ('idiom 2'),"
	" ('idiom 3'), ('idiom 4'), ('idiom 5'), ('idiom 6'), ('deadlock');"
	"CREATE TABLE goals(" ID("goals") ","
	" class BIGINT NOT NULL REFERENCES classes, kinds TEXT NOT NULL,"
	" sites TEXT NOT NULL, contexts TEXT NOT NULL,"
	" UNIQUE(sites, class, kinds, contexts));"
	"CREATE TABLE programs(" ID("programs") ", build_id TEXT NOT NULL,"
	" input TEXT NOT NULL, path TEXT, apart BIGINT NOT NULL DEFAULT 0,"
	" UNIQUE(build_id, input));"
	"CREATE TABLE memo("
	" program BIGINT NOT NULL REFERENCES programs ON DELETE CASCADE,"
	" goal BIGINT NOT NULL REFERENCES goals,"
	" predicted BIGINT NOT NULL, observed BIGINT NOT NULL,"
	" exposed BIGINT NOT NULL, failed BIGINT NOT NULL,"
	" attempts BIGINT NOT NULL, broke BIGINT NOT NULL DEFAULT 0,"
	" PRIMARY KEY(program, goal));"
	"CREATE INDEX memo_goal ON memo(goal);"
	"CREATE TABLE campaigns(" ID("campaigns") ","
	" program BIGINT REFERENCES programs ON DELETE CASCADE,"
	" argv TEXT NOT NULL, cwd TEXT, input TEXT, exe TEXT, strategy TEXT,"
	" seed BIGINT NOT NULL, version TEXT, began BIGINT NOT NULL,"
	" ended BIGINT, outcome TEXT, uid TEXT UNIQUE, owner BIGINT,"
	" request BIGINT, answer BIGINT, apart BIGINT NOT NULL DEFAULT 0,"
	" unobserved TEXT, bytes BIGINT NOT NULL DEFAULT 0, parts TEXT);"
	"CREATE INDEX campaigns_program ON campaigns(program);"
	"CREATE TABLE runs(" ID("runs") ","
	" campaign BIGINT NOT NULL REFERENCES campaigns ON DELETE CASCADE,"
	" kind TEXT NOT NULL, goal BIGINT REFERENCES goals, plan TEXT,"
	" seed BIGINT NOT NULL, attempt BIGINT NOT NULL,"
	" flip BIGINT NOT NULL, began BIGINT NOT NULL, ended BIGINT,"
	" verdict TEXT, signo BIGINT, status BIGINT, seconds DOUBLE PRECISION,"
	" cpu_seconds DOUBLE PRECISION, delivered BIGINT, exposed BIGINT,"
	" claimed BIGINT, reason TEXT, rested BIGINT);"
	"CREATE INDEX runs_campaign ON runs(campaign);"
	"CREATE INDEX runs_goal ON runs(goal);"
	"CREATE TABLE samples("
	" run BIGINT NOT NULL REFERENCES runs ON DELETE CASCADE,"
	" class BIGINT NOT NULL, predicted BIGINT NOT NULL,"
	" exposed BIGINT NOT NULL, failed BIGINT NOT NULL,"
	" \"left\" BIGINT NOT NULL DEFAULT 0,"
	" barred BIGINT NOT NULL DEFAULT 0, PRIMARY KEY(run, class));"
	"CREATE TABLE rebuilds(old BIGINT NOT NULL REFERENCES images,"
	" new BIGINT NOT NULL REFERENCES images, PRIMARY KEY(old, new));"
	"CREATE TABLE findings(owner BIGINT NOT NULL, id TEXT NOT NULL,"
	" program BIGINT REFERENCES programs ON DELETE CASCADE,"
	" campaign BIGINT REFERENCES campaigns ON DELETE SET NULL,"
	" json TEXT NOT NULL, first_seen BIGINT NOT NULL,"
	" last_seen BIGINT NOT NULL, times_seen BIGINT NOT NULL,"
	" rowid BIGINT GENERATED BY DEFAULT AS IDENTITY,"
	" PRIMARY KEY(owner, id));"
	"CREATE INDEX findings_id ON findings(id);"
	"CREATE INDEX findings_program ON findings(program);"
	"CREATE TABLE corpus("
	" program BIGINT NOT NULL REFERENCES programs ON DELETE CASCADE,"
	" owner BIGINT NOT NULL, strategy TEXT NOT NULL, at BIGINT NOT NULL,"
	" text TEXT NOT NULL, rowid BIGINT GENERATED BY DEFAULT AS IDENTITY,"
	" PRIMARY KEY(program, owner, strategy));"

	/* What SQLite keeps by triggers. */
	"CREATE VIEW usage AS SELECT t.owner, sum(t.bytes)::BIGINT AS bytes"
	" FROM (SELECT coalesce(owner, -1) AS owner, bytes FROM campaigns"
	" UNION ALL SELECT owner, 256 + octet_length(json) FROM findings"
	" UNION ALL SELECT owner, 256 + octet_length(strategy)"
	" + octet_length(text) FROM corpus) t GROUP BY t.owner;"
	"CREATE RULE usage_none AS ON DELETE TO usage DO INSTEAD NOTHING";
/* clang-format on */

/* clang-format off */
const char *const maple_pg_migrations[] = {
	/* 14: which memo it is, wherever it lies; what was delivered to it */
	"ALTER TABLE campaigns ADD COLUMN machine TEXT;"
	"ALTER TABLE campaigns ADD COLUMN cpu TEXT;"
	"ALTER TABLE campaigns ADD COLUMN kernel TEXT;"
	"ALTER TABLE about ADD COLUMN uid TEXT;"
	"UPDATE about SET uid = gen_random_uuid()::TEXT;"
	"CREATE TABLE deliveries(client TEXT PRIMARY KEY, at BIGINT NOT NULL);",
	/* 15: see memo/statements.c */
	"ALTER TABLE campaigns ADD COLUMN backend TEXT;"
	"ALTER TABLE runs ADD COLUMN news BIGINT;"
	"ALTER TABLE findings ADD COLUMN machine TEXT;"
	"ALTER TABLE findings ADD COLUMN cpu TEXT;"
	"ALTER TABLE findings ADD COLUMN kernel TEXT;"
	"ALTER TABLE findings ADD COLUMN backend TEXT;"
	"UPDATE findings SET machine = c.machine, cpu = c.cpu,"
	" kernel = c.kernel FROM campaigns c"
	" WHERE c.id = findings.campaign AND findings.times_seen = 1;",
	/* 16: see memo/statements.c */
	"ALTER TABLE findings ADD COLUMN level BIGINT NOT NULL DEFAULT 0;",
};
/* clang-format on */
