# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Processes that run already, for what attaches to them.

server=
ours=

# Starts what says its number; it is $server.
serve() { # PROGRAM [ARGUMENTS]
	local program=$1

	shift
	: >"$BATS_TEST_TMPDIR/said"
	"$program" "$@" >"$BATS_TEST_TMPDIR/said" 3>&- &
	ours="$ours $!"
	for try in {1..300}; do
		[ ! -s "$BATS_TEST_TMPDIR/said" ] || break
		sleep 0.1
	done
	server=$(<"$BATS_TEST_TMPDIR/said")
	[ -n "$server" ]
}

teardown() {
	[ -z "$ours" ] || kill -KILL $ours 2>/dev/null || true
	[ -z "$ours" ] || wait $ours 2>/dev/null || true
}
