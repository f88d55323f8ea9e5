# SPDX-License-Identifier: GPL-2.0-only OR MIT
# maple.ko with sessions of every kind, by tests/qemu/programs/session.c: it
# says "unclean" if anything was refused or lost, or if a survivor was not as
# it had been. Killed and loaded a tenth as often as said, and most other things
# half as often, unless MAPLE_FULL=1; all of it less often on kernels that watch
# themselves.

load common.bash

often() { # COUNT
	times $((${MAPLE_FULL:-0} ? $1 : $1 / 10))
}

# session ARGUMENT... in a guest; its last line must say what the test wants
sessions() { # PATTERN ARGUMENT...
	local expected=$1

	shift
	guest -t 300 -- sh -c 'cd "$BUILD/tests/qemu" && exec ./session "$@"' \
		session -d $((SLOW * 10000)) "$@"
	status_is 0
	[[ ${lines[-1]} = $expected ]] || fail "not '$expected'"
}

@test "self-tests at load" {
	guest --module-options selftest=1 -- sh -c 'dmesg | grep selftest'
	status_is 0
	[[ $output =~ selftest:\ ([0-9]+)\ of\ ([0-9]+)\ passed ]] ||
		fail "they did not run"
	[ "${BASH_REMATCH[1]}" -ge 70 ]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
}

@test "the order is forced each time; natively the program hardly ever fails" {
	local n=$(times 20)

	sessions "$n runs, 0 exposed, * failed, 0 unclean" \
		-n "$n" -s native -- ./order_demo
	[[ ${lines[-1]} =~ ([0-9]+)\ failed ]]
	[ $((BASH_REMATCH[1] * 10)) -le "$n" ] || fail "it fails by itself"
	n=$(times $((${MAPLE_FULL:+4 *} 50)))
	sessions "$n runs, * exposed, * failed, 0 unclean" \
		-n "$n" -e -f -m "$(misses "$n")" -i A:w:B:r -- ./order_demo
}

# bats test_tags=on:6-12
@test "the other order is forced as well, and the program does not fail" {
	local n=$(halved 50)

	sessions "$n runs, * exposed, 0 failed, 0 unclean" \
		-n "$n" -e -m "$(misses "$n")" -i B:r:A:w -- ./order_demo
}

# bats test_tags=on:6-1
@test "forty threads held at once pass in order" {
	local n=$(halved 20)

	sessions "$n runs, * exposed, 0 failed, 0 unclean" \
		-n "$n" -e -m "$(misses "$n")" -i A:w:B:r -- ./held_many
}

# bats test_tags=on:6-12
@test "1000 threads, forks, vforks, programs" {
	local n=$(halved 2)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -s older -- ./storm "$(times 1000)"
	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -s younger -- ./storm "$(times 1000)"
}

# bats test_tags=on:6-1
@test "a spinner gives way to who sets its flag" {
	local n=$(times 5)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -s older -- ./spinner
}

# bats test_tags=on:6-12
@test "a session outlives its deadline by nothing" {
	sessions "2 runs, 0 exposed, 0 failed, 0 unclean" \
		-n 2 -d $((SLOW * 500)) -o 4 -q $((SLOW * 1000)) -- \
		./spinner forever
}

# ... which counts from before exec, and that may take long.
# bats test_tags=on:6-1
@test "a deadline that passes before the program is executed is told as one" {
	sessions "1 runs, 0 exposed, 0 failed, 0 unclean" \
		-d 100 -l 600 -o 4 -q $((SLOW * 300)) -- ./spinner forever
	# Also of one that ends, which is told then.
	sessions "1 runs, 0 exposed, 0 failed, 0 unclean" \
		-d 100 -l 600 -o 6 -- ./spinner
}

# bats test_tags=on:6-12
@test "a program that sets its own policy and CPUs stays where it is" {
	sessions "5 runs, 0 exposed, 0 failed, 0 unclean" \
		-n 5 -s older -- ./escape
}

# bats test_tags=on:6-1
@test "a 32-bit program is left alone, though a session has waited for it" {
	sessions "1 runs, 0 exposed, 0 failed, 0 unclean" \
		-s older -q $((SLOW * 3000)) -o 6 -- ./pause32
}

# Who made the group has given it no real-time CPU time, as is the default.
@test "a group in which real-time threads stand still is no place for a target" {
	[ "$SLOW" != 1 ] || skip "this kernel has no groups of real-time threads"
	guest -- sh -c 'mkdir /tmp/cpu && mount -t cgroup -o cpu cpu /tmp/cpu &&
		mkdir /tmp/cpu/none && echo $$ >/tmp/cpu/none/cgroup.procs &&
		cd "$BUILD/tests/qemu" &&
		./session -s native -q 100 -- ./spinner forever &&
		./session -s older -q 100 -- ./spinner forever'
	status_is 3
	says 'no real-time CPU time'
	guest -- sh -c 'mkdir /tmp/cpu && mount -t cgroup -o cpu cpu /tmp/cpu &&
		mkdir /tmp/cpu/some &&
		echo 500000 >/tmp/cpu/some/cpu.rt_runtime_us &&
		echo $$ >/tmp/cpu/some/cgroup.procs && cd "$BUILD/tests/qemu" &&
		exec ./session -s older -q 100 -- ./spinner forever'
	status_is 0
}

@test "a write that no probe sees is seen by the watchpoint" {
	local n=$(halved 20)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -w -i A:w:B:r -- ./unseen
}

# Without throttling nothing but the watchdog, or a kernel's own server for
# ordinary tasks, which 6.12 has, gives the CPU back. There the watchdog is not
# to come: a guest that waits for its CPU looks starved as well.
@test "a target that starves its CPU is released" {
	local state=5 ms=1000

	[ "${MAPLE_QEMU_KERNEL%-rt}" != 6.12 ] || state=1 ms=60000
	guest --alone -- sh -c "cd \$BUILD/tests/qemu &&
		echo -1 >/proc/sys/kernel/sched_rt_runtime_us &&
		echo $ms >/sys/module/maple/parameters/starve_ms &&
		exec ./session -o $state -q 3000 -- ./spinner forever"
	status_is 0
	[ "${lines[-1]}" = "1 runs, 0 exposed, 0 failed, 0 unclean" ]
}

# bats test_tags=on:6-12
@test "a session that ends leaves the target as it was" {
	local n=$(halved 20)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -q 100 -- ./spinner forever
}

# bats test_tags=on:6-1
@test "the target is killed, at up to 50 moments" {
	local n=$(halved 50)

	guest -t 300 -- sh -c 'cd "$BUILD/tests/qemu" &&
		for i in $(seq "$1" "$1" 50); do
			./session -k $i -i A:w:B:r -- ./order_demo || exit
		done' - $((50 / n))
	status_is 0
	[ "${#lines[@]}" = "$n" ]
}

# Children that were begun under the session come out of it after its end.
# bats test_tags=on:6-12
@test "a session ends while many are forking, which takes them long" {
	local n=$(halved 2)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -s older -q 4000 -r 2000 -- ./slow_fork
}

# bats test_tags=on:6-1
@test "who holds the session is killed, at 200 random moments" {
	local n=$(often 100)

	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -x 150 -i A:w:B:r -- ./order_demo
	n=$(often 50)
	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -x 150 -- ./storm
	sessions "$n runs, 0 exposed, 0 failed, 0 unclean" \
		-n "$n" -x 150 -- ./spinner forever
}

# bats test_tags=on:6-12
@test "loaded, used, unloaded, 500 times" {
	local n=$(often 500)

	guest -t 600 --keep-module -- sh -c '
		module=$(ls "$BUILD/module/$(uname -r)/maple.ko") || exit
		cd "$BUILD/tests/qemu"
		for i in $(seq $1); do
			rmmod maple && insmod "$module" &&
				./session -q 1 -- ./spinner forever || exit
		done; rmmod maple; dmesg | tail -1; exec true' sh "$n"
	status_is 0
	[ "${#lines[@]}" = $((n + 1)) ]
}
