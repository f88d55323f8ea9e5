#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Schedules that are one turn further: how many runs they take, and what is said
# once all within a bound were run.

load common
load found

# Nothing is drawn: a seed is as good as another.
found() { # MOST PROGRAM [ARG...]
	found_by rank 1 "$@"
}

also() {
	holds '.runs.profile == 0'
	holds '.findings[0] | .plan | fromjson | .policy.switches |
		map(select(.what < 2)) | length <= 3'
}

@test "reorder and two stages, however many threads there are" {
	found 6 "$CONTROL/reorder" 3
	found 6 "$CONTROL/reorder" 20
	found 6 "$CONTROL/reorder" 50
	found 5 "$CONTROL/two_stage"
	found 6 "$CONTROL/two_stage" 50
}

@test "a driver, a wrong lock, queues that are stolen from, a sort" {
	found 8 "$CONTROL/driver_stop"
	found 8 "$CONTROL/wrong_lock"
	found 6 "$CONTROL/the_queue"
	found 20 "$TARGETS/steal_queue"
	found 8 "$CONTROL/shared_sort"
}

@test "what one turn takes, and what several take" {
	found 4 "$TARGETS/string_buffer"
	found 4 "$TARGETS/bank_account"
	found 8 "$TARGETS/getter"
	found 4 "$TARGETS/circular_list"
	found 6 "$TARGETS/fiftieth"
	found 10 "$CONTROL/account"
	found 12 "$TARGETS/keyring"
}

@test "code that has no sites, once it was seen" {
	watchpoints_hit
	found 20 "$CONTROL/jit_cell"
}

@test "two preemptions at one variable, and at two" {
	found 20 "$CONTROL/free_block"
	found 2000 "$CONTROL/region_owner"
}

@test "locks that cross, signals that are lost, or come to another" {
	found 4 "$TARGETS/lock_order"
	holds '.findings[0].kind == "deadlock"'
	found 6 "$TARGETS/lost_wakeup"
	found 40 "$CONTROL/stolen_wakeup"
}

@test "the younger threads first is an order that replays like any" {
	local id

	found 3 "$CONTROL/lazy_init"
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay "$id" --db "$db" --times 5
	ended_with 0
	[[ $output$stderr == *5/5* ]] || fail "it did not fail each time"
}

@test "--exhaust: all schedules within a bound, and it says so" {
	campaign --strategy rank --exhaust --preemptions 1 --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.verdict == "clean" and .stop == "saturated"'
	holds '.bound | .exhausted and .preemptions == 1 and .unsure == 0 and
		.schedules > 100 and .orders > 10 and .counted == "preemption"'
	rm -f "$db"*
	mapletest run --db "$db" --strategy rank --exhaust --preemptions 1 \
		--seed 1 -- "$TARGETS/clean/mutex_counter"
	[[ $output$stderr == *"all schedules with at most 1 preemption were run, "*": none fails"* ]] ||
		fail "it does not say so"
}

@test "--exhaust: what fails is found, and nothing is claimed" {
	campaign --strategy rank --exhaust --seed 1 -- "$TARGETS/bank_account"
	ended_with 66
	holds '.bound.exhausted | not'
}

@test "--exhaust: who is not done by the end has said nothing" {
	campaign --strategy rank --exhaust --preemptions 3 --max-runs 100 \
		--seed 1 -- "$TARGETS/clean/mutex_counter"
	ended_with 125
	holds '.verdict == "undelivered" and (.bound.exhausted | not)'
	holds '.undelivered | contains("not all schedules were run")'
}

# Their own orders: fewest preemptions, delays, or variables first.
@test "the published searches find what they should" {
	local program

	unset -f also
	for program in "$CONTROL/two_stage" "$TARGETS/string_buffer" \
		"$CONTROL/driver_stop" "$TARGETS/bank_account" \
		"$TARGETS/circular_list"; do
		found_by chess 1 24 "$program"
		found_by delay 1 20 "$program"
		found_by rankchecker 1 24 "$program"
	done
}

@test "the bounds that a finding tells are those within which it is found" {
	local bounds

	found 8 "$CONTROL/driver_stop"
	bounds=$(jq -r '.findings[0] | "--preemptions", .preemptions,
		"--variables", .variables, "--threads", .threads' "$json")
	holds '.findings[0] | .preemptions == 1 and .variables == 1 and
		.threads == 3'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	[[ $output == *"That is 1 preemption, at 1 variable, of 3 threads."* ]] ||
		fail "it does not say so"
	rm -f "$db"*
	campaign --strategy chess --exhaust $bounds --seed 1 -- \
		"$CONTROL/driver_stop"
	ended_with 66
}

@test "what has no bounds says so" {
	campaign --exhaust -- "$TARGETS/clean/mutex_counter"
	ended_with 2 125
	[[ $stderr == *"--strategy rank"* ]] || fail "the mend is not said"
	mapletest run --preemptions 9 -- "$TARGETS/clean/mutex_counter"
	ended_with 2
	[[ $stderr == *"1 to 8"* ]] || fail "the range is not said"
}
