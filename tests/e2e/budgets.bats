#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The default budget predicts of the targets what full observation does, in
# the same schedules; tests/bench/budget measures it on more.

load common

# Two profile runs with each budget; the lines are budget_runs's.
same_candidates() {
	run --separate-stderr timeout -s KILL 100 \
		"$BUILD/tests/bench/budget_runs" 2 "$TARGETS/$1"
	[ "$status" = 0 ] || fail "$1"
	lines=$(awk -F '\t' '$1 == "all" || $1 == "again" || $1 == "300"' \
		<<<"$output")
	[ "$(wc -l <<<"$lines")" = 3 ] || fail "$1: $output"
	awk -F '\t' '$2 == 0 || $3 + $4 + $5 != 0 { exit 1 }' <<<"$lines" ||
		fail "$1: $output"
}

events() { # BUDGET
	awk -F '\t' -v budget="$1" '$1 == budget { print $7 }' <<<"$lines"
}

@test "a budget keeps the candidates of a site that is executed very often" {
	same_candidates circular_list
	[ "$(events 300)" -gt 300 ]
	[ "$(events all)" -gt $((20 * $(events 300))) ]
}

@test "a budget keeps the candidates of the other targets" {
	local name

	for name in bank_account fiftieth lost_wakeup log_sweep publish_early \
		queue_free refcount string_buffer torn_pair write_skew; do
		same_candidates "$name"
	done
}

# Both threads are created before one of them adds to the counter, often; the
# other one comes when the budget is used up.
@test "a thread that begins late is seen at sites that are used up" {
	campaign --strategy pos --seed 1 --max-runs 2 -- \
		"$E2E/judged" many
	ended_with 0
	holds '.runs.profile == 2 and .coverage.predicted["3"] > 0'
}
