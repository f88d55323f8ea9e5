#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The subjects of the AssetFuzzer paper: in how many runs the default finds each of
# their bugs, and that their mended twins are clean.

load common

SETS=$BUILD/tests/sets

# By the default, within MOST runs, with each of seeds 1 to 3.
found() { # MOST NAME
	local seed

	for seed in 1 2 3; do
		rm -f "$db"*
		limit=90 campaign --seed "$seed" --confirm 0 --max-runs "$1" -- \
			"$SETS/$2"
		ended_with 66
		jq -e --argjson most "$1" '.to_first_finding.runs <= $most' \
			"$json" ||
			fail "$2: $(jq .to_first_finding.runs "$json") runs"
	done
}

clean() { # NAME
	limit=120 campaign --seed 1 --max-runs 40 --max-time 60s -- \
		"$SETS/clean/$1"
	ended_with 0
	holds '.verdict == "clean" and (.findings | length == 0)'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
}

@test "each program tells its bug, stands in the table, and has a test here" {
	local file name count=0

	for file in "$ROOT"/tests/sets/*.c "$ROOT"/tests/sets/*.cc; do
		name=$(basename "${file%.*}")
		grep -qE '^ \* Bug: ' "$file" || fail "$file tells no bug"
		grep -qE "^\| $name \|" "$ROOT/tests/sets/README.md" ||
			fail "$name: README"
		grep -qE "^	found [0-9]+ $name\b" "$BATS_TEST_FILENAME" ||
			fail "$name: no test"
		count=$((count + 1))
	done
	[ "$count" -ge 11 ]
}

@test "two methods that lock, and a call that is to be one" {
	found 3 append
	found 3 hedc
	found 8 weblech
}

@test "a lock that is not the one, or none" {
	found 3 raytracer
	found 3 jigsaw
	found 4 cache4j
}

@test "a list that is gone through while another thread changes it" {
	found 8 array_list
	found 4 linked_list
}

@test "a set that is gone through while another thread changes it" {
	found 4 hash_set
	found 4 tree_set
	found 4 linked_hash_set
}

@test "clean: the twins that hold both locks, and a barrier's flags" {
	clean append_whole
	clean weblech_whole
	clean set_whole
	clean moldyn
}
