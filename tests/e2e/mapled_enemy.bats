#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A member of mapled's group who means no good (tests/qemu/programs/hostile.c),
# where maple.ko is not loaded. In a network of its own, since the sign that a CPU
# is in use is a name in that. A minute with MAPLE_FULL=1, else five seconds.
#
# MAPLE_SEED    of all that is random

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export BUILD=${BUILD:-$ROOT/build}
SEED=${MAPLE_SEED:-$RANDOM}

@test "what it sends does no harm to mapled, nor to what others have stored" {
	[ "$(id -u)" = 0 ] || skip "becoming other users takes root"
	echo "seed $SEED"
	run unshare -n bash "$ROOT/tests/qemu/programs/hostile.sh" rage \
		${MAPLE_FULL:+6}5 "$SEED"
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[-1]}" = "as it was" ]
}
