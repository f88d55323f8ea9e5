#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapletest attach from outside on this machine, where as a rule there is no
# maple.ko: a server under load is observed, and nothing else happens to it; by
# the agent: attach_agent.bats. Without eBPF
# the tests that need it are skipped, and say so. What is forced on a running
# program is tested in guests.
#
# Who only observes claims no CPU.
# beside: guests

load common
load serving

doctor_says() { # PROBE
	"$BUILD/mapletest" doctor --format json 2>/dev/null |
		jq -r ".probes[] | select(.name == \"$1\") | .state"
}

needs_ebpf() {
	[ "$(doctor_says 'eBPF observer')" != ok ] || return 0
	if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] &&
		grep -q . /sys/bus/event_source/devices/uprobe/type; then
		fail "doctor does not find eBPF, though it should be there"
	fi
	skip "no eBPF for us here"
}

# How the server's threads are scheduled, and who traces it.
state_of() {
	for task in /proc/"$1"/task/*; do
		echo "${task##*/} $(chrt -p "${task##*/}")" \
			"$(grep -E '^(State:.[TtZ]|TracerPid|Cpus_allowed:)' \
				"$task/status")"
	done
}

attach() { # OPTIONS... PID
	rm -f "$json"
	mapletest attach --backend kernel --db "$db" --format json \
		--output "$json" "$@"
}

# In the background; $attached is its number. On a busy machine it takes seconds
# until the server is observed.
attach_behind() { # OPTIONS... PID
	"$BUILD/mapletest" attach --backend kernel --db "$db" "$@" \
		>"$BATS_TEST_TMPDIR/live" 2>&1 3>&- &
	attached=$!
	ours="$ours $attached"
	sleep 1.5
	until grep -q uprobes "/proc/${*: -1}/maps"; do
		kill -0 $attached || return 1
		sleep 0.1
	done
	sleep 0.5
	kill -0 $attached
}

@test "a server is observed, what could be forced is predicted, it runs on" {
	local before enforce=none wanted=125

	needs_ebpf
	[ "$(doctor_says maple.ko)" != ok ] || enforce=module wanted=0
	serve "$E2E/server" clean
	before=$(state_of $server)
	attach --max-time 5s $server
	ended_with $wanted
	holds ".runs.profile >= 1 and .runs.baseline == 0 and .findings == []"
	holds ".backends.observe == \"ebpf\" and .backends.enforce == \"$enforce\""
	holds '[.coverage.predicted[]] | add > 0'
	holds '.delivery.hits.trap > 100'
	if [ $enforce = none ]; then
		holds '.verdict == "undelivered" and
			(.undelivered | test("observed only, .*maple.ko"))'
		says 'nothing is enforced: maple.ko'
	fi
	[ "$(state_of $server)" = "$before" ] || fail "it is not as it was"
	mapletest memo list --db "$db"
	[[ $output == *server* ]]
}

@test "--sites pairs joins it with few probes" {
	needs_ebpf
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	serve "$E2E/server" clean
	attach --sites pairs --max-time 3s $server
	ended_with 0 125
	holds '[.coverage.predicted[]] | add > 0'
	holds '.delivery | .hits.trap > 0 and .sites > 0 and
		(.left_out | test("by --sites [1-9]"))'
}

@test "it ends when asked: a signal, mapled detach, and then who asks is told" {
	needs_ebpf
	serve "$E2E/server" clean
	attach_behind $server
	mapletest attach $server
	ended_with 125
	says "attached to process $server already.*mapled detach $server"
	kill -TERM $attached
	wait $attached || [ $? = 125 ]
	attach_behind $server
	run --separate-stderr timeout 30 "$BUILD/mapled" detach $server
	ended_with 0
	! kill -0 $attached 2>/dev/null || wait $attached || [ $? = 125 ]
	kill -0 $server
	run --separate-stderr timeout 30 "$BUILD/mapled" detach $server
	ended_with 125
	says "nobody is attached to process $server"
}

@test "who takes the name of a process that is another's is named" {
	local started

	[ "$(id -u)" = 0 ] || skip "another user's process takes root"
	serve "$E2E/server" clean
	read -r -a started <"/proc/$server/stat"
	setpriv --reuid 54321 --regid 54321 --clear-groups perl -MSocket -e '
		socket(S, AF_UNIX, SOCK_STREAM, 0) or die;
		bind(S, pack_sockaddr_un("\0maple-attached-$ARGV[0]")) or die;
		listen(S, 1) or die;
		print "taken\n"; close STDOUT; sleep 600' \
		"$server-${started[21]}" >"$BATS_TEST_TMPDIR/taken" 3>&- &
	ours="$ours $!"
	until [ -s "$BATS_TEST_TMPDIR/taken" ]; do sleep 0.1; done
	mapletest attach $server
	ended_with 125
	says "of user 54321 has taken the name .* process $server"
	run --separate-stderr timeout 30 "$BUILD/mapled" detach $server
	ended_with 125
	says "of user 54321 has taken the name .* process $server"
	# Who lets nobody in keeps nobody waiting.
	for _ in 1 2 3 4; do
		run --separate-stderr timeout 30 "$BUILD/mapled" detach $server
		ended_with 125
	done
	says "does not answer: .ss -xlp"
}

@test "killed, it leaves the server as it was, and another can come" {
	local before

	needs_ebpf
	serve "$E2E/server" clean
	before=$(state_of $server)
	attach_behind $server
	kill -KILL $attached
	wait $attached || true
	[ "$(state_of $server)" = "$before" ] || fail "it is not as it was"
	attach --max-time 5s $server
	holds '.runs.profile >= 1'
	kill -0 $server
}

@test "the server's end is its own affair, but a crash is a finding" {
	needs_ebpf
	serve "$E2E/server" clean
	attach_behind $server
	kill -TERM $server
	wait $attached && fail "0?" || [ $? = 125 ]
	grep -q "process $server was ended by SIGTERM" "$BATS_TEST_TMPDIR/live"
	serve "$E2E/server" clean
	attach_behind --format json --output "$json" $server
	kill -SEGV $server
	wait $attached && fail "0?" || [ $? = 66 ]
	holds '.findings[0] | .kind == "signal" and .signo == 11 and .attached
		and .confirm.forced == [0, 0] and has("replay") == false'
	mapletest report --db "$db"
	[[ $output == *"(attached, seen 1)"* ]] || fail "$output"
}

@test "mapled attach does the same" {
	needs_ebpf
	serve "$E2E/server" clean
	run --separate-stderr timeout -s KILL 60 "$BUILD/mapled" attach \
		--no-daemon --backend kernel --db "$db" --max-time 5s --quiet \
		$server
	ended_with 125
	says "observed only"
}

# As pkexec runs it: with root's rights, for somebody who is not root, and
# whose environment is not believed.
lent() { # WORD...
	run --separate-stderr env PKEXEC_UID=54321 MAPLE_OPTIONS=--nonsense \
		timeout -s KILL 60 "$BUILD/mapled" attach "$@"
}

@test "whom pkexec lets attach says nothing that root alone may say" {
	local made=$BATS_TEST_TMPDIR/made words

	for words in "--oracle=touch $made" --db=$made "--db $made" \
		--output=$made --suppressions=/etc/shadow --socket=$made --fresh \
		--orac=true -q --no-daemon --; do
		lent $words 4194999
		ended_with 2
		says "'-.*' takes root, not an administrator's consent"
		[ ! -e "$made" ]
	done
	# What is permitted is mapletest's to judge.
	lent --max-time 5s --keep-going --seed=7 --idioms 1,2 --include '*' \
		--quiet --format json 4194999
	ended_with 125
	says "no process 4194999"
	lent --max-time
	ended_with 2
}

# Some kernels would kill it for our probes: there it is refused.
@test "a server that filters its system calls lives on" {
	needs_ebpf
	serve "$E2E/server" filtered
	attach --max-time 5s $server
	ended_with 125
	says "nothing is enforced|filters its system calls.*6.14"
	kill -0 $server
}

refused() { # WORDS PID
	local words=$1

	shift
	mapletest attach --db "$db" "$@"
	ended_with 125
	says "$words"
}

@test "what cannot be joined is refused, with cause and mend" {
	local kernel

	refused "no process 4194999.*pidof" 4194999
	refused "process 1 is init" 1
	run --separate-stderr bash -c 'exec "$0" attach --db "$1" $$' \
		"$BUILD/mapletest" "$db"
	ended_with 125
	says "this very maple"
	kernel=$(pgrep -f -x -P 0 '\[?kthreadd\]?' || pgrep -x kthreadd || true)
	[ -z "$kernel" ] || refused "thread of the kernel" "$kernel"
	serve "$E2E/server" traced
	refused "traced by server.*let go" $server
	serve "$E2E/server" clean
	thread=$(ls /proc/$server/task | tail -1)
	refused "thread of process $server: .mapletest attach $server" $thread
	for wrong in x 0 -5 12x 99999999999 ''; do
		mapletest attach --db "$db" -- "$wrong"
		ended_with 2
	done
	mapletest attach --db "$db"
	ended_with 2
	mapletest attach --db "$db" 1 2
	ended_with 2
}

@test "another user's process takes root" {
	[ "$(id -u)" = 0 ] || skip "takes root to become another user"
	serve "$E2E/server" clean
	run --separate-stderr timeout -s KILL 20 setpriv --reuid=65534 \
		--clear-groups "$BUILD/mapletest" attach --db :memory: $server
	ended_with 125
	says "runs as root: .sudo mapletest attach $server"
}

@test "a program of 32 bits is refused" {
	local program=$BATS_TEST_TMPDIR/narrow

	printf '.globl _start\n_start:\n\tmov $29, %%eax\n\tint $0x80\n\tjmp _start\n' |
		cc -m32 -nostdlib -static -x assembler -o "$program" -
	"$program" 3>&- &
	ours="$ours $!"
	sleep 0.2
	kill -0 $! || skip "this kernel runs no programs of 32 bits"
	refused "no x86-64 program" $!
}

@test "a program that was replaced since it was started is refused" {
	needs_ebpf
	cp "$E2E/server" "$BATS_TEST_TMPDIR/served"
	E2E=$BATS_TEST_TMPDIR
	mv "$E2E/served" "$E2E/server"
	serve "$E2E/server" clean
	cp "$E2E/server" "$E2E/new"
	mv "$E2E/new" "$E2E/server"
	refused "replaced.*start it again" $server
}

@test "one thread is observed, and it is said that it takes two" {
	needs_ebpf
	serve "$E2E/server" clean 0
	attach --max-time 1s $server
	ended_with 125
	says "process $server has one thread"
}

@test "without journal and maple.ko there is no log, and that is said" {
	if [ -e /sys/module/maple ] || [ -d /run/systemd/journal ]; then
		mapletest log
		ended_with 0
		return
	fi
	mapletest log
	ended_with 125
	says "no journal.*maple.ko is not loaded.*modprobe maple"
}
