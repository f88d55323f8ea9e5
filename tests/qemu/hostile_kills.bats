#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kill -9 of mapled, of mapletest, of targets, while another member does its worst
# (hostile.bats): nobody stays real-time, pinned or probed, and what a campaign
# has announced is in the memo. With MAPLE_FULL=1 at 200 moments each; else it
# would take a third of the time of all other tests, and is left out.
#
# MAPLE_KILLS   moments, also without MAPLE_FULL
# MAPLE_SEED    of all that is random
#
# bats file_tags=on:6-12

load common.bash

kills() { # WHAT
	local n=${MAPLE_KILLS:-$(times 200)} seed=${MAPLE_SEED:-$RANDOM}

	[ -n "${MAPLE_FULL:-}${MAPLE_KILLS:-}" ] ||
		skip "it takes long: with MAPLE_FULL=1, or MAPLE_KILLS=8"
	echo "seed $seed"
	guest -t $((n * 30 + 600)) -- \
		bash "$ROOT/tests/qemu/programs/hostile.sh" kills \
		"$1" "$n" "$seed" "$SLOW"
	echo "$output"
	status_is 0
	[ "${lines[-1]}" = "as it was" ] || fail "not all of it"
	[[ $output =~ $1:\ $n\ killed,\ ([0-9]+)\ findings ]] || fail "not $n"
	[ "$SLOW" -gt 1 ] || [ "${BASH_REMATCH[1]}" -gt 0 ] ||
		fail "nothing was found"
}

@test "mapled is killed: campaigns go on" {
	kills mapled
}

@test "mapletest is killed: nothing of it is left" {
	kills mapletest
}

@test "targets are killed: the campaign goes on" {
	kills target
}
