#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The bugs that ColFinder was measured with (tests/paper): each is found within 10
# runs, with real-time priorities and by a user who may not use them, always by
# its order and never by the reverse; and their mended twins stay clean.

load common.bash

PAPER=$BUILD/tests/paper
NAMES=(lu fft radix ocean cholesky barnes fmm pbzip2 pfscan)

confirmed='.verdict == "finding" and .to_first_finding.runs <= 10 and
	.findings[0].confirm.forced == [5, 5] and
	.findings[0].confirm.flipped == [0, 5]'

@test "each bug of the paper is found within 10 runs" {
	local name

	for name in "${NAMES[@]}"; do
		rm -f "$db"
		campaign --seed 1 --max-runs 10 -- "$PAPER/$name"
		[ "$status" = 66 ] || fail "$name is not found"
		holds "$confirmed"
	done
}

@test "each is by who may use no real-time priorities" {
	local name

	in_public "${NAMES[@]/#/$PAPER/}"
	for name in "${NAMES[@]}"; do
		json=$public/state/$name.json
		as_nobody no "$public/mapletest" run --seed 1 --max-runs 10 \
			--format json --output "$json" -- "$public/$name"
		[ "$status" = 66 ] || fail "$name is not found"
		holds "$confirmed and (.real_time_priorities | not)"
	done
}

@test "without its bug each is clean" {
	local name

	for name in "${NAMES[@]}"; do
		rm -f "$db"
		campaign --seed 1 --max-runs 12 -- "$PAPER/$name.fixed"
		[ "$status" = 0 ] || fail "$name.fixed is not clean"
	done
}
