#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Programs that nothing can be preloaded into are found out about from outside,
# by eBPF and maple.ko: static ones, some with other rights than ours, and some
# whose environment is not the one that we gave.
#
# bats file_tags=on:6-12

load common.bash

# In the guest: "STATUS NAME" for each campaign, and what it said of a failure. A
# finding is confirmed in two of them: the runs for that take longer than the search,
# and campaign.bats asks of each target what comes of them.
campaigns="limit=$(longer 120)"'
export MAPLE_NO_DAEMON=1
try() { # WANTED NAME ARGUMENT...
	local wanted=$1 name=$2 status

	shift 2
	timeout -s KILL $limit mapletest run --backend kernel --db :memory: \
		--seed 1 --max-runs "${runs:-20}" --confirm "${confirm:-0}" \
		--baseline-fails "$@" \
		>/tmp/said 2>&1
	status=$?
	echo "$status $name"
	[ $status = "$wanted" ] &&
		grep -q "observed by ebpf, enforced by module" /tmp/said ||
		cat /tmp/said
}
t=$BUILD/tests/targets
'

findings_are() { # PATTERN...
	local line

	status_is 0
	for line; do
		[[ $'\n'$output$'\n' == *$'\n'$line$'\n'* ]] ||
			fail "no '$line'"
	done
	[ "${#lines[@]}" = $# ] || fail "more was said"
}

@test "static programs: bugs are found, and none in a clean one" {
	guest -t 400 -- bash -c "$campaigns"'
		runs=8 try 0 mutex_counter -- $t/static/clean/mutex_counter
		for name in bank_account queue_free lock_order log_sweep; do
			confirm=0
			[ $name != bank_account ] || confirm=5
			try 66 $name -- $t/static/$name
			sed -n "s/^SUMMARY: maple: \(.* in [a-z_]*\) .*/\1/p" \
				/tmp/said | head -n 1
		done'
	# Named by the program's functions: abort() is no part of it. A mutex
	# that was freed while somebody waited for it may keep him for good, and
	# a campaign may meet both.
	findings_are "0 mutex_counter" \
		"66 bank_account" "SIGABRT in main" \
		"66 queue_free" "@(SIGSEGV|deadlock) in consume" \
		"66 lock_order" "deadlock in to_right" \
		"66 log_sweep" "SIGSEGV in process"
}

@test "set-user-id, an emptied environment, another user" {
	guest -t 400 -- bash -c "$campaigns"'
		cp $t/bank_account /run/other
		chown 65534:65534 /run/other
		chmod 6755 /run/other
		confirm=5 try 66 set-user-id -- /run/other
		printf "#!/bin/sh\nenv -i %s\n" $t/lock_order >/run/script
		chmod 755 /run/script
		try 66 emptied --exe lock_order -- /run/script
		try 66 user --exe log_sweep -- setpriv --reuid 65534 \
			--regid 65534 --clear-groups $t/log_sweep'
	findings_are "66 set-user-id" "66 emptied" "66 user"
}

@test "what is observed does what it does otherwise" {
	guest --no-module -- bash -c \
		'"$BUILD/tests/events" ebpf "$BUILD/tests/e2e/vector" >/run/seen'
	status_is 0
	says 'vector: vex copied'
	says 'vector: whole'
}
