#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest, where root has all of root's rights: a user of group maple, with
# none of its own, tests its own programs by way of mapled.
#
# bats file_tags=on:6-1

load common.bash

@test "a user with no rights finds the bug, with the agent and with maple.ko" {
	guest -t 300 -- bash "$ROOT/tests/qemu/programs/mapled.sh" \
		"$(longer 12)"
	status_is 0
	[ "$(grep -c '^pass' <<<"$output")" = 7 ] || fail "not all of it"
}

# In the guest, where systemd keeps a journal.
log='
limit=$1
target=$BUILD/tests/targets/bank_account
run() {
	timeout -s KILL $limit mapletest run --socket /run/m.sock --fresh \
		--backend agent+module -- "$target" >/dev/null 2>/tmp/words
	echo "status $?"
}
systemd-run -q "$BUILD/mapled" --socket /run/m.sock --db /tmp/m.db
until [ -S /run/m.sock ]; do sleep 0.1; done
run
mapletest log
timeout $limit mapletest log -f >/tmp/followed &
follower=$!
until [ -s /tmp/followed ]; do sleep 0.1; done
run
until grep "campaign 2: finding" /tmp/followed; do sleep 0.1; done
kill $follower'

@test "the log has maple.ko's words and mapled's, from the journal, as they come" {
	local at='\[\ +[0-9]+\.[0-9]{6}\]\ maple:\ '

	guest -t 300 --systemd -- timeout $((2 * $(longer 120) + 10)) \
		bash -c "$log" - "$(longer 120)"
	status_is 0
	echo "$output"
	[[ $output =~ ^status\ 66.*${at}loaded.*${at}ready.*${at}campaign\ 1:\ process.*${at}campaign\ 1:\ finding.*status\ 66.*${at}campaign\ 2:\ finding ]] ||
		fail "not all of it"
}

# In the guest: who calls himself mapled or mapletest, and words that a terminal
# would act on.
forged='
as() {
	setpriv --reuid 54321 --regid 54321 --clear-groups "$@"
}
as logger -t mapled "forged: mapled"
as logger -t mapletest "BUG: maple: forged"
as logger -t kernel "maple: forged"
as systemd-cat -t mapled echo "forged: by stdout"
printf "%s\n" MESSAGE=forged SYSLOG_IDENTIFIER=mapled _UID=0 \
	_SYSTEMD_UNIT=mapled.service _TRANSPORT=kernel | as logger --journald
logger -t mapled "$(printf "told \033[2J\033]0;x\007\rin one line")"
journalctl --sync
mapletest log
mapletest log --wall'

@test "the log has nobody's words as mapled's, and no commands to a terminal" {
	guest -t 300 --systemd -- timeout 250 bash -c "$forged"
	status_is 0
	echo "$output" | cat -v
	[ "$(grep -c 'told.*in one line' <<<"$output")" = 2 ] ||
		fail "mapled's own are not there"
	[[ $output != *forged* ]] || fail "somebody else's are"
	! grep -qP '[\x00-\x08\x0b-\x1f\x7f]' <<<"$output" || fail "not clean"
}
