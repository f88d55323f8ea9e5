# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The packages of 'make deb' on a machine: a guest with one of Debian's kernels
# and systemd installs them with apt, lets dkms build maple.ko, finds bugs with
# them as root, as a member of the group maple, and not as somebody else, and
# purges them. One guest for all the tests here; in-guest is what it does.

load ../qemu/common.bash

setup_file() {
	export said=$BATS_FILE_TMPDIR/said
	local packages=$BATS_FILE_TMPDIR/packages kernel depends

	mkdir "$packages"
	cp "$BUILD"/deb/*.deb "$packages"
	rm -f "$packages"/*-dbgsym_*
	kernel=$("$ROOT/tests/qemu/kernels" "$MAPLE_QEMU_KERNEL")
	depends=$("$ROOT/tests/qemu/depends" "$packages"/*.deb pkexec)
	# What this guest said stays: it takes long to have another one.
	export kept=$BUILD/packages/$MAPLE_QEMU_KERNEL
	rm -rf "$kept"
	mkdir -p "$kept"
	"$ROOT/tests/qemu/guest" -t 3600 --log "$kept" --no-module --systemd \
		-f "$ROOT/tests/packages/in-guest" \
		-f "$ROOT/tests/packages/checks.bash" \
		-f "$ROOT/tests/packages/job.bash" \
		-f "$ROOT/tests/e2e/process.bash" \
		-f "$ROOT/tests/packages/confined.c" \
		-f "$ROOT/tests/e2e/server.c" -- \
		in-guest "$packages" "$depends" "$kernel/headers" \
		"$ROOT/packaging/debian/tests" \
		>"$said" 2>&1 || echo "guest: status $?" >>"$said"
	cp "$said" "$kept/said"
}

load passed.bash

@test "apt installs them with what they depend on, without a network" {
	passed prepare
	passed install
	passed seen
}

@test "dkms has built maple.ko for this kernel, and modprobe loads it" {
	passed module
}

@test "mapled has been started, and a member of the group finds the bug by it" {
	passed service
}

@test "it lends maple.ko to a member" {
	passed lent
}

@test "the unit is of its type, and as little exposed as it was" {
	passed unit
}

@test "in its sandbox one can do what mapled does, and nothing else" {
	passed sandbox
}

@test "the socket starts mapled, with kill -9 no finished run is lost" {
	passed woken
	passed killed
}

@test "when mapled stands still, systemd starts another" {
	passed watched
}

@test "a server under load is joined: its bug is found, a clean one runs on" {
	passed attached
}

@test "a member's job outlives its terminal, finds, tells, and leaves no trace" {
	passed job_begins
	passed job_finds
	passed job_is_told
	passed job_is_shown
	passed job_leaves
	passed job_is_killed
}

@test "another user's server takes what polkit permits" {
	passed permitted
}

@test "a member of the group maple finds it without mapled, too" {
	passed member
}

@test "who is no member is told what is missing" {
	passed outsider
}

@test "root finds it from outside, with eBPF and this module" {
	passed from_outside
}

@test "autopkgtest's tests pass: the bank account" {
	passed bank_account
}

@test "autopkgtest's tests pass: the library" {
	passed library
}

@test "apt purge removes module, group and all" {
	passed purge
}

@test "nothing is left behind" {
	passed leftovers
}

@test "the guest ended by itself, and its kernel has nothing to complain of" {
	echo "what it said, console and kernel log: $kept"
	tail -n 60 "$said"
	grep -qx done "$said"
	run ! grep '^guest: ' "$said"
}
