#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Several targets at once, --jobs, and several orders in one run, --together.

load common.bash
load mapled.bash

cpus=$(nproc)

setup() {
	[ "$cpus" -gt 1 ] || fail "these tests need two CPUs"
	open_folder
	export XDG_STATE_HOME=$dir/state
	unset MAPLE_OPTIONS
	export MAPLE_NO_DAEMON=1
	json=$dir/result.json
	db=$dir/memo.db
	memo=$db
	# Others may have the CPUs for a while.
	limit=250
}

teardown() {
	end_mapled KILL
	rm -rf "$dir"
}

# The database and the result tell of the same runs, and each of these ended.
counted() {
	memo_is_whole
	[ "$(sql "SELECT count(*) FROM runs WHERE kind IN ('profile', 'enforced', 'controlled')
		AND verdict <> 'stopped'")" = \
		"$(jq '.runs.profile + .runs.enforced + .runs.controlled' "$json")" ] ||
		fail "runs in the memo: $(sql 'SELECT kind, verdict FROM runs')"
}

@test "more jobs than CPUs are refused, with the mend" {
	campaign --jobs $((cpus + 1)) -- "$TARGETS/bank_account"
	ended_with 125
	says "--jobs $((cpus + 1)), but there are $cpus CPUs.*--jobs $cpus"
	mapletest run --jobs 0 -- "$TARGETS/bank_account"
	ended_with 2
	says "--jobs wants a number from 1"
}

@test "two jobs find, confirm, and end the run beside them uncounted" {
	campaign --jobs 2 -- "$TARGETS/bank_account"
	ended_with 66
	holds '.findings | length == 1'
	holds '.findings[0].confirm.forced[0] >= 4'
	counted
	none_left "$TARGETS/bank_account"
}

@test "every CPU can have a target, with a notice" {
	campaign --jobs "$cpus" --max-runs 6 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	says "every CPU has a target"
	says "CPU 0 is taken as well"
	counted
}

@test "two jobs keep going, on targets with one bug each" {
	for target in lock_order publish_early; do
		rm -f "$db"*
		campaign --jobs 2 --keep-going --max-runs 40 --confirm 1 \
			-- "$TARGETS/$target"
		ended_with 66
		holds '([.findings[].id] | unique | length) == (.findings | length)'
		counted
	done
}

@test "nothing is found where there is nothing" {
	campaign --jobs 2 --max-runs 30 -- "$TARGETS/clean/all_locks"
	ended_with 0
	holds '.verdict == "clean" and .delivery.undelivered_runs == 0'
	counted
}

@test "as many runs as asked for, and no candidate is tried too often" {
	campaign --jobs 2 --max-runs 13 --keep-going --confirm 0 \
		-- "$TARGETS/write_skew"
	holds '.runs.profile + .runs.enforced + .runs.controlled == 13 or
		(.exhausted and .runs.profile + .runs.enforced + .runs.controlled < 13)'
	counted
	[ "$(sql 'SELECT count(*) FROM runs WHERE attempt > 0')" -gt 3 ]
	[ "$(sql 'SELECT count(*) FROM (SELECT goal FROM runs WHERE attempt > 0
		GROUP BY goal, attempt HAVING count(*) > 1)')" = 0 ] ||
		fail "a try was made twice"
}

@test "max-time ends both" {
	campaign --jobs 2 --max-time 2s --strategy pctlarge \
		-- "$TARGETS/clean/timed_queue"
	ended_with 0
	holds '.seconds < 20'
	counted
	none_left "$TARGETS/clean/timed_queue"
}

@test "Ctrl-C ends both, and SIGKILL leaves neither" {
	for signal in INT KILL; do
		rm -f "$db"*
		timeout -s KILL 120 "$BUILD/mapletest" run --jobs 2 \
			--strategy pctlarge --db "$db" \
			-- "$TARGETS/clean/timed_queue" >"$dir/out" 2>&1 3>&- &
		for _ in {1..300}; do
			[ "$(sql "SELECT count(*) FROM runs
				WHERE kind = 'profile'" 2>/dev/null)" -gt 2 ] 2>/dev/null && break
			sleep 0.1
		done
		kill "-$signal" "$(pgrep -P $!)"
		wait $! || true
		none_left "$TARGETS/clean/timed_queue"
		[ "$(sql 'PRAGMA integrity_check')" = ok ]
	done
	[ "$(sql "SELECT count(*) FROM runs WHERE verdict IS NOT NULL")" -gt 2 ]
}

@test "an oracle, a setup and a teardown have their run each" {
	campaign --jobs 2 --max-runs 8 --keep-going --confirm 0 \
		--setup "echo s >>$dir/setups" \
		--teardown "echo t >>$dir/teardowns" \
		--oracle 'test "$MAPLE_STATUS" = 0 && test -r "$MAPLE_STDOUT"' \
		-- "$TARGETS/clean/mutex_counter"
	ended_with 0
	runs=$(jq '[.runs[]] | add' "$json")
	[ "$(wc -l <"$dir/setups")" -ge "$runs" ]
	[ "$(wc -l <"$dir/teardowns")" -ge "$runs" ]
}

@test "of several orders in one run, the one that fails is named" {
	for together in 1 8; do
		rm -f "$db"*
		campaign --together $together --max-runs 40 \
			-- "$TARGETS/bank_account"
		ended_with 66
		holds '.findings[0] | .confirm.forced[0] >= 4 and .confirm.flipped[0] <= 1'
		holds '.findings[0].title | test("orders in one run") | not'
		holds '.findings[0].plan | fromjson | has("then") | not'
		counted
	done
	campaign --together 9 -- "$TARGETS/bank_account"
	ended_with 2
}

@test "several orders in one run expose more, and nothing that is not there" {
	for together in 1 8; do
		rm -f "$db"*
		campaign --together $together --max-runs 20 --seed 7 \
			-- "$BUILD/tests/bench/work" compute 0
		ended_with 0
		holds '.verdict == "clean"'
		jq '[.coverage.exposed[]] | add' "$json" >"$dir/$together"
		counted
	done
	[ "$(<"$dir/8")" -gt "$(<"$dir/1")" ]
}

@test "mapled lends a CPU to each job, and gets them back" {
	unset MAPLE_NO_DAEMON
	memo=$dir/mapled.db
	echo "cpus = 0-$((cpus - 1))" >"$conf"
	start_mapled
	mapletest run --socket "$socket" --jobs 2 --format json \
		--output "$json" -- "$TARGETS/bank_account"
	ended_with 66
	[ "$(grep -c "CPU [0-9]* is lent" "$dir/log")" = 2 ] || cat "$dir/log"
	counted
	mapletest doctor --socket "$socket"
	grep -qE "0 of $cpus CPUs lent" <<<"$output$stderr"
	end_mapled
	grep -qv "outlived" "$dir/log"
}

@test "more jobs than mapled lends CPUs are refused" {
	unset MAPLE_NO_DAEMON
	echo "cpus = $((cpus - 1))" >"$conf"
	start_mapled
	mapletest run --socket "$socket" --jobs 2 -- "$TARGETS/bank_account"
	ended_with 125
	says "mapled lends 1 CPUs: --jobs 1"
}
