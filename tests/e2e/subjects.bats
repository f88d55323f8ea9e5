#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The subjects of the AssetFuzzer paper: in how many runs the default finds each of
# their bugs, and that their mended twins are clean.

load common

SETS=$BUILD/tests/sets

# By the default, within MOST runs, with seed 1, and with 2 and 3 if MAPLE_FULL=1.
found() { # MOST NAME
	local seed

	for seed in 1 ${MAPLE_FULL:+2 3}; do
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
	found 5 append
	found 5 hedc
	found 10 weblech
}

@test "a lock that is not the one, or none" {
	found 5 raytracer
	found 5 jigsaw
	found 6 cache4j
}

@test "a list that is gone through while another thread changes it" {
	found 10 array_list
	found 8 linked_list
}

@test "a set that is gone through while another thread changes it" {
	found 8 hash_set
	found 8 tree_set
	found 8 linked_hash_set
}

@test "clean: the twins that hold both locks, and a barrier's flags" {
	clean append_whole
	clean weblech_whole
	clean set_whole
	clean moldyn
}

@test "the paper's table: a line for each program, and who found how many" {
	run timeout -s KILL 400 "$ROOT/tests/bench/sets" "$BUILD" --quick \
		--out "$BATS_TEST_TMPDIR"
	[ "$status" = 0 ] || fail "$output"
	[ "$(grep -cE '^(violations|fail|first|exceptions|findings|slowdown) +auto +native$' \
		<<<"$output")" = 6 ] || fail "$output"
	[ "$(grep -cE '^(raytracer|hedc)( +(-|[0-9.]+)){2}$' <<<"$output")" = 12 ] ||
		fail "$output"
	grep -qE '^auto: [1-9].*; 2 of 2 campaigns found a failure$' \
		<<<"$output" || fail "$output"
}

@test "the paper's table: means, medians, and what is not told or was not run" {
	local tsv=$BATS_TEST_TMPDIR/made.tsv

	{
		printf 'run\ta\tauto\t1\t10\t4\t3\t7\t2\t0.1\n'
		printf 'run\ta\tauto\t2\t10\t6\t5\t8\t2\t0.1\n'
		printf 'run\ta\tauto\t3\t10\t5\t4\t9\t2\t0.1\n'
		printf 'failure\ta\tauto\t%s\t%s\n' one f one g two g
		printf 'run\ta\tnative\t1\t10\t0\t-\t-\t1\t0.1\n'
		printf 'run\tb\tauto\t1\t10\t0\t-\t2\t2\t0.1\n'
	} >"$tsv"
	run awk -v strategies=auto,native -f "$ROOT/tests/bench/sets.awk" "$tsv"
	[ "$status" = 0 ] || fail "$output"
	[ "$(sed -n 's/^a  *//p' <<<"$output" | tr -s ' ' | tr '\n' ,)" = \
		'8.0 -,50.0 0.0,4 -,2 0,2 0,2.0 1.0,' ] || fail "$output"
	[ "$(sed -n 's/^b  *//p' <<<"$output" | tr -s ' ' | tr '\n' ,)" = \
		'2.0 failed,0.0 failed,- failed,0 failed,0 failed,2.0 failed,' ] ||
		fail "$output"
	grep -q '^auto: 25.0 % .*; 3 of 4 campaigns' <<<"$output" ||
		fail "$output"
	run awk -f "$ROOT/tests/bench/sets.awk" /dev/null
	[ "$status" = 1 ] || fail "nothing measured is no success"
}
