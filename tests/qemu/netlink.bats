#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# maple.ko's netlink family in a guest: what it says and refuses, sessions that
# end with their sockets, and messages that nobody would send.
#
# bats file_tags=on:6-1

load common.bash

@test "what it says, what it refuses, and that sessions are their sockets'" {
	guest -t 120 -- "$BUILD/tests/qemu/netlink"
	status_is 0
	says 'PASSED  \] ([0-9]+) test'
	[ "${BASH_REMATCH[1]}" -ge 9 ] || fail "only ${BASH_REMATCH[1]} tests"
}

# A tenth, unless MAPLE_FULL=1; a tenth of that on slow kernels.
@test "malformed messages, 100,000 of them or a tenth, in each state of a session" {
	local seed=${MAPLE_SEED:-$RANDOM} count=$(times 10000)

	[ -z "${MAPLE_FULL:-}" ] || count=$(times 100000)
	echo "seed $seed"
	guest -t $((600 + count / 50)) -- \
		"$BUILD/tests/qemu/fuzz_netlink" "$count" "$seed"
	status_is 0
	[[ $output =~ ^([0-9]+)\ messages ]] || fail "it does not say how many"
	[ "${BASH_REMATCH[1]}" -ge "$count" ] || fail "not all were sent"
}
