#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The map of what tests do not reach: pairs of places that may meet, with an end
# that no run has executed.

load common

# Runs the program a few times.
tested() { # INPUT [ARGUMENT...]
	local input=$1

	shift
	limit=60 campaign --quiet --seed 1 --max-runs 6 --input "$input" -- \
		"$E2E/half_tested" "$@"
	ended_with 0 125
}

unreached() {
	mapletest coverage --unreached --db "$db" "$@"
	ended_with 0
}

@test "what no run has executed is listed until a run has" {
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	tested none
	unreached half_tested
	# What both threads count was executed, and what is locked is no pair.
	grep -qx '       1  with an end that no run has executed' <<<"$output" ||
		fail "$output"
	grep -qx 'ask (half_tested.c) and seldom (half_tested.c)' \
		<<<"$output" || fail "$output"
	grep -qx '    rarely: 24 and 19\*' <<<"$output" || fail "$output"
	! grep -q 'kept' <<<"$output" || fail "$output"
	! grep -qi 'race' <<<"$output" || fail "$output"
	mapletest coverage --unreached --format json --db "$db" half_tested
	ended_with 0
	json=$BATS_TEST_TMPDIR/map.json
	printf '%s\n' "$output" >"$json"
	holds '.unreached | .may_meet == 2 and .executed == 1 and .never == 1 and
		.observed and .debug_information and .complete'
	holds '.unreached.pairs[0] | .variable == "rarely" and (.sections | not)
		and .places[0].function == "ask" and .places[0].executed and
		(.places[1].executed | not)'
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json" ||
		fail "not by the schema"
	# A campaign of an older maple has kept nothing of that.
	cp "$db" "$BATS_TEST_TMPDIR/old.db"
	sqlite3 "$BATS_TEST_TMPDIR/old.db" 'DELETE FROM corpus; DELETE FROM memo'
	mapletest coverage --unreached --db "$BATS_TEST_TMPDIR/old.db"
	ended_with 0
	grep -q "^what runs have executed is not known" <<<"$output" ||
		fail "$output"
	# With another input it is reached, and so for all of them.
	tested more 1
	unreached half_tested
	grep -qx '       0  with an end that no run has executed' <<<"$output" ||
		fail "$output"
	! grep -q 'rarely' <<<"$output" || fail "$output"
}

@test "another build than the tested one has no map, and it is said" {
	local program=$BATS_TEST_TMPDIR/program

	cp "$E2E/half_tested" "$program"
	limit=60 campaign --quiet --seed 1 --max-runs 2 -- "$program"
	ended_with 0 125
	cp "$E2E/by_argument" "$program"
	mapletest coverage --unreached --db "$db" program
	ended_with 125
	says 'another build'
	rm "$program"
	mapletest coverage --unreached --db "$db" program
	says 'cannot open'
}
