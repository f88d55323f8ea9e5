# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the end-to-end tests share. $BUILD is the build folder.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export BUILD=${BUILD:-$ROOT/build}
E2E=$BUILD/tests/e2e
TARGETS=$BUILD/tests/targets

# Nothing of the user's own: each test has a state folder of its own.
setup() {
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
	unset MAPLE_OPTIONS
	export MAPLE_NO_DAEMON=1
	json=$BATS_TEST_TMPDIR/result.json
	db=$BATS_TEST_TMPDIR/memo.db
	[ -x "$BUILD/mapletest" ] || fail "$BUILD/mapletest is not there"
}

# Runs mapletest with a time limit, $limit seconds, and two minutes more, which
# it may wait for a CPU that another campaign has; afterwards as after bats's own
# run: $status, $output, $stderr.
mapletest() {
	local most=$((${limit:-60} + 120))

	run --separate-stderr timeout -s KILL "$most" \
		"$BUILD/mapletest" "$@"
	[ "$status" != 137 ] || fail "killed, or not done after $most s"
}

# So often with MAPLE_FULL=1, else half as often.
halved() { # COUNT
	echo $((${MAPLE_FULL:+2 *} $1 / 2))
}

# A campaign whose result goes to $json.
campaign() {
	rm -f "$json"
	mapletest run --format json --output "$json" --db "$db" "$@"
}

# Some virtual machines hand out hardware watchpoints that never tell of a hit.
watchpoints_hit() {
	"$BUILD/mapletest" doctor 2>/dev/null |
		grep -q '^✓ hardware watchpoints' ||
		skip "hardware watchpoints tell of no hit here"
}

fail() {
	echo "$*"
	echo "status: ${status-}"
	echo "stderr: ${stderr-}"
	[ ! -s "$json" ] || { echo "result:"; cat "$json"; }
	return 1
}

# The test fails unless the status is one of these.
ended_with() {
	local wanted

	for wanted; do
		[ "$status" != "$wanted" ] || return 0
	done
	fail "wanted status $*"
}

# The test fails unless the result is one object for which this holds.
holds() {
	[ -s "$json" ] || fail "no result was written"
	jq -es 'length == 1' "$json" >/dev/null || fail "not one JSON object"
	jq -e "$1" "$json" >/dev/null || fail "does not hold: $1"
}

# The tool's own words must match.
says() {
	grep -qiE -- "$1" <<<"$stderr" || fail "does not say: $1"
}

# No process of the program is left a moment after the tool has gone; on a busy
# machine that takes its time.
none_left() {
	local try left

	for ((try = 0; try < 300; try++)); do
		left=$(pgrep -f -- "^$1( |\$)") || return 0
		sleep 0.1
	done
	kill -KILL $left
	fail "left behind:" $left
}

# One run that was observed, and no more: delivered, and nothing failed; but that is not clean.
passed_once() {
	ended_with 125
	holds '.schema == 1 and .findings == []'
	holds '.runs.profile + .runs.controlled == 1 and
		.delivery.undelivered_runs == 0'
	holds '.undelivered | startswith("no order was forced before the run")'
}

# ... and something was covered.
covered() {
	passed_once
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
}

# Each run left its product, out.*, and each is what the program writes itself.
same_output() { # NATIVE FOLDER
	local runs file count=0

	runs=$(jq '[.runs[]] | add' "$json")
	for file in "$2"/out.*; do
		cmp "$1" "$file" || fail "output differs from native"
		count=$((count + 1))
	done
	[ "$count" = "$runs" ] || fail "$count products of $runs runs"
}

# Nobody, with real-time priorities if the first argument is 'rt'.
as_nobody() {
	local caps=-all

	[ "$1" != rt ] || caps=+sys_nice
	shift
	run --separate-stderr timeout -s KILL "$((${limit:-60} + 120))" \
		setpriv --reuid=65534 --regid=65534 --clear-groups \
		--inh-caps="$caps" --ambient-caps="$caps" -- \
		prlimit --rtprio=0 --nice=0 -- "$@"
}

# Copies of mapletest and of what is to be tested, for users without rights.
in_public() { # PROGRAM...
	public=$BATS_TEST_TMPDIR/public
	mkdir -p "$public/state"
	cp "$BUILD/mapletest" "$BUILD/libmaple-agent.so" \
		"$BUILD/maple-canary" "$@" "$public/"
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$BATS_TEST_TMPDIR"
	chmod 755 "$public"
	chmod 777 "$public/state"
	export XDG_STATE_HOME=$public/state
}
