#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a finding calls variables, their types, and what was read and written.

load common

# The first finding of a campaign; its report, as text, goes to $output.
finding() {
	limit=90 campaign --seed "${seed:-1}" --confirm 1 --max-runs 60 "$@"
	ended_with 66
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	ended_with 0
}

shows() {
	grep -qF -- "$1" <<<"$output" || fail "no '$1' in: $output"
}

@test "a global: its name, its type, what was read, written, overwritten" {
	finding -- "$TARGETS/bank_account"
	holds '.findings[0].moments |
		all(.variable == "balance" and .type == "int" and
		    (.value | test("^-?[0-9]+$")))'
	holds '[.findings[0].moments[] | select(.kind == "W")] |
		length > 0 and all(.was == "1000" and .value != .was)'
	holds '[.findings[0].moments[] | select(.kind == "R")] | all(.was == null)'
	shows 'reads balance = 1000'
	shows '(was 1000)'
	shows '  balance: int'
}

@test "two globals of a torn pair have each their own value" {
	local seed

	# By switches, and not by an order, it may be found as well.
	for seed in 1 2 3 4 5 6; do
		rm -f "$db"*
		finding -- "$TARGETS/torn_pair"
		! jq -e '.findings[0].moments | length > 0' "$json" || break
	done
	holds '.findings[0].moments | length == 4 and all(.reached == "done")'
	holds '[.findings[0].moments[] | select(.variable == "width").value] |
		unique == ["1280"]'
	holds '[.findings[0].moments[].variable] | unique == ["height", "width"]'
}

@test "a pointer that becomes NULL, and the step that died of it" {
	finding -- "$TARGETS/queue_free"
	holds '.findings[0].moments |
		any(.value == "NULL" and (.was // "" | test("^0x")))'
	shows 'queue.lock = NULL'
}

@test "an array on main's stack, by whoever accesses it" {
	finding -- "$E2E/on_stack"
	holds '.findings[0].moments |
		all(.variable == "main: accounts[1].balance" and
		    .type == "int")'
	shows 'main: accounts[1].balance: int'
	[ "$(sed '/^Control/q' <<<"$output" | wc -L)" -le 80 ] ||
		fail "wide: $output"
}

@test "a member of a C++ object on the heap" {
	finding -- "$E2E/cpp_member"
	holds '[.findings[0].moments[].variable] |
		all(. == "Account::balance" or . == "Account::state")'
	holds '.findings[0].moments | all(.origin // "" | test("^malloc "))'
	holds '.findings[0].moments | all(.type | IN("int", "State"))'
}

@test "what JSON has of variables, the page and SARIF have as well" {
	finding -- "$TARGETS/bank_account"
	mapletest report --db "$db" --format sarif
	grep -qF 'reads balance = 1000' <<<"$output" || fail "$output"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	output=$(<"$BATS_TEST_TMPDIR/page.html")
	shows 'balance = 1000'
	shows '<small class="mono">int</small>'
}

@test "a replay and the database know of them too" {
	finding -- "$TARGETS/bank_account"
	cp "$json" "$BATS_TEST_TMPDIR/first.json"
	mapletest report --db "$db" --format json --output "$json"
	jq -e --slurpfile first "$BATS_TEST_TMPDIR/first.json" \
		'[.findings[0].moments[] | [.variable, .type, .value, .was]] ==
		 [$first[0].findings[0].moments[] |
			[.variable, .type, .value, .was]]' "$json" ||
		fail "not the same"
}
