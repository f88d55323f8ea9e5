#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Lost wake-ups, however they were compiled; tests/bench/compilers is the long
# form.

load common

finds() { # PROGRAM
	db=$BATS_TEST_TMPDIR/$BATS_TEST_NUMBER.$RANDOM.db
	campaign --seed 1 --max-runs 60 --confirm 0 -- "$1"
	ended_with 66
	holds '.findings[0].kind | test("^(deadlock|hang)$")'
}

@test "a flag that is signalled without the lock, optimised" {
	local cc name

	for cc in cc clang; do
		for name in lost_wakeup stop_pool; do
			$cc -O2 -g -pthread -o "$BATS_TEST_TMPDIR/$name" \
				"$ROOT/tests/targets/$name.c"
			finds "$BATS_TEST_TMPDIR/$name"
		done
	done
}

@test "a signal that can come before the wait is an event of an iRoot" {
	local id

	campaign --seed 1 --max-runs 60 -- "$E2E/early_signal"
	ended_with 66
	holds '.findings[0].kind | test("^(deadlock|hang)$")'
	holds '.findings[0].iroot | [.[].kind] == ["S", "C"]'
	holds '.findings[0].confirm | .forced[0] >= 4 and .flipped[0] <= 1'
	id=$(jq -r '.findings[0].id' "$json")
	mapletest report --db "$db" "$id"
	ended_with 0
	grep -q 'signals .*changed' <<<"$output" || fail "does not say who signals"
	grep -q 'waits on .*changed' <<<"$output" || fail "does not say who waits"
	mapletest replay --db "$db" "$id" --times 2
	ended_with 0
}

@test "... and is harmless to who looks again under the lock" {
	campaign --seed 1 --max-runs 60 --max-time 30 -- "$E2E/early_signal" x
	ended_with 0
	holds '.findings | length == 0'
	holds '.runs.enforced >= 1'
}
