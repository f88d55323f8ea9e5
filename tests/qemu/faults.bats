#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a session survives, and its target: victims (programs/victim.c) with
# threads that are each scheduled in a way of their own, to which something
# bad happens under sessions. Afterwards every thread that is left must be as
# it was, or as it has asked to be since. See module.bats for single sessions.
#
# MAPLE_FAULTS  moments at which each end is killed; 200 for a full run [20]
# MAPLE_SEED    of all that is random

load common.bash

FAULTS=${MAPLE_FAULTS:-20}
SEED=${MAPLE_SEED:-$RANDOM}

# A program of tests/qemu on a victim, in a guest
on_victim() { # PROGRAM ARGUMENT...
	echo "seed $SEED"
	guest -t $((120 + FAULTS * 3)) -- \
		sh -c 'cd "$BUILD/tests/qemu" && exec ./"$@" ./victim' - "$@"
	status_is 0
}

@test "who holds the session is killed, in the middle of anything" {
	on_victim killed owner "$FAULTS" "$SEED"
	[[ $output =~ ^owner:\ $FAULTS\ killed,\ ([0-9]+)\ threads ]]
	[ "${BASH_REMATCH[1]}" -ge $((FAULTS * 30)) ]
}

@test "the target is killed, what it forked lives on" {
	on_victim killed target "$FAULTS" "$SEED"
	[[ $output =~ ^target:\ $FAULTS\ killed,\ $FAULTS\ sessions\ gone,\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -gt 0 ]
}
