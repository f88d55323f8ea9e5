#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The fuzzers, for a moment each; `make fuzz` runs them for longer.
#
# A fuzzer that has less of the CPU tries less, and fails no more.
# beside: guests

load common.bash

@test "the protocol's decoder, mapled's requests and the ELF reader stand it" {
	run timeout -s KILL 400 "$ROOT/tests/fuzz/run" "$BUILD" \
		"${MAPLE_FUZZ_TIME:-8}"
	ended_with 0
	[ "$(grep -c '^ok' <<<"$output")" = 3 ]
}
