# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A PostgreSQL server for the tests of a file.

setup_file() {
	# Whoever the server runs as has to come to its folder.
	server=$(mktemp -d /tmp/maple-postgres-XXXXXX)
	export MAPLE_TEST_OWNER=$$
	url=$("$BATS_TEST_DIRNAME/../postgres" start "$server")
	export server url
}

teardown_file() {
	"$BATS_TEST_DIRNAME/../postgres" stop "$server"
	rm -rf "$server"
}

postgres() { # start|kill|sql|database [...]
	"$ROOT/tests/postgres" "$1" "$server" "${@:2}"
}

# An empty database; its URL becomes $db.
database() {
	name=t$BATS_TEST_NUMBER
	db=$(postgres database $name)
}

sql() {
	postgres sql "$1" "$name"
}

# Of campaigns on one program none makes a try that another one makes, or tries what
# a try before has exposed. What a run failed of each tries anew.
tries_are_divided() {
	local tries='tries AS (SELECT * FROM maple.runs r WHERE attempt > 0
		AND NOT EXISTS (SELECT FROM maple.memo m WHERE m.goal = r.goal
			AND m.broke != 0))'

	sql "WITH $tries SELECT campaign, count(*), count(DISTINCT goal)
		FROM tries GROUP BY campaign ORDER BY campaign"
	[ "$(sql "WITH $tries SELECT count(DISTINCT campaign) > 1
		AND count(*) > 20 FROM tries")" = t ] ||
		fail "there are too few tries"
	[ "$(sql "WITH $tries SELECT count(*) FROM (SELECT FROM tries
		GROUP BY goal, attempt HAVING count(*) > 1) t")" = 0 ] ||
		fail "a try was made twice"
	[ "$(sql "WITH $tries SELECT count(*) FROM tries late JOIN tries t
		ON t.goal = late.goal AND t.exposed != 0
		AND t.attempt < late.attempt")" = 0 ] ||
		fail "what was exposed was tried"
}

# A campaign that ends when it is told to, under way; its process is $campaign.
endless() { # OPTION...
	database
	(exec "$BUILD/mapletest" run --format json --output "$json" --db "$db" \
		--seed 1 "$@" --max-runs 1000000 --keep-going -- \
		"$TARGETS/clean/mutex_counter") 2>"$BATS_TEST_TMPDIR/err" &
	campaign=$!
	kept=5
	more_runs
}

# Until the server has more runs than there were last time
more_runs() {
	local now=$kept

	until [ "$now" -gt "$kept" ]; do
		kill -0 $campaign || fail "$(cat "$BATS_TEST_TMPDIR/err")"
		sleep 0.1
		now=$(sql 'SELECT count(*) FROM maple.runs' 2>/dev/null) ||
			now=$kept
	done
	kept=$now
}
