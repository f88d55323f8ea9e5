#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A running server is joined, orders are forced on it under its own load, and
# it is left as it was: tests/e2e/server.c. Killed at three moments, at twenty
# with MAPLE_FULL=1. With whose rights: attach_rights.bats.
#
# beside: guests

load common.bash
load attach.bash

# On a busy host requests pile up, and a server may crash before its order is
# forced, or the crashed thread stands no longer when its stack is looked at; then
# another one is joined.
found='
for try in 1 2 3 4 5; do
	rm -f /tmp/memo.db
	serve crash
	attach --max-time 60s --format json --output /tmp/json $server 2>/tmp/words
	status=$?
	jq -e ".findings[0] | (.moments | length > 1) and
		any(.stacks[]; .failed)" /tmp/json >/dev/null && break
done
echo "status $status"
jq -c ".findings[0] | [.kind, .signo, .idiom > 0, .attached, .confirm.forced[1],
	(.moments | length) > 1, ([.stacks[] | select(.failed) | .frames[] |
	.function] | index(\"use\") != null)]" /tmp/json
mapletest report --db /tmp/memo.db
kill -0 $server 2>/dev/null && echo "alive"
exit 0'

@test "a bug in a server under load is found by a forced order" {
	guest -t 500 -- bash -c "$lib$found"
	status_is 0
	echo "$output"
	[ "${lines[0]}" = "status 66" ] || fail "no finding"
	[ "${lines[1]}" = '["signal",11,true,true,0,true,true]' ] ||
		fail "not that finding"
	[[ ${lines[2]} == *"SIGSEGV in use"*"(attached, seen 1)"* ]] ||
		fail "not remembered"
	[[ $output != *alive* ]] || fail "it did not crash"
}

clean='
serve clean
before=$(state)
attach --max-time ${1}s --format json --output /tmp/json $server 2>/tmp/words
echo "status $?"
jq -c "[.verdict, .runs.enforced > 0, .backends.enforce]" /tmp/json
[ "$before" = "$(state)" ] && echo same || { echo "$before"; state; }
first=$(awk "{ print \$14 + \$15 }" /proc/$server/stat)
sleep 1
[ $(awk "{ print \$14 + \$15 }" /proc/$server/stat) -ge $first ] && echo serves
kill -0 $server && echo alive
mapletest log
exit 0'

# bats test_tags=on:6-1
@test "nothing is found in a clean one, which runs on as it was" {
	guest -t 200 -- bash -c "$lib$clean" - \
		"$(longer $((${MAPLE_FULL:+4 *} 15)))"
	status_is 0
	echo "$output"
	[ "${lines[0]}" = "status 0" ] || fail "not clean"
	[ "${lines[1]}" = '["clean",true,"module"]' ] || fail "not forced"
	[ "${lines[2]}" = same ] || fail "it is not as it was"
	[[ $output == *serves*alive* ]] || fail "it does not run on"
	# Without a journal, maple.ko's own words.
	[[ $output =~ \[\ +[0-9]+\.[0-9]{6}\]\ maple:\ loaded ]] ||
		fail "no log"
}

# It answers nobody until we have left: no order can be forced on it.
cut='
serve clean
for try in 1 2 3 4 5; do
	rm -f /tmp/memo.db
	attach --timeout 100s --format json --output /tmp/json $server \
		2>/tmp/words &
	attached=$!
	until [[ $(state) == *SCHED_FIFO* ]]; do sleep 0.05; done
	kill -STOP $server
	sleep 1
	kill -INT $(pgrep -P $attached)
	wait $attached
	status=$?
	kill -CONT $server
	jq -c "[.verdict, .runs.enforced, .coverage.exposed | add? // .]" /tmp/json
	[ $status = 0 ] || break
done
echo "status $status"
cat /tmp/words'

# bats test_tags=on:6-12
@test "an order that was being forced when it was left was not tried" {
	guest -t 300 -- bash -c "$lib$cut"
	echo "$output"
	[[ $output == *"status 125"* ]] || fail "that was no test"
}

kills='
serve clean
before=$(state)
RANDOM=1
forced=0
for ((i = 0; i < $1; i++)); do
	mapletest attach --db /tmp/memo.db --seed 1 --max-time 100s $server \
		>/tmp/words 2>&1 &
	attached=$!
	sleep $((RANDOM % 6)).$((RANDOM % 10))
	case $(state) in *SCHED_FIFO*) forced=$((forced + 1)) ;; esac
	kill -KILL $attached
	wait $attached
	while pgrep -x maple-warden >/tmp/warden; do sleep 0.1; done
	kill -0 $server || echo "it was killed as well"
	[ "$before" = "$(state)" ] || { echo "$i: other"; state; }
done 2>/dev/null
echo "killed $i, $forced while forcing"
# On a busy host the first ones may have no time left to force an order.
for seconds in 20 100 300; do
	attach --max-time ${seconds}s $server >/tmp/words 2>&1
	status=$?
	[ $status = 125 ] || break
done
echo "status $status"
cat /tmp/words >&2'

# bats test_tags=on:6-12
@test "killed at any moment, it leaves the server as it was" {
	local times=${MAPLE_FULL:+20}

	guest -t 700 -- bash -c "$lib$kills" - ${times:-3}
	echo "$output"
	[[ ${lines[0]} == "killed ${times:-3}, "* ]] || fail "not as it was"
	[ "${lines[1]}" = "status 0" ] || fail "nobody could come after it"
}
