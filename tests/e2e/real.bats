#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Real programs, unmodified, from the distribution: a profile run leaves their
# output as it is, byte for byte, and covers something.

load common

setup_file() {
	"$BATS_TEST_DIRNAME/inputs" "$BATS_FILE_TMPDIR/in"
}

# One campaign of one profile run; after each run the file that it wrote,
# $product, is put aside.
profiled() {
	local out=$BATS_TEST_TMPDIR/out

	cd "$BATS_FILE_TMPDIR/in"
	mkdir "$out"
	timeout 60 "${program[@]}" </dev/null
	mv "$product" "$out/native"
	limit=90 campaign --strategy maple --seed 1 --max-runs 1 \
		--teardown "mv $product $out/out.\$\$" "$@" -- "${program[@]}"
	covered
	holds '.runs.profile == 1 and .runs.enforced == 0'
	same_output "$out/native" "$out"
}

# At least 99 % of the executed hits came by a jump, and there were many.
by_jump() {
	holds '.delivery.hits | (.jump + .neighbours + .pun) as $jump |
		$jump > 1000 and $jump >= 99 * .trap'
}

@test "pigz -p2" {
	product=text.gz
	program=(pigz -p2 -k -f text)
	profiled
	by_jump
}

@test "pbzip2 -p2" {
	product=text.bz2
	program=(pbzip2 -p2 -b1 -k -f text)
	profiled
	by_jump
}

@test "xz -T2" {
	product=text.xz
	program=(xz -T2 -1 --block-size=512KiB -k -f text)
	profiled
	by_jump
}

@test "zstd -T2" {
	product=text.zst
	program=(zstd -q -T2 -B512KiB -f text)
	profiled
	by_jump
}

@test "sqlite3 with worker threads" {
	product=rows.out
	program=(sqlite3 -batch :memory: '.output rows.out' '.read rows.sql')
	profiled
	by_jump
}

@test "sort --parallel=2" {
	export LC_ALL=C
	product=sorted
	program=(sort --parallel=2 -S 20M -o sorted lines)
	profiled
	by_jump
}

@test "stress-ng --pthread 2" {
	product=stressed
	program=(./stress "$product")
	profiled --exe stress-ng
}

@test "memcached, started and driven by a script" {
	export TMPDIR=$BATS_TEST_TMPDIR # where its socket goes
	product=served
	program=(./serve served)
	profiled --exe memcached
	[ "$(grep -c STORED "$BATS_TEST_TMPDIR/out/native")" = 12 ]
	none_left "memcached .* $BATS_TEST_TMPDIR/.*"
}
