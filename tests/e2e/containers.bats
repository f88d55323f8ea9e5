#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the program breaks inside the C++ library is found with default options;
# tests/bench/compilers is the long form.

load common

finds_all() { # PROGRAM
	local kind

	for kind in list map string hash; do
		db=$BATS_TEST_TMPDIR/$kind.db
		campaign --seed 1 --max-runs 100 --timeout 2 --confirm 0 -- \
			"$1" "$kind"
		ended_with 66
		holds '.findings | length >= 1'
	done
}

@test "containers under the shared side of a lock" {
	finds_all "$E2E/containers"
}

@test "... optimised, by the other compiler" {
	clang++ -std=c++17 -O2 -g -pthread -o "$BATS_TEST_TMPDIR/containers" \
		"$ROOT/tests/e2e/containers.cc"
	finds_all "$BATS_TEST_TMPDIR/containers"
}

@test "... and in the other library" {
	clang++ -std=c++17 -stdlib=libc++ -g -pthread \
		-o "$BATS_TEST_TMPDIR/containers" "$ROOT/tests/e2e/containers.cc"
	finds_all "$BATS_TEST_TMPDIR/containers"
}

@test "... and under the other side nothing is wrong with them" {
	local kind

	for kind in list map string hash; do
		db=$BATS_TEST_TMPDIR/$kind.db
		campaign --seed 1 --max-runs 30 --max-time 30 -- \
			"$E2E/containers" "$kind" exclusive
		ended_with 0
		holds '.findings | length == 0'
		holds '.runs.enforced >= 1'
	done
}

@test "of the C++ library only containers are observed, or all if asked" {
	local some all

	campaign --seed 1 --max-runs 1 -- "$E2E/containers" list exclusive
	some=$(jq '.delivery.sites' "$json")
	campaign --seed 1 --max-runs 1 --include 'libstdc++.so.*' -- \
		"$E2E/containers" list exclusive
	all=$(jq '.delivery.sites' "$json")
	echo "$some of $all"
	[ "$some" -gt 0 ] && [ "$all" -gt $((5 * some)) ]
}
