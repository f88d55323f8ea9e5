#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# maple.ko's netlink family in a guest: what it says and refuses, sessions that
# end with their sockets, and messages that nobody would send.

load common.bash

@test "what it says, what it refuses, and that sessions are their sockets'" {
	guest -t 120 -- "$BUILD/tests/qemu/netlink"
	status_is 0
	says 'PASSED  \] ([0-9]+) test'
	[ "${BASH_REMATCH[1]}" -ge 9 ] || fail "only ${BASH_REMATCH[1]} tests"
}

@test "100,000 malformed messages" {
	local seed=${MAPLE_SEED:-$RANDOM}

	echo "seed $seed"
	guest -t 600 -- "$BUILD/tests/qemu/fuzz_netlink" 100000 "$seed"
	status_is 0
	[[ $output =~ ^100000\ messages ]] || fail "not all were sent"
}
