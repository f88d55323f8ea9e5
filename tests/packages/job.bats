#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The packages of 'make deb' in a guest with systemd, where a member of the group
# attaches to a server by one command and closes the terminal: the job goes on, finds
# the bug, is in the journal and on the page, and leaves the server as it was. One
# guest for all tests here; install.bats has it with maple.ko, which takes longer.

load ../qemu/common.bash

setup_file() {
	export said=$BATS_FILE_TMPDIR/said

	"$ROOT/tests/qemu/guest" -t 1100 --no-module --systemd -- \
		"$ROOT/tests/packages/job-in-guest" "$BUILD/deb" "$ROOT" \
		"$BUILD/tests/e2e/server" >"$said" 2>&1 ||
		echo "guest: status $?" >>"$said"
}

load passed.bash

@test "systemd has mapled's socket when the packages are installed" {
	passed install
}

@test "a member attaches with one command, and the job outlives the terminal" {
	passed job_begins
}

@test "it finds the bug, and the server lives on" {
	passed job_finds
}

@test "the journal has it, with fields, and mapletest log --job shows it" {
	passed job_is_told
}

@test "the page shows it" {
	passed job_is_shown
}

@test "mapled detach leaves, and nothing of the server is other than before" {
	passed job_leaves
}

@test "killed while it forces an order, it leaves the server as it was" {
	passed job_is_killed
}

@test "the guest ended by itself, and its kernel has nothing to complain of" {
	tail -n 60 "$said"
	grep -qx done "$said"
	run ! grep '^guest: ' "$said"
}
