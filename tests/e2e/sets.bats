#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Orders of two units on one atomic set: those that no iRoot has are predicted,
# and forced; and of programs that keep others out nothing is said.

load common

# By iRoots and sets alone, however many runs fail.
sets() { # RUNS PROGRAM
	limit=120 campaign --strategy maple --seed 1 --keep-going --confirm 0 \
		--max-runs "$1" -- "$BUILD/tests/$2"
}

@test "fields that are read the other way round make orders that no idiom has" {
	sets 12 contexts/order5
	ended_with 66
	holds '.coverage.predicted["set 3"] == 2'
	holds '.coverage.predicted["set 4"] == 2'
}

@test "a step in between that harms nobody is forced, and was seen in the log" {
	sets 60 control/driver_stop
	ended_with 66
	holds '.coverage.predicted["set 2"] > 0'
	holds '.coverage.exposed["set 2"] > 0'
}

@test "a pair under an outer lock has none, and the program is clean" {
	sets 20 contexts/clean/outer_lock
	ended_with 0
	holds '[.coverage.predicted | to_entries[] |
		select(.key | startswith("set")).value] == [0, 0, 0, 0]'
	holds '.findings | length == 0'
}

@test "who asks for idioms has these alone" {
	limit=120 campaign --strategy maple --seed 1 --keep-going --confirm 0 \
		--idioms 1-6 --max-runs 6 -- "$BUILD/tests/contexts/order5"
	holds '[.coverage.predicted | to_entries[] |
		select(.key | startswith("set")).value] | add == 0'
	holds '.coverage.predicted["1"] > 0'
}

@test "violations that happened are told on demand, and are no findings" {
	limit=120 campaign --strategy maple --seed 1 --keep-going --confirm 0 \
		--violations --max-runs 12 -- "$BUILD/tests/contexts/order5"
	holds '.violations | length > 0'
	holds '[.violations[] | select(.set == "booked and paid" or
		.set == "paid and booked")] | length > 0'
	holds '[.violations[] | .moments | map(.role) | unique == [0, 1]] | all'
	holds '[.violations[] | .runs >= .failed_runs and .runs > 0] | all'
	holds '.sets.units > 0'
	limit=120 campaign --strategy maple --seed 1 --max-runs 2 --violations \
		-- "$BUILD/tests/contexts/clean/outer_lock"
	ended_with 0
	holds '.violations == []'
	limit=120 campaign --strategy maple --seed 1 --max-runs 2 \
		-- "$BUILD/tests/contexts/clean/outer_lock"
	holds '.violations == null and .sets == null'
}

@test "a declared set is known by its name, and what violates it fails if asked" {
	echo 'set counts global written, nested' >"$BATS_TEST_TMPDIR/sets"
	limit=120 campaign --seed 1 --confirm 0 --max-runs 40 \
		--atomic-sets "$BATS_TEST_TMPDIR/sets" \
		-- "$BUILD/tests/targets/clean/all_locks"
	ended_with 0
	holds '[.violations[] | select(.declared and .set == "counts")] | length > 0'
	holds '.sets.failures == 0'
	limit=120 campaign --seed 1 --confirm 0 --max-runs 40 --strict-sets \
		--atomic-sets "$BATS_TEST_TMPDIR/sets" \
		-- "$BUILD/tests/targets/clean/all_locks"
	ended_with 66
	holds '.verdict == "finding" and .findings == []'
	holds '.sets.failures > 0'
}

@test "what an atomic set declares that is not there, or wrong, is said" {
	echo 'set sums global booked, payd' >"$BATS_TEST_TMPDIR/sets"
	limit=120 campaign --max-runs 3 --atomic-sets "$BATS_TEST_TMPDIR/sets" \
		-- "$BUILD/tests/contexts/order5"
	ended_with 125
	grep -q "sets:1: set 'sums': .* no global variable 'payd'" \
		"$BATS_TEST_TMPDIR"/*
	echo 'sett sums global booked' >"$BATS_TEST_TMPDIR/sets"
	run "$BUILD/mapletest" run --atomic-sets "$BATS_TEST_TMPDIR/sets" true
	[ "$status" = 2 ]
	[[ $output == *"sets:1: no line begins with 'sett'"* ]]
	run "$BUILD/mapletest" run --strict-sets true
	[ "$status" = 2 ]
	[[ $output == *"--atomic-sets FILE"* ]]
}

@test "a violation that was foreseen and forced is kept, replayed and counted" {
	local id

	limit=120 campaign --strategy maple --seed 1 --keep-going --confirm 0 \
		--violations --max-runs 20 -- "$BUILD/tests/contexts/order5"
	holds '[.violations[] | select(.forced_runs > 0 and .replay)] | length > 0'
	holds '[.violations[] | select(.forced_runs == 0) | .replay] | all(. == null)'
	id=$(jq -r 'first(.violations[] | select(.forced_runs > 0)).id' "$json")
	run timeout -s KILL 120 "$BUILD/mapletest" replay --db "$db" --times 5 "$id"
	[ "$status" = 0 ] || fail "$output"
	[[ $output == *"$id: forced "[1-5]"/5 has the order"* ]] || fail "$output"
	# Below the findings, and only for who asks.
	run "$BUILD/mapletest" report --db "$db" --format json
	[ "$status" = 0 ] || fail "$output"
	jq -e '.violations == null and
		all(.findings[]; .kind != "violation")' <<<"$output" ||
		fail "$output"
	run "$BUILD/mapletest" report --db "$db" --format json --violations
	jq -e --arg id "$id" --slurpfile run "$json" '[.violations[].id] ==
		[$run[0].violations[].id] and any(.violations[]; .id == $id)' \
		<<<"$output" || fail "$output"
	run "$BUILD/mapletest" report --db "$db" --violations
	[[ $output == *"violations of atomic sets: orders"* &&
		$output == *"confirmed: foreseen, and forced in"* ]] ||
		fail "$output"
	run "$BUILD/mapletest" report --db "$db" --violations --format junit
	[[ $output == *"($id)"*'<skipped message="maple: violation of'* ]] ||
		fail "$output"
	run "$BUILD/mapletest" report --db "$db" --violations --format tap
	[[ $output == *"($id) # SKIP maple: violation of an atomic set: "* ]] ||
		fail "$output"
	run "$BUILD/mapletest" report --db "$db" --violations --format github
	[[ $output == *"::notice file=tests/contexts/order5.c,line="* ]] ||
		fail "$output"
	run "$BUILD/mapletest" report --db "$db" "$id"
	[[ $output == "Violation $id of an atomic set"* ]] || fail "$output"
	"$BUILD/mapletest" report --db "$db" --violations \
		--html "$BATS_TEST_TMPDIR/page.html"
	grep -q "violation <b class=\"mono\">$id" "$BATS_TEST_TMPDIR/page.html"
	run "$BUILD/mapletest" coverage --db "$db" --format json --violations
	jq -e --slurpfile run "$json" '.violations |
		.kept == ($run[0].violations | length) and .confirmed > 0 and
		([.patterns[].kept] | add) == .kept' <<<"$output" ||
		fail "$output"
}

# Random schedules go on for the campaign's whole time.
@test "a campaign that is killed leaves the violations that it was told of" {
	local pid try kept=0

	"$BUILD/mapletest" run --strategy pctlarge --seed 1 --keep-going \
		--confirm 0 --violations --db "$db" --max-time 600s \
		--quiet -- "$BUILD/tests/contexts/order5" \
		>/dev/null 2>&1 3>&- &
	pid=$!
	for ((try = 0; try < 3000 && kept == 0; try++)); do
		sleep 0.1
		kept=$("$BUILD/mapletest" report --db "$db" --violations \
			--format json 2>/dev/null | jq '.violations | length') || kept=0
	done
	kill -KILL "$pid" || fail "it was over"
	wait "$pid" || true
	[ "${kept:-0}" -gt 0 ] || fail "nothing was kept while it ran"
	run "$BUILD/mapletest" report --db "$db" --violations --format json
	[ "$status" = 0 ] || fail "$output"
	jq -e --argjson kept "$kept" '(.violations | length) >= $kept and
		all(.violations[]; .runs > 0 and .runs >= .failed_runs)' \
		<<<"$output" || fail "$output"
	none_left "$BUILD/tests/contexts/order5"
}

@test "counts of violations are sums over campaigns" {
	local round

	for round in 1 2; do
		limit=120 campaign --strategy maple --seed $round --keep-going \
			--confirm 0 --violations --max-runs 12 \
			-- "$BUILD/tests/contexts/order5"
		cp "$json" "$BATS_TEST_TMPDIR/campaign$round"
	done
	run "$BUILD/mapletest" report --db "$db" --violations --format json
	jq -e --slurpfile a "$BATS_TEST_TMPDIR/campaign1" \
		--slurpfile b "$BATS_TEST_TMPDIR/campaign2" '
		($a[0].violations + $b[0].violations | group_by(.id) |
			map({ (.[0].id): [(map(.runs) | add),
				(map(.failed_runs) | add),
				(map(.forced_runs) | add)] }) | add) ==
		(.violations | map({ (.id): [.runs, .failed_runs,
				.forced_runs] }) | add)' <<<"$output" ||
		fail "$output"
}

@test "a violation that is suppressed is counted, and no failure" {
	echo 'set counts global written, nested' >"$BATS_TEST_TMPDIR/sets"
	echo 'violation:^counts$' >"$BATS_TEST_TMPDIR/known"
	limit=120 campaign --seed 1 --confirm 0 --max-runs 40 --strict-sets \
		--atomic-sets "$BATS_TEST_TMPDIR/sets" \
		--suppressions "$BATS_TEST_TMPDIR/known" \
		-- "$BUILD/tests/targets/clean/all_locks"
	ended_with 0
	holds '.sets.failures == 0'
	holds '[.violations[] | select(.suppressed == "violation:^counts$")] |
		length > 0'
}
