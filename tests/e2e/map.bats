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
	# The report has it as well, for who reads findings, and not for who is quiet.
	mapletest report --db "$db"
	ended_with 0
	grep -qx '       1  with an end that no run has executed' <<<"$output" ||
		fail "$output"
	grep -qx '    rarely: 24 and 19\*' <<<"$output" || fail "$output"
	mapletest report --quiet --db "$db"
	! grep -q 'no run has executed' <<<"$output" || fail "$output"
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

# Counts of the map in $json: in all, both orders, one, never, unexecuted.
counts() { # OF N...
	jq -c "$1 | [.may_meet, .both_orders, .one_order, .never_together, .never]" \
		"$json"
}

@test "in which order runs had two places is told, and becomes more" {
	local page=$BATS_TEST_TMPDIR/page.html

	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	# The older thread first, once: what it writes the younger one reads.
	limit=60 campaign --quiet --seed 1 --strategy maple --max-runs 1 -- \
		"$E2E/half_tested" 1
	ended_with 0 125
	unreached half_tested
	grep -qx '       1    in one order only' <<<"$output" || fail "$output"
	grep -qx '    rarely: 19 before 24' <<<"$output" || fail "$output"
	json=$BATS_TEST_TMPDIR/map.json
	mapletest coverage --unreached --format json --db "$db" half_tested
	printf '%s\n' "$output" >"$json"
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json" ||
		fail "not by the schema"
	[ "$(counts .unreached)" = '[2,1,1,0,0]' ] || fail "$output"
	holds '.unreached | .forced == 2 and .pairs == [] and
		(.executed_pairs | map(.seen) == ["one order", "both orders"])'
	holds '.unreached.executed_pairs[0] | .variable == "rarely" and
		(.places | map(.function) == ["seldom", "ask"])'
	mapletest report --db "$db" --html "$page"
	xmllint --noout "$page"
	grep -q '<b>1</b> in one order only' "$page" || fail "no bar"
	grep -q 'only this order' "$page" || fail "no list"
	# The other order is forced, and each form knows.
	limit=60 campaign --quiet --seed 1 --strategy maple --max-runs 6 -- \
		"$E2E/half_tested" 1
	ended_with 0 125
	mapletest coverage --format json --db "$db" half_tested
	printf '%s\n' "$output" >"$json"
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json" ||
		fail "not by the schema"
	[ "$(counts .map)" = '[2,2,0,0,0]' ] || fail "$output"
	mapletest coverage --db "$db" half_tested
	grep -qx '       2    in both orders, one end right after the other' \
		<<<"$output" || fail "$output"
	mapletest report --db "$db" --html "$page"
	grep -q '<b>2</b> in both orders' "$page" || fail "no bar"
	! grep -q 'not in both orders' "$page" || fail "a list"
}

# A failing run exposes no order for the memo; its finding tells.
@test "an order that fails was seen" {
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	campaign --seed 1 --max-runs 60 -- "$TARGETS/log_rotation"
	ended_with 66
	holds '.findings[0].moments | map(.function) == ["rotate", "update"]'
	mapletest coverage --unreached --format json --db "$db"
	json=$BATS_TEST_TMPDIR/map.json
	printf '%s\n' "$output" >"$json"
	holds '[.unreached.executed_pairs[] | select((.places | map(.line) | sort)
		== [24, 34])] | length == 1 and .[0].seen == "both orders"'
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
	# Where nobody asked for it, it is left out with the reason.
	mapletest coverage --db "$db" program
	ended_with 0
	grep -q '^which places may meet is not known: .*cannot open' \
		<<<"$output" || fail "$output"
	mapletest coverage --format json --db "$db" program
	ended_with 0
	jq -e '.map == null' <<<"$output" || fail "$output"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	grep -q 'Not known: .*cannot open' "$BATS_TEST_TMPDIR/page.html"
}
