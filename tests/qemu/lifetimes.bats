#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a session refers to may end before it: threads, files, processes that
# were forked, and what was asked for in vain. See programs/lifetimes.c. And
# targets whose threads are not as others are.

load common.bash

lifetimes() { # PATTERN ARGUMENT...
	local expected=$1

	shift
	guest -t 300 -- sh -c 'mkdir /tmp/files && cd "$BUILD/tests/qemu" &&
		exec ./lifetimes "$@"' - "$@"
	status_is 0
	[[ $output = $expected ]] || fail "not '$expected'"
}

# bats test_tags=on:6-1
@test "sessions on a process that makes threads all the time" {
	local n=$(times $((${MAPLE_FULL:+10 *} 100)))

	lifetimes "$n sessions" threads "$n"
}

@test "a probed file system is unmounted when the session is over" {
	lifetimes unmounted file /tmp/files
}

# The kernel would forget a probe there, and say so on 6.12.
@test "a probe in a file that is cut off before it goes when the kernel can do it" {
	guest -t 300 -- sh -c 'mkdir /tmp/files && cd "$BUILD/tests/qemu" &&
		./lifetimes cut /tmp/files && ! dmesg | grep "leaking uprobe"'
	status_is 0
	[ "$output" = removed ] || fail
}

@test "only root may probe a file that is some program's" {
	local dir file=()

	case $MAPLE_QEMU_KERNEL in
	debug | kcsan) skip "they have no FUSE" ;;
	6.1)
		dir=$("$ROOT/tests/qemu/kernels" 6.1)
		cp "$(/sbin/modprobe -d "$dir/root" -S "$(<"$dir/release")" \
			--show-depends fuse | awk '{ print $2 }')" "$TMPDIR"
		chmod +x "$TMPDIR/fuse.ko" # so that PATH has it
		file=(-f "$TMPDIR/fuse.ko") ;;
	esac
	guest "${file[@]}" -- bash -c '
		! file=$(type -P fuse.ko) || insmod "$file" || exit 3
		[ -c /dev/fuse ] || mknod /dev/fuse c 10 229
		exec "$BUILD/tests/qemu/lifetimes" served /tmp/served'
	status_is 0
	[ "$output" = refused ] || fail
}

# bats test_tags=on:6-12
@test "more probes at one offset than there is room for are refused" {
	lifetimes "12 at one offset" crowd
}

# bats test_tags=on:6-1
@test "a message that is refused when half of it is in place" {
	local n=$(times 20)

	guest -t 300 -- sh -c 'mkdir /tmp/files &&
		mount -t tmpfs tmpfs /tmp/files && cd "$BUILD/tests/qemu" &&
		exec ./lifetimes refused /tmp/files "$1"' - "$n"
	status_is 0
	[ "$output" = "$n messages refused" ] || fail
}

@test "who places probes, or takes them away, is killed: all of them go" {
	local n=$(times $((${MAPLE_FULL:+5 *} 60)))

	guest -t 600 -- sh -c 'mkdir /tmp/files && cd "$BUILD/tests/qemu" &&
		./lifetimes killed /tmp/files "$1" &&
		! dmesg | grep "leaking uprobe"' - "$n"
	status_is 0
	[ "$output" = "$n killed" ] || fail
}

# bats test_tags=on:6-12
@test "what was forked is forgotten when it has run" {
	local n=$(times $((${MAPLE_FULL:+20 *} 500)))

	lifetimes "$n forks" forks "$n"
}

# See programs/odd_targets.c.
@test "threads under SCHED_DEADLINE, without a leader, of the kernel; a jump" {
	guest -t 200 -- "$BUILD/tests/qemu/odd_targets" \
		deadline leader worker jumps
	status_is 0
	[ "$output" = "deadline: as it was
leader: as it was
worker: as it was
jumps: as it was" ] || fail
}

# vhost's workers are threads of their process from Linux 6.4 on.
@test "threads that vhost makes" {
	local dir file files=() names=()

	case $MAPLE_QEMU_KERNEL in
	6.1 | debug | kcsan) skip "its workers are the kernel's own processes" ;;
	esac
	dir=$("$ROOT/tests/qemu/kernels" "$MAPLE_QEMU_KERNEL")
	while read -r _ file; do
		names+=("$(basename "${file%.xz}")")
		files+=(-f "$TMPDIR/${names[-1]}")
		xz -dc "$file" >"$TMPDIR/${names[-1]}"
		chmod +x "$TMPDIR/${names[-1]}" # so that PATH has it
	done < <(/sbin/modprobe -d "$dir/root" -S "$(<"$dir/release")" \
		--show-depends vhost_net)
	guest "${files[@]}" -- bash -c 'for name; do
			insmod "$(type -P "$name")" || exit 3
		done
		[ -c /dev/vhost-net ] || mknod /dev/vhost-net c 10 238
		exec "$BUILD/tests/qemu/odd_targets" vhost' - "${names[@]}"
	status_is 0
	[ "$output" = "vhost: as it was" ] || fail
}
