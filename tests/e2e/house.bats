#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The house: who includes whom. Arrows point down only; a room may include what
# lies below it, and what stands beside it in one line of the picture not.
#
# It only reads the tree.
# beside: guests

load common

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
}

# From the top, one line a floor.
floors='
cli daemon
suite
campaign
strategy
report memo backend
host image predict order detached sandbox
trace kmod
agent bpf
abi
plan policy
wire lib
base
include
'

# What is in two rooms' interest: form of what eBPF records.
allowed='backend bpf'

# Each pair of rooms of which one includes the other, and how often: "A B N".
arrows() {
	grep -rE '^# *include *[<"]' --include='*.[chS]' \
		lib cli daemon kmod bpf |
		awk -f "$BATS_TEST_DIRNAME/arrows.awk" | sort
}

@test "arrows point down only" {
	local from to n up=
	local -A floor=()
	local at=0

	while read -r line; do
		at=$((at + 1))
		for from in $line; do
			floor[$from]=$at
		done
	done <<<"$floors"
	arrows >"$BATS_TEST_TMPDIR/arrows"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/arrows")" -gt 30 ]
	while read -r from to n; do
		echo "$from -> $to ($n)"
		[ "$from $to" != "$allowed" ] || continue
		[ -n "${floor[$from]:-}" ] && [ -n "${floor[$to]:-}" ] &&
			[ "${floor[$to]}" -gt "${floor[$from]}" ] ||
			up="$up $from->$to"
	done <"$BATS_TEST_TMPDIR/arrows"
	[ -z "$up" ] || {
		echo "not down:$up"
		return 1
	}
}

@test "no folder has more than 25 files of source" {
	local folder files many=

	while read -r files folder; do
		[ "$files" -le 25 ] || many="$many $folder ($files)"
	done < <(find lib cli daemon kmod bpf -name '*.[chS]' -printf '%h\n' |
		sort | uniq -c)
	[ -z "$many" ] || {
		echo "too many:$many"
		return 1
	}
}

# What code relies on it says, and is held to: assertions per 1,000 lines. In
# lib/plan they are MAPLE_INVARIANT.
@test "rooms that decide have 10 assertions in 1,000 lines" {
	local room lines asserts short=

	for room in plan campaign backend strategy predict; do
		lines=$(find "lib/$room" -name '*.c' -exec cat {} + | wc -l)
		asserts=$(find "lib/$room" -name '*.c' -exec cat {} + |
			grep -cE '\b(assert|MAPLE_INVARIANT)\(')
		echo "lib/$room: $asserts in $lines lines"
		[ "$lines" -gt 1000 ]
		[ $((asserts * 1000)) -ge $((lines * 10)) ] ||
			short="$short lib/$room ($asserts of $((lines / 100)))"
	done
	[ -z "$short" ] || {
		echo "short of assertions:$short"
		return 1
	}
}

@test "cli and daemon include nothing but public headers of lib" {
	arrows | grep -E '^(cli|daemon) ' >"$BATS_TEST_TMPDIR/arrows"
	! grep -vE '^(cli|daemon) include ' "$BATS_TEST_TMPDIR/arrows" ||
		fail "not by public headers"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/arrows")" = 2 ]
}

@test "no tag of a type is two types'" {
	grep -rhoE '^(struct|union|enum) maple_\w+ \{' --include='*.[ch]' \
		lib cli daemon kmod bpf >"$BATS_TEST_TMPDIR/tags"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/tags")" -gt 200 ]
	run -0 sh -c "sort '$BATS_TEST_TMPDIR/tags' | uniq -d"
	[ -z "$output" ]
}

# What negated.awk finds fault with in these files: FILE:LINE: COMMAND
negated() { # FILE...
	awk -f tests/e2e/negated.awk "$@"
}

@test "no test passes over what must not be: '! command' has its '||'" {
	local sample=tests/e2e/negated.txt

	[ "$(grep -c '# next is found' $sample)" -ge 5 ]
	run -0 negated $sample
	[ "$(cut -d: -f2 <<<"$output")" = "$(grep -n '# next is found' $sample |
		awk -F: '{ print $1 + 1 }')" ] || {
		echo "in the sample: $output"
		return 1
	}
	# A quote that nobody closes hides nothing.
	sed 's/grep -q it/grep -q "it/' $sample >"$BATS_TEST_TMPDIR/open"
	run -0 negated "$BATS_TEST_TMPDIR/open"
	[[ $output = *"not understood"* ]]

	run -0 negated tests/*/*.bats tests/*/*.bash
	[ -z "$output" ] || {
		printf '%s\n' "bats passes over these:" "$output"
		return 1
	}
}
