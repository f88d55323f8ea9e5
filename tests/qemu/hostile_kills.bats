#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# kill -9 of mapled, of mapletest, of targets, while another member does its worst
# (hostile.bats): nobody stays real-time, pinned or probed, and what a campaign
# has announced is in the memo. 200 moments each with MAPLE_FULL=1, else eight.
#
# MAPLE_SEED    of all that is random
#
# kernels: 6.12

load common.bash

kills() { # WHAT
	local n=$(times $((${MAPLE_FULL:+25 *} 8))) seed=${MAPLE_SEED:-$RANDOM}

	echo "seed $seed"
	guest -t $((n * 30 + 600)) -- \
		bash "$ROOT/tests/qemu/programs/hostile.sh" kills \
		"$1" "$n" "$seed"
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
