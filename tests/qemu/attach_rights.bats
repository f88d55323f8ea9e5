#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# With whose rights root attaches to a server, and where what it learns is kept.
# That mapletest decides by itself; what each kernel has to say about it,
# rights.bats asks on all of them, and attach.bats attaches on all of them.
# bats file_tags=on:6-12

load common.bash
load attach.bash

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
	timeout -s KILL $((2 * $2 + 30)) mapletest attach --seed $try --max-time ${2}s \
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
	# As in attach.bats: the crashed thread may stand no longer.
	jq -e ".findings[0] | (.moments | length > 1) and
		any(.stacks[]; .failed)" /tmp/json >/dev/null && break
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
	guest -t 500 -- bash -c "$lib$user" - "$1" "$(longer 60)"
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

# A job of root's: what it observes with it keeps, all else takes the warden.
job='
uid=54321
export HOME=/tmp/root
mkdir /tmp/root && chmod 1777 /tmp
serve_as="setpriv --reuid $uid --regid $uid --clear-groups"
for try in 1 2 3 4 5; do
	serve crash
	number=$(mapletest attach --detach --seed $try --max-time ${1}s $server)
	worker=$(mapletest jobs --format json | jq ".jobs[-1].pid")
	grep -E "^(Uid|CapPrm|NoNewPrivs|Seccomp):" /proc/$worker/status >/tmp/worker
	mapletest jobs --wait $number --format json >/tmp/json && continue
	jq -e ".findings[0].moments | length > 1" /tmp/json >/dev/null && break
done
echo $(cat /tmp/worker)
jq -c "[.backends.observe, .backends.enforce, (.findings[0] | .kind,
	([.stacks[] | select(.failed) | .frames[] | .function] |
	index(\"use\") != null))]" /tmp/json
cat /tmp/root/.local/state/maple/jobs/*/log >&2
"$BUILD/tests/unit/test_sandbox" >&2 && "$BUILD/tests/unit/test_confine" >&2'

@test "root's job finds a bug from inside its sandbox, and this kernel has all of that" {
	guest -t 500 -- bash -c "$lib$job" - "$(longer 60)"
	status_is 0
	[ "${lines[0]}" = "Uid: 54321 54321 54321 54321 CapPrm: 000000c000800000\
 NoNewPrivs: 1 Seccomp: 2" ] || fail "it has other rights"
	[ "${lines[1]}" = '["ebpf","module","signal",true]' ] ||
		fail "not that finding"
	if [[ $stderr == *"no Landlock"* ]]; then
		fail "not in a sandbox for files"
	fi
}
