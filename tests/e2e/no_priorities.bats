#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a user finds who may not use real-time priorities: bugs, by controlled
# runs that hold threads asleep. That these are the same runs, choice by choice,
# is unit/test_control_asleep's affair.

load common.bash

CONTROL=$BUILD/tests/control

@test "without priorities the paper's targets are found, and say how" {
	local name names=(bank_account refcount queue_free write_skew torn_pair
		log_sweep log_rotation publish_early getter fiftieth
		string_buffer lost_wakeup lock_order)

	in_public "${names[@]/#/$TARGETS/}"
	for name in "${names[@]}"; do
		json=$public/state/$name.json
		as_nobody no "$public/mapletest" run --seed 1 --max-runs 60 \
			--format json --output "$json" -- "$public/$name"
		[ "$status" = 66 ] || fail "$name is not found"
		[[ $stderr = *"real-time priorities are refused"* ]] ||
			fail "$name: nobody says that they are refused"
		jq -e '.verdict == "finding" and .runs.enforced == 0 and
			(.real_time_priorities | not) and
			.findings[0].confirm == {"forced": [5, 5],
				"flipped": [0, 5]}' "$json" ||
			fail "$name"
	done
}

@test "without priorities a finding replays, each time" {
	local id

	in_public "$TARGETS/bank_account"
	as_nobody no "$public/mapletest" run --seed 2 -- "$public/bank_account"
	ended_with 66
	[[ $stderr = *"without real-time priorities:"* ]] || fail "no word"
	id=$(sed -n 's/^Replay: .* replay \([0-9a-f]*\).*/\1/p' <<<"$stderr")
	as_nobody no "$public/mapletest" replay --times 20 "$id"
	ended_with 0
	[[ $output$stderr = *"20/20"* ]] || fail "not each time"
}

@test "without priorities clean programs stay clean, and the report says how" {
	local name names=(mutex_counter stop_pool spin_wait timed_queue)

	in_public "${names[@]/#/$TARGETS/clean/}"
	for name in "${names[@]}"; do
		as_nobody no "$public/mapletest" run --seed 1 --max-runs 60 -- \
			"$public/$name"
		ended_with 0
		[[ $stderr = *"without real-time priorities:"* ]] ||
			fail "$name: no word of it"
	done
}

@test "without priorities doctor finds its canary" {
	in_public
	as_nobody no "$public/mapletest" doctor --format json
	ended_with 0
	jq -e '[.probes[] | select(.name == "real-time priorities" or
		.name == "canary")] | map(.state) == ["info", "ok"]' \
		<<<"$output" || fail "$(jq .probes <<<"$output")"
}

@test "what takes priorities says so, refused or given up" {
	in_public "$TARGETS/bank_account"
	as_nobody no "$public/mapletest" run --between true -- \
		"$public/bank_account"
	ended_with 125
	[[ $stderr = *rtprio* ]] || fail "no mend"
	mapletest run --no-priorities --strategy maple -- "$TARGETS/getter"
	ended_with 125
	[[ $stderr = *"--no-priorities: this --strategy takes them"* ]] ||
		fail "no reason"
	mapletest run --no-priorities --between true -- "$TARGETS/getter"
	ended_with 125
	[[ $stderr = *"--no-priorities: --between takes them"* ]] ||
		fail "no reason"
}

# Natively it takes a second, and the first run is one that only observes.
@test "without priorities nothing is clean before a controlled run" {
	campaign --no-priorities --real-time --seed 1 --max-runs 1 -- \
		"$CONTROL/outside"
	ended_with 125
	holds '.verdict == "undelivered" and .runs.controlled == 0 and
		(.undelivered | test("no controlled run came"))'
	mapletest run --no-priorities --order paper -- "$CONTROL/outside"
	ended_with 125
	[[ $stderr = *"--no-priorities: --order paper takes them"* ]] ||
		fail "no reason"
}

@test "an order that takes priorities is not replayed without, and stays open" {
	local id

	campaign --strategy maple --seed 1 -- "$TARGETS/getter"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay --no-priorities --db "$db" "$id"
	ended_with 125
	[[ $stderr = *"--no-priorities: this finding's order takes them"* ]] ||
		fail "no reason"
	campaign --no-priorities --seed 1 --max-runs 5 -- "$TARGETS/getter"
	[[ $stderr = *"known finding $id is not replayed"* ]] || fail "no word"
	[ "$(jq '.fixed | length' "$json")" = 0 ] || fail "it is gone"
	mapletest report --format json --db "$db"
	jq -e --arg id "$id" '[.. | .id? | select(. == $id)] | length >= 1' \
		<<<"$output" >/dev/null || fail "it is gone"
}

@test "without priorities all schedules of a bound are as many" {
	local with

	campaign --strategy rank --exhaust --preemptions 1 --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	with=$(jq -c .bound "$json")
	campaign --no-priorities --fresh --strategy rank --exhaust \
		--preemptions 1 --seed 1 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	[ "$(jq -c .bound "$json")" = "$with" ] ||
		fail "with priorities: $with"
}
