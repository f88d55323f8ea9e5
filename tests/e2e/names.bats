#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a report tells people who write C++ and Rust: names as they stand in the
# source, the lines that they have written, and what their program has printed.

load common

# found PROGRAM SOURCE: a finding of it, all of whose forms are for people.
found() {
	local program=$E2E/$1 source=$2 out=$BATS_TEST_TMPDIR/out form

	cd "$ROOT" || return 1
	campaign --quiet --seed 1 -- "$program"
	ended_with 66
	"$BUILD/mapletest" report --db "$db" --html "$out.html"
	id=$(jq -r '.findings[0].id' "$json")
	"$BUILD/mapletest" report --db "$db" "$id" > "$out.text"
	for form in json sarif junit tap github; do
		"$BUILD/mapletest" report --db "$db" --format $form > "$out.$form"
	done
	"$BUILD/mapletest" report --db "$db" > "$out.list"
	# What a replay needs has a form of its own.
	jq '.findings[].plan = ""' "$json" > "$out.result"
	jq '.findings[].plan = ""' "$out.json" > "$out.tmp"
	mv "$out.tmp" "$out.json"
	jq '.runs[].results[].properties.finding.plan = ""' "$out.sarif" \
		> "$out.tmp"
	mv "$out.tmp" "$out.sarif"
	! grep -nE '_ZN|_Z[A-Z]|\b_R[A-Z]|17h[0-9a-f]{16}' "$out".* ||
		fail "mangled"
	holds ".findings[0].moments | length >= 2"
	holds ".findings[0].moments | all(.file | endswith(\"/$source\"))"
	holds ".findings[0].moments | all(.line > 0)"
	steps_are_in "$source" "$out"
}

# Every step of the text, of the page and of SARIF is in the file.
steps_are_in() { # SOURCE FILES
	local steps

	steps=$(sed '/^What happened/,$d' "$2.text" |
		grep -oE '(^| )[0-9] [^ ]+:[0-9]+ ') || fail "no steps in the text"
	! grep -v " $1:" <<< "$steps" || fail "a step elsewhere"
	steps=$(grep -oE '<div class="at mono">[^<]*' "$2.html") ||
		fail "no steps on the page"
	! grep -v ">$1:" <<< "$steps" || fail "a step elsewhere"
	jq -e --arg uri "tests/e2e/$1" '[.runs[].results[].codeFlows[]
		| .threadFlows[].locations[]
		| .location.physicalLocation.artifactLocation.uri]
		| length >= 2 and all(. == $uri)' "$2.sarif" ||
		fail "a step elsewhere in SARIF"
	# Nothing of it is outside of the tree.
	jq -e '[.. | .artifactLocation? // empty
		| select(.uriBaseId != "SRCROOT" or (.uri | test("^/|:")))]
		== []' "$2.sarif" || fail "SARIF points elsewhere"
	grep -q "^::error file=tests/e2e/$1,line=" "$2.github"
}

text() {
	cat "$BATS_TEST_TMPDIR/out.text"
}

# calls FUNCTION SOURCE: it is a frame of the thread that failed.
calls() {
	holds "[.findings[0].stacks[] | select(.failed) | .frames[]
		| select((.function // \"\" | startswith(\"$1\"))
			 and (.file // \"\" | endswith(\"/$2\")))] | length > 0"
}

@test "a C++ cache with a shared_mutex, a future and lambdas, -O0" {
	found shared_cache shared_cache.cc
	holds '.findings[0].title | test("in store::Cache::get( |$)")'
	text | grep -q 'Cache::get'
	text | grep -q '| 3 hits, of which [12] are counted'
}

@test "a C++ cache with a shared_mutex, a future and lambdas, -O2" {
	found shared_cache.O2 shared_cache.cc
	holds '.findings[0].title | test("in store::Cache::get( |$)")'
	text | grep -q '| 3 hits, of which [12] are counted'
}

@test "atomics are shown at the line that uses them, -O0" {
	found atomic_pool atomic_pool.cc
	holds '.findings[0].moments | all(.inlined | startswith("std::"))'
	text | grep -q 'inlined atomic_base.h:[0-9]* '
	calls Pool::take atomic_pool.cc
	calls 'main::{lambda' atomic_pool.cc
}

@test "atomics are shown at the line that uses them, -O2" {
	found atomic_pool.O2 atomic_pool.cc
	holds '.findings[0].title | startswith("SIGABRT in Pool::take")'
	holds '.findings[0].moments | all(.inlined | startswith("std::"))'
	text | grep -q 'inlined atomic_base.h:[0-9]* '
	grep -q 'inlined atomic_base.h' "$BATS_TEST_TMPDIR/out.html"
	# Of what was put into one function each is a frame.
	calls Pool::take atomic_pool.cc
	calls 'main::{lambda' atomic_pool.cc
}

@test "a Rust program, names mangled the old way" {
	unset RUST_BACKTRACE
	found tickets tickets.rs
	holds '.findings[0].title | test("office::Tickets::draw")'
	text | grep -q '| .*a number was drawn twice'
}

@test "a Rust program, names mangled the new way, optimised" {
	found tickets.O2 tickets.rs
	holds '.findings[0].title | test("office::Tickets::draw")'
}

@test "suppressions name functions as the source does" {
	local file=$BATS_TEST_TMPDIR/known line

	for line in '^store::Cache::get$' '^store::Cache<*long>::get('; do
		echo "race:$line" > "$file"
		rm -f "$db"
		campaign --quiet --seed 1 --suppressions "$file" --max-runs 30 \
			-- "$E2E/shared_cache.O2"
		holds '.findings == [] and (.suppressed | length > 0)'
	done
}

@test "what the oracle has printed belongs to the finding" {
	local text=$BATS_TEST_TMPDIR/text

	mapletest run --db "$db" --quiet --seed 1 --output "$text" \
		--oracle 'for i in $(seq 30); do echo "line $i of it"; done
			! grep counted "$MAPLE_STDOUT" >&2' \
		-- "$E2E/shared_cache.O2" ok
	ended_with 66
	# Of what it has said of runs that are right nothing is shown.
	[ "$(cat "$text" - <<< "$output$stderr" | grep -c 'line 30 of it')" = 1 ]
	grep -q '^What the oracle printed, the last 20 of 31 lines' "$text"
	! grep -q 'line 11 of it' "$text" || fail "$(cat "$text")"
	grep -q '^  | line 12 of it' "$text"
	grep -q '^  | 3 hits, of which [12] are counted' "$text"
	"$BUILD/mapletest" report --db "$db" --html "$BATS_TEST_TMPDIR/page"
	grep -q 'What the oracle printed' "$BATS_TEST_TMPDIR/page"
	"$BUILD/mapletest" report --db "$db" --format json > "$json"
	holds '.findings[0].oracle | test("line 1 of it")'
	"$BUILD/mapletest" report --db "$db" --format sarif \
		> "$BATS_TEST_TMPDIR/sarif"
	jq -e '.runs[].results[0].message.text | test("line 30 of it")' \
		"$BATS_TEST_TMPDIR/sarif"
}
