#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a session survives, and its target: victims (programs/victim.c) with
# threads that are each scheduled in a way of their own, to which something
# bad happens under sessions. Afterwards every thread that is left must be as
# it was, or as it has asked to be since. See module.bats for single sessions.
#
# MAPLE_FAULTS  moments at which each end is killed; 200 for a full run
#               [10; 20 with MAPLE_FULL=1; a tenth on a slow kernel]
# MAPLE_SEED    of all that is random
#
# beside: guests

load common.bash

FAULTS=${MAPLE_FAULTS:-$(halved 20)}
SEED=${MAPLE_SEED:-$RANDOM}

# A program of tests/qemu on a victim, in a guest
on_victim() { # PROGRAM ARGUMENT...
	echo "seed $SEED"
	guest -t $((120 + FAULTS * 3)) -- \
		sh -c 'cd "$BUILD/tests/qemu" && exec ./"$@" ./victim' - "$@"
	status_is 0
}

@test "who holds the session is killed, in the middle of anything" {
	on_victim killed owner "$FAULTS" "$SEED"
	[[ $output =~ ^owner:\ $FAULTS\ killed,\ ([0-9]+)\ threads ]]
	[ "${BASH_REMATCH[1]}" -ge $((FAULTS * 30)) ]
}

@test "the target is killed, what it forked lives on" {
	on_victim killed target "$FAULTS" "$SEED"
	[[ $output =~ ^target:\ $FAULTS\ killed,\ $FAULTS\ sessions\ gone,\ ([0-9]+) ]]
	[ "${BASH_REMATCH[1]}" -ge $((FAULTS / 4 * 2)) ]
}

# In the guest: mapletest in the middle of a campaign; what it leaves behind
campaigns='
RANDOM=$1
target=$BUILD/tests/targets/bank_account
own() # nobody is scheduled in a way that is not its own
{
	local tid policy
	for tid in $(ls -d /proc/[0-9]*/task/* | sed "s:.*/::"); do
		[[ $(cat /proc/$tid/comm 2>/dev/null) = bank_account ]] || continue
		policy=$(chrt -p $tid; taskset -p $tid) || continue
		[[ $policy = *SCHED_OTHER*mask:\ 3 ]] || { echo "$policy"; exit 1; }
	done
}
for ((i = 1; i <= $2; i++)); do
	mapletest run --backend agent+module --keep-going --max-time 60s \
		--db :memory: -- "$target" >/tmp/said 2>&1 &
	sleep $((RANDOM % 4)).$((RANDOM % 10))
	kill -KILL $! || { cat /tmp/said; exit 1; }
	wait $! 2>/dev/null
	for ((t = 0; t < 300; t++)); do
		grep -q target /sys/kernel/debug/maple/sessions || break
		sleep 0.1
	done
	[ $t != 300 ] || { cat /sys/kernel/debug/maple/sessions; exit 1; }
	own
done
mapletest run --backend agent+module --db :memory: -- "$target" >/tmp/said 2>&1
[ $? = 66 ] || { cat /tmp/said; exit 1; }
echo "$2 killed"'

# bats test_tags=on:6-12
@test "mapletest is killed in the middle of a campaign; the next one works" {
	local n=$((FAULTS < 40 ? $(times 3) : FAULTS / 10))

	echo "seed $SEED"
	guest -t $((120 + n * 20)) -- bash -c "$campaigns" - "$SEED" "$n"
	status_is 0
	[ "$output" = "$n killed" ] || fail "not $n"
}

@test "targets that change their scheduling, exec, are stopped, traced, or two" {
	local n=$((FAULTS < 40 ? $(times 2) : FAULTS / 10))

	echo "seed $SEED"
	guest -t $((120 + n * 30)) -- sh -c 'cd "$BUILD/tests/qemu" &&
		for how in wishes execs stops traced debugged two; do
			./disturbed $how $1 $2 ./victim || exit
		done' - "$n" "$SEED"
	status_is 0
	[ "${#lines[@]}" = 6 ] || fail "not all of it"
}

# It was lost when it came after the look at its thread, and before all threads
# were put in their places since one of them was not.
# bats test_tags=on:6-1
@test "what a thread asks for while others are put in their places is kept" {
	echo "seed $SEED"
	guest -t 300 -- sh -c 'cd "$BUILD/tests/qemu" &&
		./disturbed strays $1 $2 ./victim' - "$(halved 60)" "$SEED"
	status_is 0
	[[ $output = "strays: $(halved 60) times, "* ]] || fail "not all of it"
}

# The two take the CPU from each other, and a busy host takes the guest's for longer
# than a hold lasts: a run that misses its order is done again, half as many at most.
# bats test_tags=on:6-12
@test "two plans are enforced at once" {
	local n=$(times 10)

	guest -t 200 -- sh -c 'cd "$BUILD/tests/qemu"
		plan() {
			./session -n $1 -d $2 -a $3 -e -f -i A:w:B:r -- ./order_demo
		}
		plan $@ & other=$!
		plan $@ && wait $other' - "$n" $((SLOW * 10000)) \
		"$([ -n "${MAPLE_FULL:-}" ] && echo 0 || echo $((n / 2)))"
	status_is 0
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} = "$n runs, "*", 0 unclean" ]]
	[[ ${lines[1]} = "$n runs, "*", 0 unclean" ]]
}

# What runs on the other CPU runs on: a shell looks again and again, as long as
# the session lasts, a fiftieth as often at least as beside a target that sleeps. To
# exec takes up to a second longer, since the kernel wants all CPUs for it; that
# is every real-time spinner's doing.
# bats test_tags=on:6-1
@test "a spinner leaves the other CPU alone" {
	guest -t 200 -- bash -c 'cd "$BUILD/tests/qemu"
		looks() { # STATE TARGET...
			local line looks=0 state=$1
			shift

			./session -s older -d 60000 -q 4000 -- "$@" >&2 &
			taskset -cp 0 $$ >/dev/null
			until read -r line </sys/kernel/debug/maple/sessions; do :; done
			while read -r line </sys/kernel/debug/maple/sessions; do
				[[ $line != *target*state\ $state* ]] ||
					looks=$((looks + 1))
			done
			wait $! && echo "$looks"
			taskset -cp 0,1 $$ >/dev/null
		}
		looks "" /bin/sleep 1000 && looks "1 " ./spinner forever'
	status_is 0
	[[ $stderr = *"1 runs, 0 exposed, 0 failed, 0 unclean
1 runs, 0 exposed, 0 failed, 0 unclean" ]] || fail
	[ "${lines[0]}" -ge 10 ] || fail "nothing to compare with"
	[ "$((lines[1] * 50))" -ge "${lines[0]}" ] || fail "it was held up"
}

# gdb stops the target in its session, looks at it and lets go: it is as the
# session would have it, and afterwards as it was. What the host may know about
# libc would take gdb half a minute to read.
# bats test_tags=on:6-12
@test "gdb looks at a target in its session" {
	guest -t 500 -- bash -c 'cd "$BUILD/tests/qemu"
		./session -s older -d 400000 -q 400000 -- ./spinner forever &
		until read -r line </sys/kernel/debug/maple/sessions; do :; done
		pid=$(pidof spinner)
		timeout 300 gdb -nx -iex "set debug-file-directory /nowhere" \
			-batch -p $pid -ex "print argc" \
			-ex "thread apply all bt" </dev/null >/tmp/said 2>&1
		grep -o "^.1 = 2" /tmp/said &&
			grep -o "^#0 .* main " /tmp/said | grep -o main ||
			cat /tmp/said
		chrt -p $pid | grep -o SCHED_FIFO
		kill -KILL $!
		until chrt -p $pid | grep -o SCHED_OTHER; do sleep 0.1; done
		grep -E "^(State|TracerPid)" /proc/$pid/status
		kill $pid'
	status_is 0
	[ "$output" = "\$1 = 2
main
SCHED_FIFO
SCHED_OTHER
State:	R (running)
TracerPid:	0" ] || fail "not so"
}

@test "probes where none can be, and files that change under them" {
	guest -t 200 -- sh -c 'mkdir /tmp/copies && cd "$BUILD/tests/qemu" &&
		exec ./misplaced /tmp/copies "$1" ./victim' - "$SEED"
	status_is 0
	[ "${#lines[@]}" = 6 ] || fail "not all of it"
}
