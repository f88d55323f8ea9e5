#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Hot loops between barriers, under a dozen candidates: each run comes to its
# end, and the plan's sites are taken out of the loop before they have been
# executed as often as the loop is long.

load common

MOST=30000000 # a plan's share of the longest native run, and some

hot() { # KERNEL SIZE
	run --separate-stderr timeout -s KILL 200 \
		env MAPLE_AGENT_PATH="$BUILD/libmaple-agent.so" \
		"$BUILD/tests/bench/slowdown" --rounds 1 --candidates 12 -- \
		"$BUILD/tests/bench/kernels/$1" "$2"
	[ "$status" = 0 ] || fail "$1"
	! grep -q '^fail' <<<"$output" || fail "$1"
	awk -v most="$MOST" '
		$1 == "count" {
			for (i = 1; i < NF; i++)
				if ($i == "hits") {
					n++
					if ($(i + 1) > most)
						exit 1
				}
		}
		END { exit n < 6 }' <<<"$output" || fail "$1: $output"
}

@test "a hot loop between barriers comes to its end: factors of a matrix" {
	hot lu 40
}

@test "... a Fourier transform" {
	hot fft 9
}

@test "... sorting by digits" {
	hot radix 3000
}
