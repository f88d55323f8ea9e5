# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A mapled of the test's own, by hand; for the tests of this folder and of
# tests/qemu. Everything of it lies in $dir, which other users can enter.

start_mapled() { # OPTION...
	local tries=100

	"$BUILD/mapled" --socket "$socket" --db "$memo" --config "$conf" "$@" \
		>>"$dir/log" 2>&1 3>&- &
	mapled=$!
	echo "$mapled" >"$dir/pid"
	until answers; do
		kill -0 "$mapled" 2>/dev/null || { cat "$dir/log"; return 1; }
		tries=$((tries - 1))
		[ $tries != 0 ] || { echo "no answer"; cat "$dir/log"; return 1; }
		sleep 0.1
	done
}

answers() {
	"$BUILD/mapletest" memo list --socket "$socket" >/dev/null 2>&1
}

# Ends it, by the signal given, and waits until it is gone.
end_mapled() { # [SIGNAL]
	[ -s "$dir/pid" ] || return 0
	kill "-${1:-TERM}" "$(<"$dir/pid")" 2>/dev/null || true
	wait "$(<"$dir/pid")" 2>/dev/null || true
	rm -f "$dir/pid"
}

open_folder() {
	dir=$(mktemp -d /tmp/maple-mapled.XXXXXX)
	chmod 755 "$dir"
	socket=$dir/socket
	memo=$dir/memo.db
	conf=$dir/mapled.conf
	: >"$conf"
}

# mapled may be about to write.
sql() {
	sqlite3 -cmd '.timeout 10000' "$memo" "$1"
}

# The database is whole, and every campaign and run in it has an end.
memo_is_whole() {
	[ "$(sql 'PRAGMA integrity_check')" = ok ] || fail "damaged"
	[ -z "$(sql 'PRAGMA foreign_key_check')" ] || fail "loose rows"
	[ "$(sql 'SELECT count(*) FROM campaigns WHERE outcome IS NULL')" = 0 ] ||
		fail "campaigns without an end"
	[ "$(sql "SELECT count(*) FROM runs WHERE verdict IS NULL")" = 0 ] ||
		fail "runs without an end"
}
