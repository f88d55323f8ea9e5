#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapletest attach by the agent, which takes no module and no eBPF: a server
# under load is joined and left many times and answers all the same, a bug in one
# is found by a forced order, nothing of us stays in it, and what cannot be joined
# is refused. From outside: attach.bats.

load common
load joined.bash

# In the background, until the agent is there; $attached is its number.
attach_behind() { # OPTIONS... PID
	"$BUILD/mapletest" attach --db "$db" --backend agent "$@" \
		>"$BATS_TEST_TMPDIR/live" 2>&1 3>&- &
	attached=$!
	ours="$ours $attached"
	for try in {1..1800}; do
		! grep -q maple-agent "/proc/${*: -1}/maps" || return 0
		kill -0 $attached || return 1
		sleep 0.1
	done
	return 1
}

@test "joined and left many times under load, a server answers as ever" {
	local before often=${MAPLE_FULL:+100}

	serve "$E2E/answers" "$BATS_TEST_TMPDIR/answers"
	serves
	before=$(state_of $server)
	for round in 1 2; do
		join_often ${often:-10}
		holds '.runs.profile >= 1 and .runs.enforced >= 1'
		holds '.delivery.hits | .jump + .neighbours > 0'
		says 'no lock and no function of libc'
		is_as_before
	done
	serves
	[ "$(answered 2)" = 0 ] || fail "$(answered 2) answers were wrong"
	[ "$(answered 3)" = 0 ] || fail "$(answered 3) waits were interrupted"
}

# A stretch has some thirty requests.
@test "a bug in a server is found by an order that was forced" {
	for try in {1..5}; do
		serve "$E2E/server" crash
		limit=400 attach --seed $try --timeout 300ms --max-time 200s \
			$server
		[ "$status" != 66 ] || break
	done
	ended_with 66
	holds '.findings[0] | .kind == "signal" and .signo == 11 and .attached
		and .idiom > 0'
	holds 'any(.findings[0].stacks[].frames[]; .function == "use")'
}

@test "killed, it leaves the server as it was, and another can come" {
	local before

	serve "$E2E/answers" "$BATS_TEST_TMPDIR/answers"
	serves
	before=$(state_of $server)
	for moment in 0 0.1 0.5 3; do
		attach_behind --timeout 1s --max-time 100s $server
		sleep $moment
		kill -KILL $attached
		is_as_before
		serves
	done
	[ "$(answered 2)" = 0 ] || fail "$(answered 2) answers were wrong"
	limit=100 attach --max-time 5s $server
	ended_with 0 125
	is_as_before
}

refused() { # WORDS PID
	mapletest attach --db "$db" --backend agent --max-time 20s "$2"
	ended_with 125
	says "$1"
}

@test "what the agent cannot join is refused, with cause and mend" {
	local stopped still=$BATS_TEST_TMPDIR/static

	serve "$E2E/server" filtered
	refused "process $server filters its system calls .*start it without" \
		$server
	serve "$E2E/server" traced
	refused "traced by server.*let go" $server
	serve "$E2E/server" clean
	kill -STOP $server
	for try in {1..300}; do
		! grep -q '^State:.T' /proc/$server/status || break
		sleep 0.1
	done
	refused "process $server is stopped: .kill -CONT $server" $server
	kill -CONT $server
	echo 'int pause(void); int main(void) { for (;;) pause(); }' |
		cc -static -x c -o "$still" -
	"$still" 3>&- &
	ours="$ours $!"
	refused "statically linked" $!
	mapletest attach --db "$db" --backend ebpf+agent $server
	ended_with 125
	says "cannot join a program: agent and kernel can"
	LD_PRELOAD=$BUILD/libmaple-agent.so serve "$E2E/server" clean
	refused "has an agent already" $server
}

@test "who may not trace it is told so" {
	[ "$(id -u)" = 0 ] || skip "takes root to become another user"
	serve "$E2E/server" clean 3 65534
	run --separate-stderr timeout -s KILL 60 setpriv --reuid=65534 \
		--regid=65534 --clear-groups "$BUILD/mapletest" attach \
		--backend agent --db :memory: $server
	ended_with 125
	says "may not be traced|run it as root"
}

# As a user who is not root.
as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

@test "a user joins a program of the user's own, and takes no root for it" {
	local before answers

	[ "$(id -u)" = 0 ] || skip "takes root to become a user"
	as_user test -x "$BUILD/mapletest" ||
		skip "$BUILD cannot be seen by another user"
	answers=$BATS_TEST_TMPDIR/answers
	: >"$answers"
	chmod 666 "$answers"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
	serve setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$E2E/answers" "$answers"
	serves
	before=$(state_of $server)
	run --separate-stderr timeout -s KILL 200 setpriv --reuid=65534 \
		--regid=65534 --clear-groups "$BUILD/mapletest" attach \
		--backend agent --db :memory: --timeout 500ms --max-time 10s \
		$server
	ended_with 0 125
	says "the agent joins process $server"
	says "iRoots exposed|observed only, [1-9][0-9]* iRoots predicted"
	is_as_before
	serves
	[ "$(answered 2)" = 0 ] || fail "$(answered 2) answers were wrong"
}
