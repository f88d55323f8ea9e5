#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Deadlocks: who holds, who waits, since where.

load common

# The number of the one line of target $1 that matches $2.
line_of() { # TARGET REGEX
	grep -nE "$2" "$ROOT/tests/targets/$1.c" | cut -d: -f1
}

# A campaign that finds a deadlock; its report goes to $output.
deadlock() {
	limit=90 campaign --seed 1 --confirm 2 "$@"
	ended_with 66
	holds '.findings[0].kind == "deadlock"'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	ended_with 0
}

# Idiom 5's names are those of the accounts, which the locks come first in.
cycle_of_two() {
	local e0 e1 e2 e3

	e0=$(line_of lock_order 'lock.*e0')
	e1=$(line_of lock_order 'lock.*e1')
	e2=$(line_of lock_order 'lock.*e2')
	e3=$(line_of lock_order 'lock.*e3')
	holds '.findings[0].title == "deadlock in to_right / to_left"'
	holds '.findings[0].cycle | length == 2 and
		.[0].thread == .[1].holder and .[1].thread == .[0].holder'
	holds ".findings[0].cycle | [.[] | [.variable, .line, .since.line]] ==
		[[\"right.lock\", $e3, $e2], [\"left.lock\", $e1, $e0]]"
	holds '[.findings[0].stacks[] | select(.state // "" |
		test("^waits for (left|right).lock at lock_order.c:[0-9]+, held by 0"))
		| .frames | length > 0] == [true, true]'
	grep -qF "0.1 holds left.lock (lock_order.c:$e0), waits for right.lock\
 (lock_order.c:$e3), held by 0.2" <<<"$output" || fail "$output"
	grep -qF "0.2 holds right.lock (lock_order.c:$e2), waits for left.lock\
 (lock_order.c:$e1), held by 0.1" <<<"$output" || fail "$output"
	grep -qE 'thread 0 joins 0\.1' <<<"$output" || fail "$output"
}

@test "a cycle of locks, in a run that only observes" {
	deadlock --strategy randdelay --max-runs 200 -- "$TARGETS/lock_order"
	holds '.findings[0].idiom == 0'
	cycle_of_two
}

@test "a wait for a signal that never comes, in an enforced run" {
	deadlock --max-runs 40 -- "$TARGETS/lost_wakeup"
	holds '.findings[0].cycle == []'
	holds '.findings[0].title | test("^deadlock in await")'
	holds '[.findings[0].stacks[].state] |
		any(test("^waits for a signal on wakeup at lost_wakeup.c:"))'
	grep -qE 'thread 0 joins 0\.[12]' <<<"$output" || fail "$output"
	waiter_had_read
}

# The flag that it looked at, and its signal, both too early.
waiter_had_read() {
	local look set signal

	look=$(line_of lost_wakeup 'e0 \*/')
	set=$(line_of lost_wakeup 'e1 \*/')
	signal=$(line_of lost_wakeup 'cond_signal')
	holds "[.findings[0].stacks[].before // empty] == [
		\"it had read ready = 0 at lost_wakeup.c:$look; 0.2 wrote 1 to\
 it at lost_wakeup.c:$set, after that\\n0.2 signalled wakeup at\
 lost_wakeup.c:$signal, before it waited\"]"
	tr -s ' \n' ' ' <<<"$output" | grep -qF "it had read ready = 0 at\
 lost_wakeup.c:$look; 0.2 wrote 1 to it" || fail "$output"
}

@test "a cycle of locks, forced" {
	deadlock --idioms 5 --max-runs 40 -- "$TARGETS/lock_order"
	holds '.findings[0].confirm.forced | .[0] == .[1]'
	holds '.findings[0].iroot | [.[].kind] == ["L", "L", "L", "L"]'
	cycle_of_two
	grep -qE '^ +waits for (left|right)' <<<"$output" || fail "$output"
}

# Nobody says which process it is: the program is the script's grandchild.
@test "stuck by itself, below a script" {
	local script=$BATS_TEST_TMPDIR/script

	printf '#!/bin/sh\nenv -i %s\ntrue\n' "$E2E/stuck" >"$script"
	chmod +x "$script"
	limit=30 mapletest run --db "$db" --exe stuck -- "$script"
	ended_with 125
	says 'fails without maple: deadlock.*\(3 of 3 native runs\)'
	none_left "$E2E/stuck"
}
