#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What is no finding: what maple itself, somebody else, or the machine has
# done, and what ends without anybody's help but looks as if it could not.

load common

J=$E2E/judged

teardown() {
	[ -z "${busy-}" ] || kill "$busy" 2>/dev/null || true
}

# For --setup: from run $1 on (from 0), or in that one if $2 is "only", do $3.
# The first three runs are the baseline's.
from_run() { # N only|on COMMAND
	local op=-ge

	[ "$2" != only ] || op=-eq
	cat >"$BATS_TEST_TMPDIR/setup" <<-EOS
		#!/bin/sh
		cd "$BATS_TEST_TMPDIR"
		n=\$(cat runs 2>/dev/null || echo 0)
		echo \$((n + 1)) >runs
		[ \$n $op $1 ] || exit 0
		$3
	EOS
	chmod +x "$BATS_TEST_TMPDIR/setup"
	setup="$BATS_TEST_TMPDIR/setup"
	flag=$BATS_TEST_TMPDIR/flag
}

# No finding in any form, and none is kept.
no_finding() {
	holds '.findings == [] and .suppressed == []'
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM findings')" = 0 ] ||
		fail "a finding is kept"
}

unjudged() { # REASON COUNT
	holds ".delivery.unjudged_runs.$1 == $2"
	holds "[.delivery.unjudged_runs[]] | add == $2"
}

disturbed() { # REGEX
	ended_with 125
	holds '.verdict == "undelivered" and .to_first_finding == null'
	jq -e --arg re "maple disturbs this program.*$1" \
		'.undelivered | test($re)' "$json" >/dev/null ||
		fail "does not say: $1"
	no_finding
}

@test "a wait that a timer, an alarm or a child process ends is no deadlock" {
	local how

	for how in alarm timer child; do
		campaign --seed 1 --max-runs 4 -- "$J" "$how"
		ended_with 0
		no_finding
		holds '.runs.profile + .runs.controlled > 0'
	done
}

@test "a program that fails where the agent is loaded is disturbed" {
	local seed

	for seed in 1 2; do
		campaign --seed $seed --max-runs 9 -- "$J" preloaded
		disturbed 'in none of 5 without maple.*libmaple-agent.so'
	done
	mapletest run --format junit --db "$db" -- "$J" preloaded
	ended_with 125
	grep -q 'maple disturbs this program' <<<"$output"
	mapletest run --format sarif --db "$db" -- "$J" preloaded
	ended_with 125
	grep -q 'maple disturbs this program' <<<"$output"
	mapletest run --skip-unsupported --db "$db" -- "$J" preloaded
	ended_with 125
}

@test "... but not one whose threads only meet more often with it" {
	local seed

	for seed in 1 2 3; do
		rm -f "$db"*
		campaign --seed $seed --max-runs 9 -- "$E2E/overlaps"
		ended_with 66
		holds '.undelivered == null and .findings[0].signo == 6'
	done
}

@test "... where its code is changed: the image is named" {
	campaign --seed 1 --max-runs 9 -- "$J" patched
	disturbed 'every schedule.*--exclude judged'
	campaign --seed 1 --max-runs 3 --exclude judged -- "$J" patched
	no_finding
}

@test "... where it forbids itself what the agent calls" {
	campaign --seed 1 --max-runs 9 -- "$J" filtered
	disturbed 'SIGSYS.*call of the agent.s, sched_set[a-z]+, .*seccomp'
}

@test "... where its memory is limited" {
	campaign --seed 1 --max-runs 9 -- "$J" limited
	disturbed 'RLIMIT_AS, which is 40 MB.*ulimit -v'
}

@test "killed from outside: run again, and not for ever" {
	local signo

	for signo in KILL TERM; do
		rm -f "$BATS_TEST_TMPDIR/runs"
		from_run 3 only "(sleep 0.1; pkill -$signo -f '^$J slowly') &"
		campaign --strategy maple --seed 1 --exec --max-runs 4 \
			--setup "$setup" -- "$J" slowly
		ended_with 0
		no_finding
		unjudged killed 1
		says "killed by SIG$signo from outside"
	done
	rm -f "$BATS_TEST_TMPDIR/runs"
	from_run 3 on "(sleep 0.1; pkill -KILL -f '^$J slowly') &"
	# A controlled run does not sleep: it would be over before.
	campaign --strategy maple --seed 1 --exec --max-runs 9 \
		--setup "$setup" -- "$J" slowly
	ended_with 125
	no_finding
	unjudged killed 5
	holds '.undelivered | test("killed by SIGKILL from outside, out of mem")'
}

@test "a signal that it has sent itself is its own" {
	local signo

	# With the agent only: so it is "disturbed", and not "killed".
	for signo in 9 15; do
		campaign --seed 1 --max-runs 2 -- "$J" dies $signo
		disturbed "signal $signo "
		unjudged killed 0
	done
}

@test "status 77 or 125 of program, setup or oracle is no verdict" {
	from_run 3 only 'touch flag'
	campaign --seed 1 --max-runs 3 --setup "$setup" -- "$J" once 77 "$flag"
	ended_with 0
	no_finding
	unjudged said 1
	rm -f "$BATS_TEST_TMPDIR/runs"
	campaign --seed 1 --max-runs 3 --setup "$setup" \
		--oracle "rm '$flag' 2>/dev/null && exit 125 || exit 0" -- \
		"$J" status 0
	ended_with 0
	no_finding
	unjudged said 1
	rm -f "$BATS_TEST_TMPDIR/runs"
	from_run 4 only 'exit 77'
	campaign --seed 1 --max-runs 3 --setup "$setup" -- "$J" status 0
	ended_with 0
	no_finding
	unjudged said 1
	rm -f "$BATS_TEST_TMPDIR/runs"
	from_run 4 on 'exit 125'
	campaign --seed 1 --max-runs 9 --setup "$setup" -- "$J" status 0
	ended_with 125
	unjudged said 5
	holds '.undelivered | test("setup.* has status 125")'
}

@test "status 77 or 125 at once: 125, or skipped" {
	local status_of

	for status_of in 77 125; do
		mapletest run --db "$db" -- "$J" status $status_of
		ended_with 125
		says "status $status_of"
		mapletest run --skip-unsupported --db "$db" -- \
			"$J" status $status_of
		ended_with 77
	done
}

@test "--skip-unsupported does not cover what the program is the cause of" {
	mapletest run --skip-unsupported --max-runs 2 --db "$db" -- /bin/true
	ended_with 125
	says 'no site of the program was reached|never had a second'
}

@test "a hang that comes but once is no finding" {
	from_run 3 only 'touch flag'
	campaign --seed 1 --timeout 1s --max-runs 3 --setup "$setup" -- \
		"$J" hangs "$flag"
	ended_with 0
	no_finding
	unjudged hung 1
	says 'not judged: hang'
}

# On a busy machine it is not over when let go, either, as long as we wait.
@test "who is slow where each access is a point is told to be" {
	campaign --strategy pos --seed 1 --timeout 300ms --max-runs 4 -- \
		"$J" many
	ended_with 0
	no_finding
	holds '.delivery | .let_go_runs + .unjudged_runs.hung >= 1'
	says '(over when it was let go|slow under control).*: see --timeout'
	# Let go, it has no points any more: of its two times six million.
	holds '.delivery.hits | add < 8e6'
}

# The baseline has three runs, and pos profiles twice.
@test "a hang under control for which there was no time to come again is none" {
	from_run 5 on 'touch flag'
	campaign --strategy pos --seed 1 --timeout 500ms --max-time 7s \
		--setup "$setup" -- "$J" hangs "$flag"
	no_finding
	unjudged hung 1
	says 'not judged: hang.*the time was over before it could come again'
}

@test "a hang under control comes again even if no control is wanted" {
	campaign --strategy pos --seed 1 --timeout 300ms --max-runs 40 \
		--confirm 0 -- "$J" spins
	ended_with 66
	holds '.findings[0] | .kind == "hang" and .confirm.forced == [1, 1]'
}

# It may only run when nobody else wants its CPU, and somebody always does.
@test "no CPU is no hang" {
	local idle=$BATS_TEST_TMPDIR/idle

	printf '#!/bin/sh\nexec taskset -c 0 chrt -i 0 %s busy\n' "$J" >"$idle"
	chmod +x "$idle"
	taskset -c 0 timeout 30 sh -c 'while :; do :; done' 3>&- &
	busy=$!
	campaign --timeout 300ms --exe judged -- "$idle"
	kill "$busy"
	ended_with 125
	says 'no CPU to itself'
}
