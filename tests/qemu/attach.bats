#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A running server is joined, orders are forced on it under its own load, and
# it is left as it was: tests/e2e/server.c. Killed at three moments, at twenty
# with MAPLE_FULL=1.

load common.bash

# What the scripts in the guest share.
lib='
serve() {
	: >/tmp/said
	$serve_as "$BUILD/tests/e2e/server" "$@" >/tmp/said &
	until [ -s /tmp/said ]; do sleep 0.1; done
	server=$(cat /tmp/said)
}
state() {
	local task

	for task in /proc/$server/task/*; do
		echo ${task##*/} $(ps -L -o cls=,rtprio=,ni= -q ${task##*/} |
			head -1) $(grep -E "^(State:.[TtZ]|TracerPid|Cpus_allowed:)" \
			$task/status) $(chrt -p ${task##*/})
	done
}
# The files of that name which this guest wrote, wherever. A find over /root would
# read all that the host has there: minutes, if that is much.
written() { # NAME FORMAT
	find /run/layers/upper -type f -name "$1" -printf "$2 /%P\n" |
		sed "s|/tmp.own/|/tmp/|"
}
attach() {
	timeout -s KILL 400 mapletest attach --db /tmp/memo.db --seed ${try:-1} "$@"
}
'

# On a busy host requests pile up, and a server may crash before its order is
# forced; then another one is joined.
found='
for try in 1 2 3 4 5; do
	rm -f /tmp/memo.db
	serve crash
	attach --max-time 60s --format json --output /tmp/json $server 2>/tmp/words
	status=$?
	jq -e ".findings[0].moments | length > 1" /tmp/json >/dev/null && break
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

# A server that was begun as an ordinary user, and one that becomes that user by
# itself, which nobody but root may trace. The oracle is a program that mapletest
# executes.
user='
uid=54321
mkdir /tmp/user && chmod 1777 /tmp /tmp/user
for try in 1 2 3 4 5; do
	rm -rf /var/lib/maple /tmp/json
	case $1 in
	begun) serve_as="setpriv --reuid $uid --regid $uid --clear-groups"
		serve crash ;;
	become) serve crash 3 $uid ;;
	esac
	timeout -s KILL 150 mapletest attach --seed $try --max-time 60s \
		--format json --output /tmp/json --oracle "
		{ grep -E \"^(Uid|CapEff|CapAmb|NoNewPrivs):\" /proc/self/status
		ls -l /root/secret; } >/tmp/user/oracle 2>&1; true" \
		$server 2>/tmp/words &
	attached=$!
	until tool=$(pgrep -x mapletest); do sleep 0.05; done
	until grep -q "Uid:.$uid" /proc/$tool/status || ! kill -0 $tool; do
		sleep 0.05
	done
	grep -E "^(Uid|Gid|Groups|CapPrm|CapAmb|NoNewPrivs):" /proc/$tool/status \
		>/tmp/tool
	wait $attached
	status=$?
	jq -e ".findings[0].moments | length > 1" /tmp/json >/dev/null && break
done
echo "status $status"
echo $(cat /tmp/tool)
echo $(cat /tmp/user/oracle)
jq -c ".findings[0] | [.kind, .attached, ([.stacks[] | select(.failed) |
	.frames[] | .function] | index(\"use\") != null)]" /tmp/json
stat -c "%u %a" /tmp/json
written "memo.db*" "%U %m"
cat /tmp/words >&2
pgrep -x maple-warden
exit 0'

# As root, all of it would be read with root's rights; 0xc000800000 are
# CAP_BPF, CAP_PERFMON and CAP_SYS_NICE.
as_its_user() { # begun|become
	guest -t 500 -- bash -c "$lib$user" - "$1"
	status_is 0
	echo "$output"
	[ "${lines[0]}" = "status 66" ] || fail "no finding"
	[ "${lines[1]}" = "Uid: 54321 54321 54321 54321 Gid: 54321 54321 54321\
 54321 Groups: CapPrm: 000000c000800000 CapAmb: 0000000000000000\
 NoNewPrivs: 1" ] || fail "it has other rights"
	[[ ${lines[2]} == "Uid: 54321 54321 54321 54321 CapEff: \
0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 "*"ermission denied" ]] ||
		fail "what it executes has other rights"
	[ "${lines[3]}" = '["signal",true,true]' ] || fail "not that finding"
}

@test "root attaches as the user that the process runs as" {
	as_its_user begun
	[ "${lines[4]}" = "0 644" ] || fail "the report is not as ever"
	[ "${lines[5]}" = "54321 600 /var/lib/maple/54321/memo.db" ] ||
		fail "no memo of the user's"
	[ -z "${lines[6]-}" ] || fail "something is left"
	says "what is learned is kept in /var/lib/maple/54321/memo.db"
}

@test "a server that has given up root, which its user may not trace" {
	as_its_user become
	[ "${lines[4]}" = "0 600" ] || fail "the report is there for the user"
	[ -z "${lines[5]-}" ] || fail "something is left"
	says "what is learned is not kept"
}

# Of those who may not be traced; a memo is the user's if it is named.
hidden='
uid=54321
user="--reuid $uid --regid $uid --clear-groups"
mkdir /tmp/user && chown $uid /tmp/user
try_on() {
	serve clean
	mapletest attach --max-time 3s --output /tmp/out "$@" $server 2>/tmp/words
	kill $server
	echo "$what: $(written memo.db %U) $(stat -c %a /tmp/out) $(
		grep -c "is not kept" /tmp/words)"
	rm -rf /tmp/out /var/lib/maple
}
what=plain serve_as="setpriv $user" try_on
cap=+net_bind_service
what=capable serve_as="setpriv $user --inh-caps $cap --ambient-caps $cap" try_on
what=group serve_as="setpriv --reuid $uid --rgid 1 --egid $uid --clear-groups" \
	try_on
serve_as="setpriv $user --inh-caps $cap --ambient-caps $cap"
what=named try_on --db /tmp/user/memo.db
exit 0'

@test "what is learned of who may not be traced is kept where that is said" {
	guest -t 500 -- bash -c "$lib$hidden"
	status_is 0
	[ "$output" = "plain: 54321 /var/lib/maple/54321/memo.db 644 0
capable:  600 1
group:  600 1
named: 54321 /tmp/user/memo.db 600 0" ] || fail
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
# On a busy host the first one may have no time left to force an order.
for seconds in 20 100; do
	attach --max-time ${seconds}s $server >/tmp/words 2>&1
	status=$?
	[ $status = 125 ] || break
done
echo "status $status"
cat /tmp/words >&2'

@test "killed at any moment, it leaves the server as it was" {
	local times=${MAPLE_FULL:+20}

	guest -t 400 -- bash -c "$lib$kills" - ${times:-3}
	echo "$output"
	[[ ${lines[0]} == "killed ${times:-3}, "* ]] || fail "not as it was"
	[ "${lines[1]}" = "status 0" ] || fail "nobody could come after it"
}
