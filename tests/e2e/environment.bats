#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The environment of the program, and of what it executes, is as natively.

load common

# Each run prints what the native ones did.
as_natively() { # PROG ARG...
	rm -f "$BATS_TEST_TMPDIR/first"
	campaign --seed 1 --max-runs 3 \
		--oracle "cd '$BATS_TEST_TMPDIR' && [ -s \"\$MAPLE_STDOUT\" ] ||
		exit 1
		[ -e first ] || cp \"\$MAPLE_STDOUT\" first
		diff first \"\$MAPLE_STDOUT\"" -- "$@"
	ended_with 125
	holds '.findings == [] and .runs.profile + .runs.controlled == 3'
	holds '.undelivered | test("never had a second thread")'
}

ALL='env; env | cat; env -i A=1 env; tr "\0" "\n" </proc/self/environ | grep .;
	tr "\0" "\n" </proc/$$/environ | grep .;
	echo "$LD_PRELOAD $MAPLE_AGENT"; exec env B=2 env'

@test "a program sees no variable of the agent's, nor does what it executes" {
	as_natively /bin/sh -c "$ALL"
	as_natively "$(command -v bash)" -c "$ALL"
}

@test "a library that the user preloads is still said to be" {
	export LD_PRELOAD=libm.so.6

	as_natively /bin/sh -c "$ALL; sh -c 'env -u LD_PRELOAD env'"
	grep -q '^LD_PRELOAD=libm.so.6$' "$BATS_TEST_TMPDIR/first"
}

@test "what a program executes brings the agent all the same" {
	campaign --max-runs 4 -- /bin/sh -c "env - A=1 env; env \
		'$TARGETS/clean/mutex_counter'; true"
	ended_with 125
	holds '.undelivered | test("mutex_counter, which it started, had")'
}
