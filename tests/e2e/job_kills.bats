#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Jobs are killed at many moments: the process that carries one out, mapled, and
# whatever there is of the program. Each job goes on, or is told as what it is;
# its memo is whole; nothing of it is left, so nothing real-time or pinned; and
# the next job has the CPU. How often: killed.bash.

load common.bash
load mapled.bash
load killed.bash

setup() {
	open_folder
	export XDG_STATE_HOME=$dir/state XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
	unset MAPLE_OPTIONS MAPLE_NO_DAEMON
	# All that comes of a job is known by this, and by the program's path.
	mark=MAPLE_TEST_OF_JOB=$dir
	cp "$TARGETS/bank_account" "$dir/program"
	json=$dir/result.json
	own=$dir/own.db
}

teardown() {
	end_jobs
	end_mapled KILL
	rm -rf "$dir"
}

of_program() {
	local pid

	for pid in $(of_jobs); do
		[[ $(readlink "/proc/$pid/exe") != "$dir/program" ]] || echo "$pid"
	done
}

some_of_program() { [ -n "$(of_program)" ]; }

# A job that lasts, with mapled or alone; strategies take turns.
begin() { # mapled|alone
	local where=(--no-daemon --db "$own")
	local strategies=(auto maple pos pct)

	[ "$1" = alone ] || where=(--socket "$socket")
	number=$(env "$mark" "$BUILD/mapletest" run --detach --quiet "${where[@]}" \
		--strategy "${strategies[round / 5 % 4]}" --keep-going --fresh \
		--max-time 1000s -- "$dir/program" 2>"$dir/err" 3>&-) ||
		fail "round $round, no job: $(cat "$dir/err")"
}

# One of what there is of the program: a stem, a spare, a run.
kill_one() {
	local pids

	eventually "begun" some_of_program
	mapfile -t pids < <(of_program)
	# It may be over by now; another round has another one.
	[ ${#pids[@]} = 0 ] ||
		kill -KILL "${pids[round % ${#pids[@]}]}" 2>/dev/null || true
}

# mapled is as it was started, whatever it has lent.
mapled_is_plain() {
	chrt -p "$mapled" | grep -q 'policy: SCHED_OTHER' || fail "mapled is real-time"
	[ "$(taskset -p "$mapled" | sed 's/.*: //')" = "$affinity" ] ||
		fail "mapled is pinned"
}

cut_off() {
	kill -KILL "$(known pid)"
	is_cut_off
}

goes_on() {
	local runs

	runs=$(known runs)
	eventually "going on" has_run "$runs"
	# What ends by itself says how, and it was not cut off.
	[[ $(known state) != @(cut off|failed) ]] ||
		fail "round $round, $how: $(known state), $(cat "$XDG_STATE_HOME/maple/jobs/$number/log")"
}

one_kill() {
	how=${kinds[round % ${#kinds[@]}]}
	[[ $how == *_alone ]] && begin alone || begin mapled
	# Now and then in the midst of its beginning.
	[ $((round % 7)) = 0 ] || eventually "running" has_run 0
	sleep "0.$(printf '%03d' $((round * 37 % 400)))"
	# Not one that has tried all there is to try.
	if ! has_ended; then
		case $how in
		carrier*) cut_off ;;
		mapled)
			end_mapled KILL
			start_mapled
			goes_on
			;;
		program*)
			kill_one
			goes_on
			;;
		esac
		is_whole "$memo"
		is_whole "$own"
		"$BUILD/mapletest" jobs --stop "$number" 2>/dev/null
	fi
	eventually "all gone" none_of_jobs
}

@test "killed at many moments, a job goes on or is told as cut off, and nothing is left" {
	local state file titles kinds

	kills 4 carrier mapled program carrier_alone program_alone
	# Whichever is free, if others force orders as well.
	echo "cpus = 0-$(($(nproc) - 1))" >"$conf"
	start_mapled
	affinity=$(taskset -p "$mapled" | sed 's/.*: //')
	for ((round = 0; round < KILLS; round++)); do
		one_kill
		mapled_is_plain
	done
	state=$("$BUILD/mapletest" jobs --format json | jq -r '.jobs[].state' |
		sort | uniq -c)
	echo "$state"
	! grep -q running <<<"$state" || fail "one runs"
	[ -z "${MAPLE_TEST_KIND-}" ] || return 0
	# There were some of each, and what they learned is there.
	[ "$("$BUILD/mapletest" jobs --format json | jq '[.jobs[] |
		select(.state == "cut off")] | length')" -ge $((KILLS / 5)) ]
	[ "$(sqlite3 "$memo" 'SELECT count(*) > 0 FROM runs')" = 1 ]
	[ "$(sqlite3 "$own" 'SELECT count(*) > 0 FROM runs')" = 1 ]
	# Nobody's kill was taken for the program's own failure.
	for file in "$memo" "$own"; do
		titles=$(sqlite3 "$file" \
			"SELECT json_extract(json, '\$.title') FROM findings")
		[[ $titles == *SIGABRT* ]] || fail "no bug was found: '$titles'"
		! grep SIGKILL <<<"$titles" ||
			fail "a kill from outside is a finding"
	done
	memo_is_whole
}
