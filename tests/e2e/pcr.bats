#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Schedules that are solved for: how many runs they take, and what is said of
# the patterns that they cover.

load common
load found

found() { # MOST PROGRAM [ARG...]
	found_by pcr "1 ${MAPLE_FULL:+2 3}" "$@"
}

also() {
	holds '.runs.profile == 0'
	holds '.findings[0].confirm.flipped[0] <= 1'
	holds '.findings[0] | .plan | fromjson | .policy.switches |
		map(select(.what < 2)) | length <= 3'
}

@test "reorder and two stages, however many threads there are" {
	found 4 "$CONTROL/reorder" 3
	found 4 "$CONTROL/reorder" 10
	found 4 "$CONTROL/reorder" 100
	found 6 "$CONTROL/two_stage"
	found 6 "$CONTROL/two_stage" 20
	found 6 "$CONTROL/two_stage" 100
}

@test "a driver, a wrong lock, queues that are stolen from, a string buffer" {
	found 4 "$CONTROL/driver_stop"
	found 6 "$CONTROL/wrong_lock"
	found 9 "$CONTROL/the_queue"
	found 4 "$TARGETS/steal_queue"
	found 4 "$TARGETS/string_buffer"
}

@test "what one dependency takes, and what two take" {
	found 4 "$TARGETS/bank_account"
	found 4 "$TARGETS/write_skew"
	found 4 "$TARGETS/torn_pair"
	found 4 "$TARGETS/getter"
	found 5 "$TARGETS/fiftieth"
	found 5 "$TARGETS/refcount"
	found 5 "$TARGETS/publish_early"
	found 10 "$CONTROL/account"
}

@test "collections and buffers that two threads use once, after a prefix" {
	found 5 "$CONTROL/first_setting"
	found 12 "$CONTROL/pool_restart"
	found 4 "$CONTROL/stream_close"
	found 4 "$CONTROL/growing_hash"
	found 3 "$CONTROL/last_index"
	found 3 "$CONTROL/copied_array"
	found 10 "$CONTROL/axis_range"
	found 4 "$CONTROL/sorted_series"
	found 3 "$CONTROL/detached_list"
	found 4 "$CONTROL/known_types"
}

@test "what goes round in a buffer, and what is popped from a stack" {
	found 8 "$CONTROL/circular_buffer"
	found 7 "$CONTROL/flagged_stack"
}

@test "locks that cross, and a signal that is lost" {
	found 4 "$TARGETS/lock_order"
	holds '.findings[0].kind == "deadlock"'
	found 12 "$TARGETS/lost_wakeup"
}

@test "what is right stays right until nothing is left, and is counted" {
	campaign --strategy pcr --until covered --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.verdict == "clean" and .stop == "saturated"'
	holds '.coverage.exposed["pattern 2"] > 0'
	holds '[.coverage.left[]] | add == 0'
	holds '[.coverage.barred[]] | add > 0'
	rm -f "$db"*
	mapletest run --db "$db" --strategy pcr --until covered --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	[[ $output$stderr == *"patterns exposed, 0 candidates left"* ]] ||
		fail "the patterns are not told"
	[[ $output$stderr == *"refuted"* ]] ||
		fail "what is refuted is not told"
	mapletest coverage --db "$db"
	[[ $output == *"pattern 2"* ]] || fail "the memo does not know them"
}

@test "what was covered once is no news to the next campaign" {
	campaign --strategy pcr --until covered --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	cp "$json" "$BATS_TEST_TMPDIR/first"
	campaign --strategy pcr --until covered --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	jq -e --slurpfile first "$BATS_TEST_TMPDIR/first" \
		'.runs.controlled <= $first[0].runs.controlled' "$json" ||
		fail "it took more runs than the first"
}

@test "maptest: the same patterns, met by chance" {
	found_by maptest 1 60 "$CONTROL/detached_list"
	holds '[.coverage.exposed[]] | add > 0'
	campaign --strategy maptest --until covered -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 2 125
}

@test "who draws counts the same patterns, if it is asked to" {
	campaign --strategy pos --patterns --seed 1 --max-runs 8 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.coverage.exposed | has("pattern 1") and ([.[]] | add > 0)'
	holds '.coverage.failed + .coverage.left | [.[]] | add == 0'
	campaign --patterns -- "$TARGETS/clean/mutex_counter"
	ended_with 2 125
	[[ $stderr == *"auto does not count them"* ]] ||
		fail "the cause is not said"
}

@test "the drawing of patterns over runs, and its table" {
	local out=$BATS_TEST_TMPDIR/bench

	run timeout -s KILL 60 "$ROOT/tests/bench/patterns" "$BUILD" --quick \
		--out "$out"
	[ "$status" = 0 ] || fail "$output"
	# pcr's four figures, then pos's
	grep -qE '^bank_account +([1-9][0-9]*\.[0-9] *){8}( behind)?$' \
		<<<"$output" || fail "$output"
	grep -q '^after all of these: on [01] of 1$' <<<"$output"
	xmllint --noout "$out/patterns.svg"
	[ "$(grep -c '<polyline' "$out/patterns.svg")" = 2 ]
	run "$ROOT/tests/bench/patterns" "$BUILD" --quick --out "$out" /bin/true
	[ "$status" = 1 ] || fail "$output"
}

@test "a seed is a campaign" {
	local once again

	for again in 1 2; do
		rm -f "$db"*
		campaign --strategy pcr --seed 7 --max-runs 60 -- \
			"$CONTROL/account"
		ended_with 66
		once=${once:-$(jq -c .to_first_finding.runs "$json")}
		holds ".to_first_finding.runs == $once"
	done
}

@test "who does not say what is left says so" {
	campaign --until covered -- "$TARGETS/clean/mutex_counter"
	ended_with 2 125
	[[ $stderr == *"--strategy pcr"* ]] || fail "the mend is not said"
	mapletest run --until dawn -- "$TARGETS/clean/mutex_counter"
	ended_with 2
}
