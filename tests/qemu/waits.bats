#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Who waits in maple.ko keeps nobody else waiting: generic netlink goes on, and
# so does mapled. See programs/neighbours.c and programs/stuck.c.

load common.bash

setup_file() {
	local cache=${MAPLE_QEMU_CACHE:-$ROOT/build/qemu}
	export MODULES=$BATS_FILE_TMPDIR/modules

	mkdir "$MODULES"
	ln -s "$ROOT"/tests/qemu/{holder,neighbour}.c "$MODULES/"
	echo 'obj-m := holder.o neighbour.o' >"$MODULES/Kbuild"
	env -u MAKEFLAGS KCFLAGS=-Werror make -s \
		-C "$cache/$MAPLE_QEMU_KERNEL/headers" M="$MODULES" \
		CONFIG_DEBUG_INFO_BTF_MODULES= modules
}

neighbours() { # probe|close
	guest -t 200 -- "$BUILD/tests/qemu/neighbours" "$1" \
		"$MODULES/holder.ko" "$MODULES/neighbour.ko"
	status_is 0
	[ "$output" = "got on" ] || fail
}

@test "a probe that waits for its target's memory" {
	neighbours probe
}

@test "a socket whose session waits for its target's memory when it is closed" {
	neighbours close
}

# mapled, by hand, lends CPU 1.
mapled='
. tests/e2e/mapled.bash
open_folder
printf "%s\n" "group = 54399" "cpus = 1" >"$conf"
start_mapled || exit 1
"$BUILD/tests/qemu/stuck" "$socket" "$1" || { cat "$dir/log"; exit 1; }
kill "$mapled" && wait "$mapled"
echo "mapled: $?"'

# bats test_tags=on:6-12
@test "a session of mapled's that waits: the others get on, its CPU is not lent" {
	guest -t 300 -- bash -c "cd '$ROOT'; $mapled" - "$MODULES/holder.ko"
	status_is 0
	[ "$output" = "got on
mapled: 0" ] || fail
}
