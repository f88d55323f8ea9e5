#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Commands of the user's that are under way when the campaign is over: they
# end soon, with all that they have started, and nothing is made of them.

load common

# A command for the option: from its time $1 on (from 1) it does not end.
from_time() { # N
	command=$BATS_TEST_TMPDIR/command
	cat >"$command" <<-EOS
		#!/bin/sh
		cd "$BATS_TEST_TMPDIR"
		echo >>times
		[ \$(wc -l <times) -ge $1 ] || exit 0
		trap '' TERM
		sleep 1000.\$\$ &
		echo \$! >>sleepers
		wait
		sleep 1000
	EOS
	chmod +x "$command"
}

# None of what it has started is there any more.
all_gone() {
	local pid

	[ -s "$BATS_TEST_TMPDIR/sleepers" ] || fail "it was never so late"
	while read -r pid; do
		# Who adopted it may be slow to look after what has ended.
		! grep -qsE '^State:\s+[^ZX[:space:]]' "/proc/$pid/status" ||
			fail "$pid is still there"
	done <"$BATS_TEST_TMPDIR/sleepers"
}

@test "--setup is stopped when the time is over" {
	from_time 5
	limit=25 campaign --seed 1 --max-time 4s --setup "$command" \
		--teardown "touch '$BATS_TEST_TMPDIR/torn_down'" -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	all_gone
	holds '.findings == [] and .runs.enforced == 0'
	holds ".cut_short == \"--setup '$command'\""
	says "setup '.*' was not done in time"
	[ -e "$BATS_TEST_TMPDIR/torn_down" ] || fail "nothing was torn down"
}

@test "--oracle is stopped when the time is over, and has judged nothing" {
	from_time 2
	limit=25 campaign --seed 1 --max-time 4s --oracle "$command" -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	all_gone
	holds '.findings == [] and .runs.profile == 0'
	holds ".cut_short == \"--oracle '$command'\""
}

@test "--teardown is stopped some time after the time is over" {
	from_time 4
	limit=40 mapletest run --db "$db" --seed 1 --max-time 4s \
		--teardown "$command" -- "$TARGETS/clean/mutex_counter"
	ended_with 125
	all_gone
	says "not done in time: --teardown '"
}

@test "... and when somebody asks the campaign to end" {
	from_time 4
	(until [ -e "$BATS_TEST_TMPDIR/sleepers" ]; do sleep 0.2; done
	pkill -INT -f "^$BUILD/mapletest .*$BATS_TEST_TMPDIR") 3>&- &
	limit=25 campaign --seed 1 --setup "$command" -- \
		"$TARGETS/clean/mutex_counter"
	wait
	ended_with 125
	all_gone
}
