#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Runs that begin as others did: how many it takes to find what nothing else
# finds, and that what they find is an order like any other.

load common
load found

found() { # MOST PROGRAM [ARG...]
	found_by grey "1 ${MAPLE_FULL:+2 3}" "$@"
}

@test "five preemptions of three threads" {
	campaign --strategy grey --seed 5 --max-runs 5000 -- \
		"$CONTROL/index_stack"
	ended_with 66
	holds '.findings[0].confirm.forced == [5, 5]'
	holds '.findings[0] | .plan | fromjson | .policy.switches |
		map(select(.what < 2)) | length >= 5'
}

@test "what POS finds it finds as well" {
	found 200 "$CONTROL/reorder" 3
	found 200 "$CONTROL/driver_stop"
	found 200 "$CONTROL/the_queue"
	found 300 "$CONTROL/two_stage"
	found 200 "$TARGETS/string_buffer"
	found 200 "$TARGETS/steal_queue"
}

@test "what is right stays right, and what it exposes is counted" {
	campaign --strategy grey --seed 1 --max-runs 100 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.verdict == "clean" and .stop == "run limit"'
	holds '.runs.profile == 2 and .runs.controlled == 98'
	holds '[.coverage.exposed[]] | add > 0'
	holds '.delivery.undelivered_runs == 0'
}

@test "a campaign goes on with what the one before kept" {
	local lists

	# Beside it stands what was executed, which is no strategy's.
	kept() { sqlite3 "$db" "$1 FROM corpus WHERE strategy <> 'reached'"; }
	campaign --strategy grey --seed 1 --max-runs 60 -- \
		"$CONTROL/index_stack"
	ended_with 0
	[[ "$stderr" != *"of an earlier campaign"* ]] || fail "of which one?"
	[ "$(kept "SELECT strategy")" = grey ] || fail "$(kept "SELECT strategy")"
	lists=$(kept "SELECT json_array_length(text)")
	[ "$lists" -gt 10 ] && [ "$lists" -le 64 ] || fail "$lists lists"
	[ "$(kept "SELECT length(text) < 262144")" = 1 ] || fail "too long"

	# Each has a run, all that it names is there.
	campaign --strategy grey --seed 2 --max-runs 80 -- \
		"$CONTROL/index_stack"
	ended_with 0
	says "grey goes on with $lists schedules of an earlier campaign"
	holds '.runs.profile == 2 and .runs.controlled == 78'
	holds '.delivery.undelivered_runs == 0'
	[ "$(kept "SELECT count(*)")" = 1 ] || fail "kept twice"

	# The union, in another database.
	mapletest memo merge --db "$BATS_TEST_TMPDIR/other.db" "$db"
	ended_with 0
	db=$BATS_TEST_TMPDIR/other.db
	campaign --strategy grey --seed 3 --max-runs 10 -- \
		"$CONTROL/index_stack"
	says "grey goes on with [0-9]+ schedules of an earlier campaign"

	campaign --strategy grey --seed 1 --max-runs 10 --fresh -- \
		"$CONTROL/index_stack"
	ended_with 0
	[[ "$stderr" != *"of an earlier campaign"* ]] || fail "it was forgotten"
	mapletest memo forget --db "$db" index_stack
	[ "$(kept "SELECT count(*)")" = 0 ] || fail "it was not"
}

@test "a seed is a campaign" {
	local once again

	for again in 1 2; do
		rm -f "$db"*
		campaign --strategy grey --seed 7 --max-runs 300 -- \
			"$CONTROL/account"
		ended_with 66
		once=${once:-$(jq -c .to_first_finding.runs "$json")}
		holds ".to_first_finding.runs == $once"
	done
}
