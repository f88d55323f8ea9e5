#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Hostile programs, files and machines: each a clear error or a correct run,
# never a hang, nothing lost.

load common

teardown() {
	[ -z "${campaign-}" ] || kill -KILL "$campaign" 2>/dev/null || true
	! mountpoint -q "$BATS_TEST_TMPDIR/disk" ||
		umount -l "$BATS_TEST_TMPDIR/disk"
}

# A few runs, profiled and enforced, each of which must go as natively.
tolerated() {
	local native=$BATS_TEST_TMPDIR/native

	timeout -s KILL 20 "$@" >"$native"
	[ -s "$native" ] || fail "no native output"
	limit=90 campaign --seed 1 --max-runs 4 --expect-output "$native" -- "$@"
	ended_with 0
	holds '.verdict == "clean" and .delivery.undelivered_runs == 0'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
	[ "$output" = "$(cat "$native")" ] || fail "output differs: $output"
	none_left "$1"
}

# A refusal: one of these statuses, said in words, and no result but an error.
refused() { # REGEX STATUS...
	local regex=$1

	shift
	ended_with "$@"
	says "$regex"
	[ ! -s "$json" ] || holds 'has("error") or .verdict == "undelivered"'
}

@test "output other than expected does not pass" {
	echo 'counted 401' >"$BATS_TEST_TMPDIR/wrong"
	campaign --max-runs 1 --expect-output "$BATS_TEST_TMPDIR/wrong" -- \
		"$E2E/ignore_signals"
	ended_with 66 125
}

@test "signals blocked and ignored" {
	tolerated "$E2E/ignore_signals"
}

@test "a program that never ends and ignores every signal is killed" {
	local what

	for what in loop sleep; do
		limit=40 campaign --timeout 1s --max-time 10s -- \
			"$E2E/ignore_signals" "$what"
		refused 'baseline' 125
		none_left "$E2E/ignore_signals"
	done
}

@test "all file descriptors closed" {
	tolerated "$E2E/close_fds"
}

@test "its own alarms" {
	tolerated "$E2E/own_alarms"
}

@test "fork and exec: children are native in policy and CPUs" {
	tolerated "$E2E/fork_exec"
}

@test "a forked child without threads is native" {
	tolerated "$E2E/daemon" idle
}

# Threads in a forked child: the bug is found there, whatever the parent says.
daemon_found() { # HOW
	local line

	line=$(grep -n 'CRASH' "$BATS_TEST_DIRNAME/daemon.c" | cut -d: -f1)
	campaign --seed 1 --max-runs 40 -- "$E2E/daemon" "$1"
	ended_with 66
	holds '.delivery.undelivered_runs == 0'
	holds '.findings[0].title | test("SIGSEGV in use_job")'
	holds '.findings[0].confirm.forced | .[0] >= 4 and .[1] == 5'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	grep -q "daemon.c:$line\b" <<<"$output" || fail "$output"
	none_left "$E2E/daemon"
}

@test "threads in a child that the parent waits for" {
	daemon_found wait
}

@test "threads in a daemon whose parent has ended" {
	daemon_found leave
}

@test "500 threads" {
	tolerated "$E2E/many_threads"
}

@test "its own SIGSEGV handler sees the true PC" {
	tolerated "$E2E/segv_recover"
}

@test "a thread that never lets go of the CPU" {
	tolerated "$E2E/spinner"
}

@test "an endless spinner is killed" {
	limit=40 campaign --timeout 1s --max-time 10s -- \
		"$E2E/spinner" forever
	refused 'baseline' 125
	none_left "$E2E/spinner"
}

@test "late is not hung: over its limit a run goes on, scheduled natively" {
	campaign --strategy maple --timeout 1s --max-runs 1 -- \
		"$E2E/late" 1800
	passed_once
	holds '.seconds > 1.5'
	# Only where the agent is, so it is not the program's own.
	campaign --strategy maple --timeout 200ms --max-runs 1 -- \
		"$E2E/late" 60000
	ended_with 125
	holds '.findings == [] and
		(.undelivered | test("maple disturbs this program: hang"))'
	none_left "$E2E/late"
}

@test "events without end do not keep the tool from its clock" {
	campaign --strategy maple --timeout 1s --max-runs 1 -- "$E2E/polls"
	passed_once
	holds '.seconds < 30'
	none_left "$E2E/polls"
}

@test "a library loaded, unloaded and loaded again" {
	tolerated "$E2E/dlopen_lib"
}

@test "C++ threads, conditions and exceptions" {
	tolerated "$E2E/cpp_threads"
}

@test "a crash is reported at its true line" {
	local line

	line=$(grep -n 'CRASH' "$BATS_TEST_DIRNAME/crash_line.c" | cut -d: -f1)
	campaign --seed 1 --max-runs 40 -- "$E2E/crash_line"
	ended_with 66
	holds '.findings[0].kind == "signal"'
	holds '.findings[0].title | test("SIGSEGV in crash_here")'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	ended_with 0
	grep -q "crash_line.c:$line\b" <<<"$output" || fail "$output"
}

@test "a missing program" {
	campaign -- "$BATS_TEST_TMPDIR/nowhere"
	refused 'nowhere' 127
}

@test "no ELF, and not executable" {
	echo 'just text' >"$BATS_TEST_TMPDIR/text"
	campaign -- "$BATS_TEST_TMPDIR/text"
	refused 'text' 126
	chmod +x "$BATS_TEST_TMPDIR/text"
	campaign -- "$BATS_TEST_TMPDIR/text"
	refused 'text' 126
}

@test "a directory" {
	campaign -- "$BATS_TEST_TMPDIR"
	refused 'directory|permission|no program' 126
}

@test "a truncated ELF" {
	local size

	# A shell that takes it for a script would write files here.
	mkdir "$BATS_TEST_TMPDIR/empty"
	cd "$BATS_TEST_TMPDIR/empty"
	for size in 4 60 300 5000; do
		head -c "$size" "$TARGETS/bank_account" >"$BATS_TEST_TMPDIR/cut"
		chmod +x "$BATS_TEST_TMPDIR/cut"
		campaign -- "$BATS_TEST_TMPDIR/cut"
		refused 'cut' 125 126
		[ -z "$(ls -A)" ] || fail "it was run as a script"
	done
}

@test "a 32-bit ELF" {
	# The smallest there is: exit(0) by int 0x80.
	printf '%b' '\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0' \
		'\x02\0\x03\0\x01\0\0\0\x54\x80\x04\x08\x34\0\0\0' \
		'\0\0\0\0\0\0\0\0\x34\0\x20\0\x01\0\0\0\0\0\0\0' \
		'\x01\0\0\0\0\0\0\0\0\x80\x04\x08\0\x80\x04\x08' \
		'\x60\0\0\0\x60\0\0\0\x05\0\0\0\0\x10\0\0' \
		'\x31\xc0\x40\x31\xdb\xcd\x80\x90\x90\x90\x90\x90' \
		>"$BATS_TEST_TMPDIR/small"
	chmod +x "$BATS_TEST_TMPDIR/small"
	file "$BATS_TEST_TMPDIR/small" | grep -q 'ELF 32-bit'
	campaign -- "$BATS_TEST_TMPDIR/small"
	refused '32.bit|no x86-64' 125 126
}

@test "a program without threads is not called clean for nothing" {
	campaign --max-runs 3 -- /bin/true
	ended_with 0 125
	[ "$status" = 125 ] || holds '.delivery.hits | add > 0'
}

@test "a name that holds escape sequences reaches the terminal as letters" {
	local program=$BATS_TEST_TMPDIR/$'a\e]0;owned\ab'

	unwritten() {
		[[ $output$stderr == *owned* ]] || fail "it is not named"
		[[ $output$stderr != *$'\e'* ]] || fail "an escape sequence"
	}
	cp "$TARGETS/bank_account" "$program"
	campaign --max-runs 2 --confirm 0 --input $'x\e[31m' -- "$program"
	ended_with 66 0
	for words in "memo list" coverage; do
		mapletest $words --db "$db"
		ended_with 0
		unwritten
	done
	mapletest run --db "$db" -- "$program.gone"
	ended_with 127
	unwritten
}

@test "a corrupt database is refused and left as it is" {
	local before

	head -c 8192 /dev/urandom >"$db"
	before=$(sha256sum <"$db")
	campaign -- "$TARGETS/bank_account"
	refused 'memo\.db' 125
	[ "$before" = "$(sha256sum <"$db")" ] || fail "it was changed"
}

@test "a database of a newer schema is refused and left as it is" {
	sqlite3 "$db" 'PRAGMA user_version = 9999; CREATE TABLE future(x)'
	campaign -- "$TARGETS/bank_account"
	refused 'newer|schema' 125
	[ "$(sqlite3 "$db" 'PRAGMA user_version; SELECT count(*)
		FROM sqlite_master')" = $'9999\n1' ] || fail "it was changed"
}

@test "a read-only database" {
	in_public "$TARGETS/bank_account"
	mkdir "$public/ro"
	campaign --max-runs 1 -- "$TARGETS/clean/mutex_counter"
	cp "$db" "$public/ro/memo.db"
	chmod 755 "$public/ro"
	chmod 444 "$public/ro/memo.db"
	rm "$json"
	as_nobody rt "$public/mapletest" run --db "$public/ro/memo.db" -- \
		"$public/bank_account"
	ended_with 125
	says 'read-?only|permission|cannot be written'
	says 'memo\.db'
}

@test "a full disk loses nothing that was written" {
	local disk=$BATS_TEST_TMPDIR/disk runs

	mkdir "$disk"
	mount -t tmpfs -o size=200k tmpfs "$disk"
	db=$disk/memo.db
	campaign --seed 1 --max-runs 1 -- "$TARGETS/clean/mutex_counter"
	if jq -e .runs "$json"; then
		passed_once
		runs=$(sqlite3 "$db" 'SELECT count(*) FROM runs')
		cat /dev/zero >"$disk/fill" 2>/dev/null || true
		campaign --seed 2 -- "$TARGETS/bank_account"
	fi
	ended_with 66 125
	says 'full|space'
	rm -f "$disk/fill"
	[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
	[ -z "${runs-}" ] ||
		[ "$(sqlite3 "$db" 'SELECT count(*) FROM runs')" -ge "$runs" ]
}

@test "no permission for real-time priorities: said, with the mend, and 125" {
	in_public "$TARGETS/bank_account"
	as_nobody no "$public/mapletest" run --strategy maple -- \
		"$public/bank_account"
	ended_with 125
	says 'real-time'
	says 'setcap|ulimit|limits\.conf|rtprio'
	none_left "$public/bank_account"
}

# Waits until the campaign behind $stream has done runs of this phase.
reached() { # PHASE COUNT
	local try count

	for ((try = 0; try < 200; try++)); do
		# The last line may be half written: then look again.
		count=$(jq -s "[.[] | select(.event == \"run\" and
			.phase == \"$1\")] | length" "$stream" \
			2>/dev/null) || count=0
		[ "$count" -lt "$2" ] || return 0
		sleep 0.1
	done
	fail "no $1 run in 20 s: $(cat "$stream")"
}

# Starts a long campaign; its output goes to $stream, its pid to $campaign.
start_campaign() {
	stream=$BATS_TEST_TMPDIR/stream
	timeout -s KILL 60 "$BUILD/mapletest" run --keep-going --seed 1 \
		--format jsonl --output "$stream" --db "$db" -- "$@" \
		>/dev/null 2>&1 3>&- &
	limiter=$!
	for ((try = 0; try < 50; try++)); do
		campaign=$(pgrep -P "$limiter") && return 0
		sleep 0.1
	done
	fail "the campaign did not start"
}

@test "kill -9 of mapletest: every finished run is kept, no thread is left" {
	local runs

	start_campaign "$E2E/own_alarms" slowly
	reached profile 1
	runs=$(sqlite3 "$db" 'SELECT count(*) FROM runs')
	kill -KILL "$campaign"
	wait "$limiter" || true
	none_left "$E2E/own_alarms"
	[ "$runs" -ge 1 ]
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM runs')" -ge "$runs" ]
	[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
	campaign --max-runs 2 -- "$TARGETS/clean/all_locks"
	ended_with 0
}

@test "kill -9 of the target: the campaign goes on or says so" {
	local victim

	start_campaign "$E2E/own_alarms" slowly
	reached baseline 3
	for ((try = 0; try < 100; try++)); do
		victim=$(pgrep -f -- "^$E2E/own_alarms slowly" | tail -n 1) &&
			break
		sleep 0.02
	done
	[ -n "$victim" ] || fail "no target is running"
	kill -KILL "$victim"
	sleep 1
	kill -TERM "$campaign" 2>/dev/null || true
	status=0
	wait "$limiter" || status=$?
	[ "$status" != 137 ] || fail "mapletest hung, or died with it"
	none_left "$E2E/own_alarms"
	[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM runs')" -ge 3 ]
}

@test "SIGTERM to mapletest takes the target down with it" {
	start_campaign "$E2E/own_alarms" slowly
	reached baseline 1
	kill -TERM "$campaign"
	status=0
	wait "$limiter" || status=$?
	[ "$status" != 137 ] || fail "mapletest did not end"
	none_left "$E2E/own_alarms"
}

@test "usage errors are said, with status 2" {
	mapletest run --no-such-option -- /bin/true
	ended_with 2
	says 'no-such-option'
	mapletest run
	ended_with 2
	mapletest run --max-runs many -- /bin/true
	ended_with 2
}
