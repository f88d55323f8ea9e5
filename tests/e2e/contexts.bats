#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Programs whose accesses are made by functions that several callers share: how
# many runs the default takes; and that the bugs are there at all.

load common

CONTEXTS=$BUILD/tests/contexts

# By the default, or STRATEGY, within MOST runs, with each of seeds 1 to 3.
found() { # MOST NAME [STRATEGY]
	local seed

	for seed in ${seeds:-1 2 3}; do
		rm -f "$db"*
		limit=90 campaign --strategy "${3:-auto}" --seed "$seed" \
			--confirm 0 --max-runs "$1" -- "$CONTEXTS/$2"
		ended_with 66
		jq -e --argjson most "$1" '.to_first_finding.runs <= $most' \
			"$json" ||
			fail "$2: $(jq .to_first_finding.runs "$json") runs"
	done
}

clean() {
	limit=120 campaign --seed 1 --max-runs 60 --max-time 60s -- \
		"$CONTEXTS/clean/$1"
	ended_with 0
	holds '.verdict == "clean" and (.findings | length == 0)'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
}

@test "each program tells its bug, stands in the table, and has a test here" {
	local file name count=0

	for file in "$ROOT"/tests/contexts/*.c "$ROOT"/tests/contexts/*.cc; do
		name=$(basename "${file%.*}")
		grep -qE '^ \* Bug: ' "$file" || fail "$file tells no bug"
		grep -qE "^\| $name \|" "$ROOT/tests/contexts/README.md" ||
			fail "$name: README"
		grep -qE "^	found [0-9]+ $name\b" "$BATS_TEST_FILENAME" ||
			fail "$name: no test"
		count=$((count + 1))
	done
	[ "$count" -ge 12 ]
}

@test "the two orders of two fields, a look and a use, however far apart" {
	found 3 far
	found 3 order5
	found 3 own_touch
	found 3 raw_len
	found 3 atomics
	found 4 twins
}

@test "getters of a field each, and who reads before it writes" {
	found 4 statement
}

# What follows takes longer: the first harmless caller exposes all there is.
@test "the bugs that other callers hide are there" {
	seeds=1
	found 60 two_uses pos
	found 60 settings pos
	found 20 cases pos
	found 400 levels pos
	found 200 locked_helpers rank
}

@test "clean: a lock around two calls, a sequence lock" {
	clean outer_lock
	clean seqlock
}
