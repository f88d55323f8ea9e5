#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapletest replay --under gdb: it stops at each switch of the schedule, and at
# the failure; nothing is left of it, whoever dies.

load common

# A finding of controlled runs of $1, in a database of its own.
find_in() { # PROGRAM
	local name=${1##*/}

	[ -s "$BATS_FILE_TMPDIR/$name.db" ] || {
		db=$BATS_FILE_TMPDIR/$name.db
		campaign --strategy pos --seed 1 --max-runs 300 -- "$1"
		ended_with 66
		cp "$json" "$BATS_FILE_TMPDIR/$name.json"
	}
	db=$BATS_FILE_TMPDIR/$name.db
	json=$BATS_FILE_TMPDIR/$name.json
	id=$(jq -r '.findings[0].id' "$json")
}

# The finding's replay under gdb with options; then as after mapletest.
under() { # GDB-OPTIONS [OPTION...]
	mapletest replay "$id" --db "$db" --under "gdb -batch $1" "${@:2}" \
		</dev/null
}

# Nobody of this user's has a real-time priority, and nobody runs $1.
nothing_left() { # PROGRAM
	none_left "$1"
	none_left "gdb -batch"
	! ps -eo cls,args | grep -E '^ *(FF|RR)' | grep -F "$1" ||
		fail "real-time priorities are left"
}

@test "it stops at each switch, names threads and lines, and at the failure" {
	find_in "$BUILD/tests/control/account"
	under "-ex 'print balance' -ex c -ex 'print x' -ex c -ex c -ex bt -ex c"
	ended_with 0
	# The report's sentences are what it stops with, one after the other;
	# what a thread is about to do is gdb's to show.
	jq -r '.findings[0].switches' "$json" | sed 's/, where it .*: /: /' \
		>"$BATS_TEST_TMPDIR/wanted"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/wanted")" -ge 2 ]
	sed -n 's/^switch \([0-9]*\) of \([0-9]*\): //p' <<<"$output" |
		diff "$BATS_TEST_TMPDIR/wanted" -
	grep -oE '^switch [0-9]+' <<<"$output" |
		diff <(seq -f 'switch %g' "$(wc -l <"$BATS_TEST_TMPDIR/wanted")") -
	grep -E '^  0\.[0-9] is thread [0-9], at account\.c:[0-9]+ (dep|wd|chk)$' \
		<<<"$output"
	grep -x '\$1 = 10' <<<"$output"
	grep -x '\$2 = 10' <<<"$output"
	grep -x 'the program fails: signal 6 (SIGABRT)' <<<"$output"
	grep -E '^36	.*assert' <<<"$output"
	# Through all that is ours and libc's to what the user has written.
	grep -E '^#[0-9]+ .* in chk .*account\.c:36' <<<"$output"
	grep -E 'terminated with signal SIGABRT' <<<"$output"
	says 'forced 1/1 fails'
	nothing_left "$BUILD/tests/control/account"
}

@test "what a watchpoint stops is not for a debugger, and it says so" {
	watchpoints_hit
	find_in "$BUILD/tests/control/jit_cell"
	under "-ex c"
	ended_with 125
	[[ $output$stderr == *"replay it without --under"* ]]
}

@test "20 of 20 replays stop in the same places, and fail" {
	find_in "$BUILD/tests/control/account"
	limit=300 under "-ex c -ex c -ex c -ex c" --times 20
	ended_with 0
	says 'forced 20/20 fails'
	grep -E '^(switch|  0|the program fails|#)' <<<"$output" |
		sed 's/0x[0-9a-f]*//' | grep -v '^#.*in_child' |
		sed 's/^#[0-9]*//' | tr -s ' ' | sort | uniq -c >"$BATS_TEST_TMPDIR/stops"
	[ "$(grep -c 'switch' "$BATS_TEST_TMPDIR/stops")" = \
		"$(jq -r '.findings[0].switches' "$json" | wc -l)" ]
	! awk '$1 % 20' "$BATS_TEST_TMPDIR/stops" | grep . ||
		fail "they differ"
}

# With $1 besides.
stops_of_the_users() {
	find_in "$BUILD/tests/control/account"
	limit=120 under "-ex 'break account.c:16' -ex 'break account.c:35' \
		$1 -ex c -ex next $(printf -- '-ex c %.0s' {1..10})" \
		--times 5
	ended_with 0
	says 'forced 5/5 fails'
	[ "$(grep -cE 'hit Breakpoint .*account\.c:16' <<<"$output")" = 5 ]
	[ "$(grep -cE 'hit Breakpoint .*account\.c:35' <<<"$output")" = 5 ]
	[ "$(grep -c '^switch' <<<"$output")" = \
		"$((5 * $(jq -r '.findings[0].switches' "$json" | wc -l)))" ]
}

@test "breakpoints and steps of the user's change nothing" {
	stops_of_the_users
}

# Virtual machines may offer debug registers in which nothing ever fires.
@test "a watchpoint of the user's changes nothing" {
	gdb -batch -ex 'break main' -ex run -ex 'watch w' -ex c \
		"$BUILD/tests/control/account" \
		>"$BATS_TEST_TMPDIR/gdb" 2>&1 || true
	grep -q 'hit Hardware watchpoint' "$BATS_TEST_TMPDIR/gdb" ||
		skip "hardware watchpoints do not fire here, under gdb alone"
	stops_of_the_users "-ex 'watch w'"
	[ "$(grep -cE 'hit Hardware watchpoint [0-9]+: w' <<<"$output")" = 5 ]
}

@test "a fault is seen where the program has made it" {
	find_in "$TARGETS/keyring"
	under "-ex c -ex c -ex 'info symbol \$pc' -ex c"
	ended_with 0
	grep -x 'the program fails: signal 11 (SIGSEGV)' <<<"$output"
	[ "$(grep -c SIGSEGV <<<"$output")" = 2 ] || fail "it stops elsewhere"
	grep -E '^use .*keyring' <<<"$output"
	says 'forced 1/1 fails'
}

@test "at a deadlock gdb is called for" {
	find_in "$TARGETS/lock_order"
	under "-ex c -ex 'thread apply all bt'"
	ended_with 0
	says 'deadlock: every thread waits for another'
	grep -E 'received signal SIGINT' <<<"$output"
	grep -E '^#.* in to_left .*lock_order\.c:39' <<<"$output"
	grep -E '^#.* in to_right .*lock_order\.c:24' <<<"$output"
	says 'forced 1/1 fails'
	nothing_left "$TARGETS/lock_order"
}

@test "with a switch left out it passes, under gdb as well" {
	find_in "$BUILD/tests/control/account"
	under "-ex c -ex c -ex c" --flip
	ended_with 1
	grep -E 'exited normally' <<<"$output"
	says 'reversed 0/1 fails'
}

@test "who leaves gdb early sees the run's end all the same" {
	find_in "$BUILD/tests/control/account"
	under ""
	ended_with 0
	[ "$(grep -c ^switch <<<"$output")" = 1 ]
	says 'forced 1/1 fails'
	under "-ex kill"
	ended_with 125
	nothing_left "$BUILD/tests/control/account"
}

# A replay whose gdb waits at the first switch: $maple and $gdb are their pids.
stand() {
	local ready=$BATS_TEST_TMPDIR/ready

	rm -f "$ready"
	mkfifo "$BATS_TEST_TMPDIR/never" 2>/dev/null || true
	"$BUILD/mapletest" replay "$id" --db "$db" --under "gdb -batch -ex \
'python open(\"$ready\", \"w\").write(str(os.getpid())); \
open(\"$BATS_TEST_TMPDIR/never\")'" </dev/null >/dev/null 2>"$BATS_TEST_TMPDIR/said" 3>&- &
	maple=$!
	for try in {1..200}; do
		[ ! -s "$ready" ] || break
		sleep 0.1
	done
	gdb=$(cat "$ready")
	[ "$(ps -o ppid= "$gdb")" -eq "$maple" ]
}

ended_killed() {
	status=0
	wait "$maple" || status=$?
	ended_with 125
	grep "was killed (SIGKILL)" "$BATS_TEST_TMPDIR/said"
	nothing_left "$BUILD/tests/control/account"
}

@test "it has all the time in the world, with threads that do not move" {
	find_in "$BUILD/tests/control/account"
	# Longer than the time limit of a run, which would be a hang.
	under "-ex 'shell sleep 3' -ex c -ex c -ex c" --timeout 1
	ended_with 0
	says 'forced 1/1 fails'
	[ "$(grep -c ^switch <<<"$output")" = \
		"$(jq -r '.findings[0].switches' "$json" | wc -l)" ]
}

@test "gdb is killed: that ends the replay, and leaves nothing" {
	find_in "$BUILD/tests/control/account"
	stand
	kill -KILL "$gdb"
	ended_killed
}

# The breakpoints that gdb leaves behind end it: that is no failure of its own.
@test "gdb is killed, and that is seen when the program has ended as well" {
	find_in "$BUILD/tests/control/account"
	stand
	kill -STOP "$maple"
	kill -KILL "$gdb"
	for try in {1..100}; do
		! pgrep -f -- "^$BUILD/tests/control/account( |\$)" || sleep 0.1
	done
	kill -CONT "$maple"
	ended_killed
}

@test "mapletest is killed, or asked to end: gdb and the program go as well" {
	local signal

	find_in "$BUILD/tests/control/account"
	for signal in KILL TERM; do
		stand
		kill -$signal "$maple"
		wait "$maple" || true
		nothing_left "$BUILD/tests/control/account"
	done
}

@test "what cannot be done is said, with the mend" {
	find_in "$BUILD/tests/control/account"
	mapletest replay "$id" --db "$db" --under /nonexistent/gdb </dev/null
	ended_with 125
	says 'sudo apt install gdb'
	mapletest replay "$id" --db "$db" --under true </dev/null
	ended_with 125
	says 'gdb with Python'
	mapletest replay "$id" --db "$db" --under gdb --format json </dev/null
	ended_with 2
	says '--output'
	nothing_left "$BUILD/tests/control/account"
	db=$BATS_TEST_TMPDIR/memo.db json=$BATS_TEST_TMPDIR/result.json
	campaign --seed 1 -- "$TARGETS/bank_account"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	under ""
	ended_with 125
	says 'no switches to stop at.*--strategy pos'
}
