#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Each of the memo's units holds at a PostgreSQL server as it does in a file.
#
# There is no campaign, so that nobody takes a CPU from those of others.
# beside: guests

load common
load postgres

units() { # NAME... [VARIABLE=VALUE...]
	cd "$ROOT" || return
	run env CMOCKA_MESSAGE_OUTPUT=STDOUT MAPLE_TEST_POSTGRES="$server" "${@:2}" \
		"$BUILD/tests/unit/test_$1"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output = *"[  PASSED  ]"* ]]
}

@test "the memo's units hold at a server" {
	units memo
	[[ $output != *SKIPPED* ]]
}

@test "merging holds between servers and files, both ways" {
	units memo_merge
	units memo_merge MAPLE_TEST_SIDES=ours
	units memo_merge MAPLE_TEST_SIDES=theirs
	[[ $output != *SKIPPED* ]]
}

# What a file's owner has without a name, nobody has at a server.
@test "what strategies keep holds at a server" {
	units memo_corpus
	[ "$(grep -c '^\[  PASSED  \] 12' <<<"$output")" = 1 ]
	units memo_corpus MAPLE_TEST_SIDES=ours
	units memo_corpus MAPLE_TEST_SIDES=theirs
}
