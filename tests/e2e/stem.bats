#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Runs that are forked from a program that stands before main(): what executed
# ones find, as they find it, and what happens where a program cannot be forked.
# Runs that are executed while the one before them lasts.

load common

teardown() {
	[ -z "${campaign-}" ] || kill -KILL "$campaign" 2>/dev/null || true
}

# A clean campaign on 'where', with these options; what it told is in $told.
where() {
	told=$BATS_TEST_TMPDIR/told
	rm -f "$told" "$db"*
	campaign --backend agent --seed 1 --max-runs 12 "$@" -- \
		"$E2E/where" "$told"
	ended_with 0
	holds '.delivery.undelivered_runs == 0 and .runs.enforced > 0'
	[ "$(wc -l <"$told")" = "$(jq '[.runs[]] | add' "$json")" ] ||
		fail "not a line for each run: $(cat "$told")"
	none_left "$E2E/where"
}

layouts() {
	cut -d' ' -f1 "$told" | sort -u | wc -l
}

# With the library that does WHAT before main().
where_with() { # WHAT [OPTION...]
	LD_PRELOAD=$E2E/before_main.so BEFORE_MAIN=$1 where "${@:2}"
}

@test "runs are forked, and begin as executed ones do" {
	where
	# Three native ones, a process for each kind of run, the executed one.
	[ "$(layouts)" -le 6 ] || fail "not forked: $(cat "$told")"
	[ "$(cut -d' ' -f2- "$told" | sort -u)" = \
		"3 none self leads quiet" ] || fail "$(cat "$told")"
}

@test "--exec: none is forked, and all begin as native ones do" {
	where --exec
	[ "$(layouts)" -gt 6 ] || fail "forked: $(cat "$told")"
	[ "$(cut -d' ' -f2- "$told" | sort -u)" = \
		"3 none self leads quiet" ] || fail "$(cat "$told")"
}

@test "--exec: what is written before main() is the run's own" {
	local words=$BATS_TEST_TMPDIR/words

	echo words >"$words"
	where_with words --exec --expect-output "$words"
}

@test "--exec --setup: nothing is executed before its turn" {
	told=$BATS_TEST_TMPDIR/told
	where --exec --setup "! pgrep -f '^$E2E/where $told'"
}

@test "forked or executed, the same is found" {
	local target how forked

	for target in bank_account lock_order; do
		for how in '' --exec; do
			rm -f "$db"*
			campaign --seed 1 --backend agent --max-runs 60 $how -- \
				"$TARGETS/$target"
			ended_with 66
			holds '.findings[0].confirm.forced[0] >= 4'
			[ -n "$how" ] ||
				forked=$(jq -r '.findings[0].id' "$json")
		done
		[ "$forked" = "$(jq -r '.findings[0].id' "$json")" ] ||
			fail "$target: $forked"
	done
}

@test "forked or executed, the same is predicted" {
	# One of idiom 2 comes and goes, either way.
	local how forked predicted='.coverage.predicted | del(.["2"])'

	for how in '' --exec; do
		rm -f "$db"*
		campaign --seed 1 --backend agent --max-runs 20 $how -- \
			"$E2E/eight_inputs" a1B2c
		ended_with 0
		[ -n "$how" ] || forked=$(jq -c "$predicted" "$json")
	done
	[ "$forked" = "$(jq -c "$predicted" "$json")" ] ||
		fail "forked: $forked"
}

@test "what a fork would not carry over is seen, said, and executed" {
	local what
	local -A said=([threads]='it has threads' [files]='it has files open'
		[timers]='it has timers set' [memory]='it shares memory'
		[children]='it has child processes'
		[words]='it reads or writes')

	for what in "${!said[@]}"; do
		where_with "$what"
		says "executed, none is forked: ${said[$what]} before main"
		[ "$(layouts)" -gt 6 ] || fail "$what: forked"
	done
}

@test "a device is no obstacle, and no handler hears of a fork" {
	local what

	for what in device handler; do
		where_with "$what"
		[ "$(layouts)" -le 6 ] || fail "$what: not forked"
		! grep -q told "$told" || fail "$(cat "$told")"
	done
}

# Processes below the campaign that are the program, the eldest first, however
# their numbers compare.
processes() {
	local pids

	pids=$(pgrep -d, -f -- "^$E2E/where $told") || return 1
	ps -o pid= --sort=start_time -p "$pids" | tr -d ' '
}

start_slow() { # LEAST [OPTION...]
	local least=$1

	shift
	told=$BATS_TEST_TMPDIR/told
	notices=$BATS_TEST_TMPDIR/notices
	timeout -s KILL 240 "$BUILD/mapletest" run --backend agent --seed 1 \
		--max-runs 16 --format json --output "$json" --db "$db" "$@" -- \
		"$E2E/where" "$told" 200 >/dev/null 2>"$notices" 3>&- &
	limiter=$!
	for ((try = 0; try < 2400; try++)); do
		# A profile run is under way, beside what it was forked from
		# and what the next one will be.
		campaign=$(pgrep -P "$limiter") && [ -e "$told" ] &&
			[ "$(wc -l <"$told")" -ge 4 ] &&
			[ "$(processes | wc -l)" -ge "$least" ] && return 0
		sleep 0.05
	done
	fail "no run with others beside it: $(cat "$notices")"
}

ends() { # STATUS
	status=0
	wait "$limiter" || status=$?
	stderr=$(cat "$notices")
	campaign=
	ended_with "$1"
	none_left "$E2E/where"
}

@test "kill -9 of the process that runs are forked from: said, and it goes on" {
	start_slow 3
	kill -KILL "$(processes | head -n 1)"
	ends 0
	says 'executed, not forked: .* is dead'
	holds '.verdict == "clean" and .runs.enforced > 0'
}

# Those that have a stem's socket: it, and what it has forked ahead.
waiting() {
	local pid

	for pid in $(processes); do
		[[ $(readlink "/proc/$pid/fd/3") != socket:* ]] || echo "$pid"
	done
}

# The last that was forked ahead: of the children of a guard that wait, the
# first is the stem.
spare() {
	local pids

	pids=$(waiting | paste -sd,)
	[ -z "$pids" ] || ps -o ppid=,pid= --sort=start_time -p "$pids" |
		awk 'seen[$1]++ { last = $2 } END { print last }'
}

# Whether the process sleeps until an order comes: in recvmsg. One that has an order
# is awake, or is about to be.
sleeps_for_order() { # PID
	local call

	read -r call _ <"/proc/$1/syscall" && [ "$call" = 47 ]
} 2>/dev/null

# Kills what COMMAND prints while it has no order, and the campaign, which stands
# still, sends none.
kill_waiting() { # COMMAND
	local victim try

	for ((try = 0; try < 600; try++)); do
		kill -STOP "$campaign"
		while grep -q '^State:.[^TZX]' "/proc/$campaign/status"; do
			sleep 0.01
		done 2>/dev/null
		victim=$("$1")
		if [ -n "$victim" ] && sleeps_for_order "$victim"; then
			kill -KILL "$victim"
			# It would take an order on its way to its end.
			while grep -q '^State:.[^ZX]' "/proc/$victim/status"; do
				sleep 0.01
			done 2>/dev/null
			kill -CONT "$campaign"
			return 0
		fi
		kill -CONT "$campaign"
		sleep 0.05
	done
	fail "none waits: $(cat "$notices")"
}

@test "kill -9 of the run that is forked ahead: another one is" {
	start_slow 3
	kill_waiting spare
	ends 0
	! grep -q executed "$notices" || fail "$(cat "$notices")"
	holds '.verdict == "clean" and .runs.enforced > 0'
}

# A program's standard input is a socket while it has no run.
idle() {
	local pid

	for pid in $(processes); do
		[[ $(readlink "/proc/$pid/fd/0") != socket:* ]] || echo "$pid"
	done
}

@test "--exec: kill -9 of what is executed ahead: the run is executed then" {
	start_slow 2 --exec
	kill_waiting idle
	ends 0
	holds '.verdict == "clean" and .runs.enforced > 0'
}

@test "--exec: kill -9 of mapletest takes down what waits as well" {
	start_slow 2 --exec
	kill -KILL "$campaign"
	wait "$limiter" || true
	campaign=
	none_left "$E2E/where"
}

@test "kill -9 of its guard takes down the run, and no other" {
	local stem guard

	start_slow 3
	stem=$(processes | head -n 1)
	guard=$(ps -o ppid= -p "$stem")
	[ "$(cat "/proc/${guard// /}/comm")" = maple-guard ]
	kill -KILL ${guard}
	status=0
	wait "$limiter" || status=$?
	campaign=
	# The run that died with it is a finding, or was ended: never a hang.
	[ "$status" != 137 ] || fail "hung"
	none_left "$E2E/where"
}

@test "kill -9 of mapletest takes down all of it" {
	start_slow 3
	kill -KILL "$campaign"
	wait "$limiter" || true
	campaign=
	none_left "$E2E/where"
}
