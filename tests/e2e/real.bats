#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Real programs, unmodified, from the distribution: a profile run leaves their
# output as it is, byte for byte, and covers something.

load common

setup_file() {
	"$BATS_TEST_DIRNAME/inputs" "$BATS_FILE_TMPDIR/in"
}

# One campaign of one profile run; what the program writes must be what it
# writes natively, once for each run that the result counts.
profiled() {
	local in=$BATS_FILE_TMPDIR/in

	cd "$in" || return 1
	timeout 60 "${program[@]}" >"$BATS_TEST_TMPDIR/native" \
		2>"$BATS_TEST_TMPDIR/native.err" </dev/null ||
		fail "natively: $(cat "$BATS_TEST_TMPDIR/native.err")"
	status=0
	timeout -s KILL "${limit:-60}" "$BUILD/mapletest" run --seed 1 \
		--max-runs 1 --format json --output "$json" --db "$db" "$@" -- \
		"${program[@]}" >"$BATS_TEST_TMPDIR/got" \
		2>"$BATS_TEST_TMPDIR/got.err" </dev/null || status=$?
	stderr=$(cat "$BATS_TEST_TMPDIR/got.err")
	covered
	holds '.runs.profile == 1 and .runs.enforced == 0'
	same_output "$BATS_TEST_TMPDIR/native" "$BATS_TEST_TMPDIR/got"
}

# At least 99 % of the executed hits came by a jump, and there were many.
by_jump() {
	holds '.delivery.hits | (.jump + .neighbours + .pun) as $jump |
		$jump > 1000 and $jump >= 99 * .trap'
}

@test "pigz -p2" {
	program=(pigz -p2 -c text)
	profiled
	by_jump
}

@test "pbzip2 -p2" {
	program=(pbzip2 -p2 -b1 -c text)
	profiled
	by_jump
}

@test "xz -T2" {
	program=(xz -T2 -1 --block-size=512KiB -c text)
	profiled
	by_jump
}

@test "zstd -T2" {
	program=(zstd -q -T2 -B512KiB -c text)
	profiled
	by_jump
}

@test "sqlite3 with worker threads" {
	program=(sqlite3 -batch :memory: '.read rows.sql')
	profiled
	by_jump
}

@test "sort --parallel=2" {
	export LC_ALL=C
	program=(sort --parallel=2 -S 20M lines)
	profiled
	by_jump
}

@test "stress-ng --pthread 2" {
	program=(stress-ng --quiet --pthread 2 --timeout 2)
	profiled
}

@test "memcached, started and driven by a script" {
	export TMPDIR=$BATS_TEST_TMPDIR # where its socket goes
	program=(./serve)
	profiled --exe memcached
	[ "$(grep -c STORED "$BATS_TEST_TMPDIR/native")" = 12 ]
	none_left "memcached .* $BATS_TEST_TMPDIR/.*"
}
