#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# --each-test: real test programs of each framework, and lists of the user's.

load common

SUITES=$E2E/suites

# One case has the bug, in an order that harmless cases have as well.
found_one() { # NAME CASES DISABLED
	ended_with 66
	holds '.verdict == "finding" and .counts.finding == 1'
	[ "$(jq -r '.cases[] | select(.verdict == "finding").name' "$json")" = "$1" ] ||
		fail "not the case $1"
	[ "$(jq '.cases | length' "$json")" = "$2" ]
	[ "$(jq .disabled "$json")" = "$3" ]
	jq -e '.cases[] | select(.verdict == "finding") |
		.argv as $argv | .result.findings |
		length >= 1 and all(.[]; .argv == $argv)' "$json"
}

validate() {
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json"
}

@test "gtest: the eighth case is found, the other ones are clean" {
	campaign --each-test --seed 3 --max-runs 12 -- "$SUITES/gtest"
	found_one Account.HasAll 10 1
	holds '.framework == "gtest"'
	holds '.counts == {"clean": 8, "finding": 1, "single-threaded": 1, "not tested": 0}'
	holds '.cases[7].verdict == "finding" and .cases[9].name == "Sums/Any.IsThere/0"'
	holds 'all(.cases[]; .argv[-1] == "--gtest_filter=" + .name)'
	validate
	# Known for each case: again, and no case takes over another's.
	campaign --each-test --seed 4 --max-runs 12 -- "$SUITES/gtest"
	ended_with 66
	"$BUILD/mapletest" memo list --db "$db" | grep -q 'gtest --gtest_filter=Account.HasAll$'
	id=$("$BUILD/mapletest" report --db "$db" | sed -n '1s/ .*//p')
	mapletest replay --db "$db" --times 3 "$id"
	ended_with 0
}

@test "Catch2: a name with all that Catch2 could take for something else" {
	campaign --each-test --seed 3 --max-runs 12 -- "$SUITES/catch2"
	found_one '-x [is] no "option" \ tag, and longer than a line of the list of cases has room for' 2 0
	holds '.framework == "Catch2" and .cases[0].verdict == "clean"'
	validate
}

@test "doctest: commas and backslashes; what is skipped is counted" {
	campaign --each-test --seed 3 --max-runs 12 -- "$SUITES/doctest"
	found_one 'all, of \ it' 2 1
	holds '.framework == "doctest" and .cases[0].verdict == "clean"'
}

@test "Boost.Test: a tree of suites, descriptions, templates" {
	campaign --each-test --seed 3 --max-runs 12 -- "$SUITES/boost"
	found_one account/inner/all 4 1
	holds '.framework == "Boost.Test"'
	holds '[.cases[].name] == ["account/some", "account/inner/all", "sized<int>", "sized<long>"]'
}

@test "Rust: modules; what is ignored is counted" {
	campaign --each-test --seed 3 --max-runs 150 --max-time 20s -- "$SUITES/rust"
	found_one account::has_all 2 1
	holds '.framework == "Rust" and .cases[1].argv[1:] == ["--exact", "is_there"]'
}

@test "a list of the user's: in place of {}, or last" {
	campaign --each-test='printf "0 5\n0 0\n"' --max-runs 4 -- \
		"$SUITES/by_number" x{}y
	ended_with 0
	holds '.framework == "list" and [.cases[].argv[1]] == ["x0 5y", "x0 0y"]'
	campaign --each-test='echo 1; echo 2' --max-runs 4 --input night -- \
		"$SUITES/by_number"
	ended_with 0
	holds '[.cases[].argv[1:]] == [["1"], ["2"]]'
	"$BUILD/mapletest" memo list --db "$db" | grep -q 'input night 2$'
	campaign --each-test='echo no list; exit 3' -- "$SUITES/by_number"
	ended_with 125
	says "--each-test='echo no list; exit 3' fails"
	campaign --each-test=true -- "$SUITES/by_number"
	ended_with 125
	says "lists no case"
}

@test "all single-threaded: nothing was tested, 125" {
	campaign --each-test='echo single; echo single2' --max-runs 4 -- \
		"$SUITES/by_number"
	ended_with 125
	holds '.verdict == "single-threaded" and .counts["single-threaded"] == 2'
	campaign --each-test='echo single; echo 1' --max-runs 4 -- \
		"$SUITES/by_number"
	ended_with 0
	holds '.verdict == "clean" and .counts.clean == 1'
}

@test "cases whose turn did not come are not tested: 125" {
	campaign --each-test='seq 1 400' --max-time 1s -- "$SUITES/by_number"
	ended_with 125
	holds '.verdict == "not tested" and .counts["not tested"] > 0'
	holds '[.cases[] | select(.verdict == "not tested") | .why] |
		all(. != null)'
	validate
}

@test "a case that fails by itself is not tested, the others are" {
	campaign --each-test='echo fails; echo 1' --max-runs 4 -- \
		"$SUITES/by_number"
	ended_with 125
	holds '.cases[0].verdict == "not tested" and .cases[1].verdict == "clean"'
}

@test "a program that is none of theirs: what was tried, and the mend" {
	campaign --each-test -- "$TARGETS/clean/mutex_counter"
	ended_with 125
	says 'does not answer as .* gtest .*Catch2.*Rust.*Boost.Test.*doctest'
	says "--each-test='COMMAND'"
	campaign --each-test -- "$BATS_TEST_TMPDIR/nothing"
	ended_with 127
}

# Of the ten cases three, unless MAPLE_FULL, and as many runs as the bug takes.
@test "every form of report has every case" {
	local d=$BATS_TEST_TMPDIR format number=2 clean=1 cases=3
	local some=(--max-runs 6 --confirm 1 -- "$SUITES/gtest"
		'--gtest_filter=Account.*')

	[ -z "${MAPLE_FULL:-}" ] || number=8 clean=8 cases=10 \
		some=(--max-runs 12 -- "$SUITES/gtest")
	for format in text junit tap sarif github jsonl; do
		mapletest run --each-test --seed 3 --no-daemon \
			--db "$d/$format.db" --format $format \
			--output "$d/$format" "${some[@]}"
		ended_with 66
	done
	grep -q '^finding  *Account.HasAll ' "$d/text"
	grep -q "^$cases cases (gtest) .*clean: $clean, finding: 1, single-threaded: 1; 1 disabled" "$d/text"
	xmllint --noout --schema "$ROOT/tests/data/junit.xsd" "$d/junit"
	[ "$(grep -c '<testcase' "$d/junit")" = $cases ]
	[ "$(grep -c '<failure' "$d/junit")" = 1 ]
	[ "$(grep -c '<skipped' "$d/junit")" = 1 ]
	grep -qx "1..$cases" "$d/tap"
	[ "$(grep -c '^ok' "$d/tap")" = $((cases - 1)) ]
	grep -q "^not ok $number - Account.HasAll" "$d/tap"
	"$ROOT/tests/validate" "$ROOT/tests/data/sarif-2.1.0.schema.json" "$d/sarif"
	jq -e '.runs[0].results | length >= 1' "$d/sarif"
	[ "$(grep -c '^::error' "$d/github")" = 1 ]
	grep -q "^::notice title=mapletest::clean: $clean, finding: 1" "$d/github"
	jq -e "select(.event == \"end\") | .cases | length == $cases" "$d/jsonl"
	[ "$(jq -c 'select(.event == "start")' "$d/jsonl" | wc -l)" -ge $cases ]
	cp "$d/jsonl" "$d/run.jsonl"
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$d/run.jsonl"
	"$BUILD/mapletest" report --db "$d/jsonl.db" --html "$d/page.html"
	xmllint --noout "$d/page.html"
	grep -q 'Coverage of gtest .*--gtest_filter=Account.HasAll' "$d/page.html"
}

# The cases that the result has, of task $1 of $2.
cases_of() { # OPTION...
	rm -f "$json"
	mapletest run --each-test='seq 1 5' --max-runs 4 --format json \
		--output "$json" --db "$BATS_TEST_TMPDIR/share.db" "$@" -- \
		"$SUITES/by_number" {}
	jq -c '[.cases[].name]' "$json"
}

@test "tasks divide the cases: each is one's, whoever has started them" {
	[ "$(cases_of --share 1/2)" = '["1","3","5"]' ]
	[ "$(cases_of --share 2/2)" = '["2","4"]' ]
	[ "$(SLURM_ARRAY_TASK_ID=12 SLURM_ARRAY_TASK_MIN=10 \
		SLURM_ARRAY_TASK_STEP=2 cases_of --share 4)" = '["2"]' ]
	[ "$(JOB_COMPLETION_INDEX=0 cases_of --share 4)" = '["1","5"]' ]
	[ "$(PARALLEL_SEQ=3 cases_of --share 4)" = '["3"]' ]
	# What tests nothing passes nothing.
	mapletest run --each-test='seq 1 2' --share 3/3 --max-runs 4 \
		--db "$db" -- "$SUITES/by_number" {}
	ended_with 125
	says "task 3 of 3 has no case, since there are 2"
}

@test "a share that cannot be is refused" {
	local share

	for share in 0/2 3/2 1/0 x 1/ /2 4; do
		mapletest run --share $share -- true
		ended_with 2
		says "wants K/N.*SLURM_ARRAY_TASK_ID"
	done
	PARALLEL_SEQ=x mapletest run --share 4 -- true
	ended_with 2
}
