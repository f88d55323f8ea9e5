#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The eBPF observer on the kernels that maple is made for, one of which has no
# link for many probes: event for event what the agent sees there.

load common.bash

# In the guest, for each program: three tries, since real-time throttling may
# take the CPU from a run; whoever never agrees is named.
compare='
limit=$1
shift
for target; do
	for try in 1 2 3; do
		timeout -s KILL $limit "$BUILD/tests/events" agent "$target" \
			>/tmp/one 2>/tmp/said.one &&
		timeout -s KILL $limit "$BUILD/tests/events" ebpf+agent "$target" \
			>/tmp/two 2>/tmp/said.two && [ -s /tmp/one ] &&
		cmp -s /tmp/one /tmp/two && continue 2
	done
	echo "$target differs"
	cat /tmp/said.one /tmp/said.two
	diff /tmp/one /tmp/two | head -20
	bad=1
done
echo "$# compared"
exit ${bad:-0}'

@test "event for event what the agent sees" {
	local t=$BUILD/tests/targets

	guest --no-module -t 400 -- env BUILD="$BUILD" bash -c "$compare" - "$(longer 60)" \
		"$t/bank_account" "$t/lock_order" "$t/log_sweep" \
		"$t/string_buffer" "$t/refcount" "$t/clean/c11_pipeline"
	status_is 0
	[[ $output =~ 6\ compared ]] || fail "not all were compared"
}

# Linux 6.1, where each probe takes an event of perf's, wants CAP_SYS_ADMIN for
# one.
@test "doctor tells whether CAP_BPF and CAP_PERFMON are enough" {
	guest --no-module -- bash -c '
		for more in "" ,+sys_admin; do
			caps=+bpf,+perfmon,+sys_nice$more
			setpriv --reuid 65534 --regid 65534 --clear-groups \
				--inh-caps $caps --ambient-caps $caps \
				mapletest doctor --no-daemon --format json |
				jq -r ".probes[] | select(.name == \"eBPF observer\") |
					\"\(.state): \(.text) (\(.mend))\""
		done'
	status_is 0
	[ "${#lines[@]}" = 2 ] || fail "not asked twice"
	case $MAPLE_QEMU_KERNEL in
	6.1 | debug | kcsan) [[ ${lines[0]} == *"not probe a program"*"(run mapletest as root)" ]] ;;
	*) [[ ${lines[0]} == "ok: the observer can be loaded"* ]] ;;
	esac || fail "with CAP_PERFMON"
	[[ ${lines[1]} == "ok: the observer can be loaded"* ]] ||
		fail "with CAP_SYS_ADMIN"
}
