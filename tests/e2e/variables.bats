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
	# By switches, and not by an order, it may be found as well.
	finding --order paper -- "$TARGETS/torn_pair"
	holds '.findings[0].moments | length == 4 and all(.reached == "done")'
	holds '[.findings[0].moments[] | select(.variable == "width").value] |
		unique == ["1280"]'
	holds '[.findings[0].moments[].variable] | unique == ["height", "width"]'
}

# The same of a finding by switches, by $1.
switches() {
	rm -f "$db"*
	finding --strategy "$@"
	holds '.findings[0] | .class == null and .confirm.forced == [1, 1]'
	holds '.findings[0].moments | length > 0 and
		all(.thread and .line > 0 and .variable)'
}

@test "so by switches: who stands before what, and what was done across it" {
	local strategy

	for strategy in pos surw pct; do
		switches $strategy --max-runs 300 -- "$TARGETS/torn_pair"
		holds '[.findings[0].moments[].variable] | unique ==
			["height", "width"]'
		# The other one reads both, of which one is new.
		holds '.findings[0].moments | length == 4 and
			all(.reached == "not" or (.value | test("^[0-9]+$")))'
		holds '[.findings[0].moments[] | select(.kind == "R").value] |
			. == ["1280", "480"] or . == ["640", "960"]'
		holds '.findings[0].switches |
			test("stops before torn_pair.c:[0-9]+.*" +
			     "where it (reads|writes) (width|height)")'
		shows 'In this order:'
		shows '  width: int'
	done
}

@test "what was written over by switches, in each form" {
	switches pos -- "$TARGETS/bank_account"
	holds '.findings[0].moments | length == 3 and
		all(.variable == "balance" and .type == "int" and
		    .reached == "done")'
	holds '.findings[0].moments | map(.kind) == ["R", "W", "W"] and
		map(.from) == [-1, 0, 1] and .[0].value == "1000" and
		.[1].was == "1000" and .[2].was == .[1].value'
	holds '.findings[0].moments | .[0].thread == .[2].thread and
		.[0].thread != .[1].thread'
	shows 'where it writes balance = '
	mapletest report --db "$db" --format sarif
	grep -qF 'reads balance = 1000' <<<"$output" || fail "$output"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	output=$(<"$BATS_TEST_TMPDIR/page.html")
	shows 'balance = 1000'
	shows 'In this order<'
	xmllint --noout "$BATS_TEST_TMPDIR/page.html"
	# A campaign that knows it tells the same.
	finding --max-runs 30 -- "$TARGETS/bank_account"
	holds '.findings[0] | .known and (.moments | map(.variable) ==
		["balance", "balance", "balance"])'
}

@test "a member of a C++ object by switches" {
	switches pos --max-runs 300 -- "$E2E/shared_cache"
	holds '.findings[0].moments | all(.type == "long int" and
		(.variable | test("::hits$")))'
}

@test "a deadlock by switches has its locks" {
	switches pos --max-runs 100 -- "$TARGETS/lock_order"
	holds '.findings[0].moments | all(.kind == "L") and
		(map(select(.reached == "now")) | length) == 2 and
		(map(.variable) | unique) == ["left.lock", "right.lock"]'
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

@test "of several blocks of one call, which one it was" {
	local call

	call="same_call.c:$(grep -n 'calloc(' "$ROOT/tests/e2e/same_call.c" |
		cut -d: -f1)"
	finding -- "$E2E/same_call"
	holds ".findings[0].moments | length > 0 and all(.origin ==
		\"malloc at $call (2nd by 0) + 8\")"
	shows "malloc at $call (2nd by 0) + 8"
	# A suppression need not say which one.
	echo "race:^malloc at $call + 8\$" >"$BATS_TEST_TMPDIR/known"
	rm -f "$db"*
	limit=90 campaign --seed 1 --max-runs 20 \
		--suppressions "$BATS_TEST_TMPDIR/known" -- "$E2E/same_call"
	ended_with 0
	holds '.suppressed | length >= 1'
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
