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
