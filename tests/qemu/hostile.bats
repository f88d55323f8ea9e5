#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A member of mapled's group who means no good, on maple.ko and mapled: see
# programs/hostile.c for what he does, and programs/hostile.sh for what must be
# as it was afterwards. Ten minutes on each kernel with MAPLE_FULL=1, else a third of
# one on one: what a message may ask for is judged by code that is the same on all.
#
# bats file_tags=on:6-12
#
# MAPLE_SEED    of all that is random

load common.bash

@test "what a member does to the module does no harm to anybody else" {
	local seconds=$((${MAPLE_FULL:+30 *} 20)) seed=${MAPLE_SEED:-$RANDOM}

	echo "seed $seed"
	guest -t $((seconds * 12 + 300)) -- \
		bash "$ROOT/tests/qemu/programs/hostile.sh" rage \
		"$seconds" "$seed" "$SLOW"
	echo "$output"
	status_is 0
	[ "${lines[-1]}" = "as it was" ] || fail "not all of it"
}
