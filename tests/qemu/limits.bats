#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What sessions of maple.ko may take of the machine. See programs/limits.c.

load common.bash

# bats test_tags=on:6-1
@test "one watchdog looks after all sessions" {
	guest -t 200 -- "$BUILD/tests/qemu/limits" threads 50
	status_is 0
	[ "$output" = "1 for 50" ] || fail
}

# bats test_tags=on:6-12
@test "one user has so many sessions, and is told by what they are limited" {
	guest -t 200 --module-options user_sessions=3 -- \
		"$BUILD/tests/qemu/limits" user 3
	status_is 0
	[[ $output = *'too many sessions'*' user_sessions '* ]] || fail
}

# bats test_tags=on:6-1
@test "real-time priorities on all CPUs are root's alone" {
	guest -t 200 -- "$BUILD/tests/qemu/limits" unpinned
	status_is 0
	[[ $output = *'go with a CPU'*'as root'* ]] || fail
}

# A session takes 3 MB and more.
# bats test_tags=on:6-12
@test "what sessions take of the kernel is their owner's to pay for" {
	guest -t 200 -- sh -c '
		mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups &&
		cd /tmp/groups && mkdir -p little &&
		echo +memory >cgroup.subtree_control &&
		echo 32M >little/memory.max &&
		"$BUILD/tests/qemu/limits" memory little/cgroup.procs &&
		grep -E "^(max|oom) " little/memory.events'
	status_is 0
	[[ ${lines[0]} = *'no memory for a session'* ]] || fail
	[[ ${lines[1]} =~ ^([0-9]+)\ sessions$ ]] || fail
	[ "${BASH_REMATCH[1]}" -ge 1 ] && [ "${BASH_REMATCH[1]}" -le 10 ] ||
		fail "not a few sessions"
	[[ ${lines[2]} =~ ^max\ [1-9] ]] || fail "the group's limit was not met"
}
