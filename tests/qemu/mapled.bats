#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest, where root has all of root's rights: a user of group maple, with
# none of its own, tests its own programs by way of mapled.
#
# kernels: 6.1

load common.bash

@test "a user with no rights finds the bug, with the agent and with maple.ko" {
	guest -t 300 -- bash "$ROOT/tests/qemu/programs/mapled.sh"
	status_is 0
	[ "$(grep -c '^pass' <<<"$output")" = 7 ] || fail "not all of it"
}

# In the guest, where systemd keeps a journal.
log='
target=$BUILD/tests/targets/bank_account
run() {
	timeout -s KILL 120 mapletest run --socket /run/m.sock --fresh \
		--backend agent+module -- "$target" >/dev/null 2>/tmp/words
	echo "status $?"
}
systemd-run -q "$BUILD/mapled" --socket /run/m.sock --db /tmp/m.db
until [ -S /run/m.sock ]; do sleep 0.1; done
run
mapletest log
timeout 100 mapletest log -f >/tmp/followed &
follower=$!
until [ -s /tmp/followed ]; do sleep 0.1; done
run
until grep "campaign 2: finding" /tmp/followed; do sleep 0.1; done
kill $follower'

@test "the log has maple.ko's words and mapled's, from the journal, as they come" {
	local at='\[\ +[0-9]+\.[0-9]{6}\]\ maple:\ '

	guest -t 300 --systemd -- timeout 250 bash -c "$log"
	status_is 0
	echo "$output"
	[[ $output =~ ^status\ 66.*${at}loaded.*${at}ready.*${at}campaign\ 1:\ process.*${at}campaign\ 1:\ finding.*status\ 66.*${at}campaign\ 2:\ finding ]] ||
		fail "not all of it"
}
