#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest, where root has all of root's rights: a user of group maple, with
# none of its own, tests its own programs by way of mapled.

load common.bash

@test "a user with no rights finds the bug, with the agent and with maple.ko" {
	guest -t 300 -- bash "$ROOT/tests/qemu/programs/mapled.sh"
	status_is 0
	[ "$(grep -c '^pass' <<<"$output")" = 7 ] || fail "not all of it"
}
