#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The sandbox of a job that is attached: what /proc says of a real one's worker,
# that it does its work in there, that it leaves nothing behind when it is killed,
# and that a program under test is in none. What is refused inside is tried, line
# for line, by tests/unit/test_sandbox.c.

load common
load mapled.bash

server=
ours=

teardown() {
	local number

	for number in $("$BUILD/mapletest" jobs --format json |
		jq '.jobs[].number'); do
		"$BUILD/mapletest" jobs --stop "$number" >/dev/null 2>&1 || true
	done
	[ -z "${socket-}" ] || { end_mapled KILL; rm -rf "$dir"; }
	[ -z "$ours" ] || kill -KILL $ours 2>/dev/null || true
	[ -z "$ours" ] || wait $ours 2>/dev/null || true
}

# Waits until it is so.
until_it() { # COMMAND...
	for try in {1..1800}; do
		! "$@" || return 0
		sleep 0.1
	done
	fail "never: $*"
}

# Starts a server as a user; its number is $server.
serve_as() { # COMMAND...
	answers=$BATS_TEST_TMPDIR/answers
	: >"$answers"
	chmod 666 "$answers"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR"
	"$@" "$E2E/answers" "$answers" >"$BATS_TEST_TMPDIR/said" 3>&- &
	ours="$ours $!"
	until_it test -s "$BATS_TEST_TMPDIR/said"
	server=$(<"$BATS_TEST_TMPDIR/said")
	ours="$ours $server" # where a function is executed, $! is its shell
}

as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

# Who is not root is an ordinary user already.
needs_root() {
	[ "$(id -u)" = 0 ] || skip "takes root to become a user"
	as_user test -x "$BUILD/mapletest" ||
		skip "$BUILD cannot be seen by another user"
}

# Begins a job on $server by way of COMMAND...; $worker is its process.
attach_by() { # COMMAND...
	run --separate-stderr timeout -s KILL 120 "$@" "$BUILD/mapletest" \
		attach --detach --no-daemon --db :memory: --timeout 300ms \
		--max-time 1000s "${options[@]}" "$server"
	ended_with 0
	number=$output
	worker=$("$@" "$BUILD/mapletest" jobs --format json |
		jq ".jobs[] | select(.number == $number).pid")
	[ "$worker" -gt 1 ]
}

says_of() { # PID LINE
	tr -s '\t ' ' ' <"/proc/$1/status" | grep -qxE "$2" || {
		cat "/proc/$1/status"
		fail "not: $2"
	}
}

state_of() {
	for task in /proc/"$1"/task/*; do
		echo "${task##*/} $(chrt -p "${task##*/}")" \
			"$(grep -E '^(State:.[TtZ]|TracerPid|Cpus_allowed:)' \
				"$task/status")"
	done
	ls "/proc/$1/fd"
	grep 'realtime priority' "/proc/$1/limits"
}

has_agent() {
	grep -q maple-agent "/proc/$server/maps"
}

is_as_before() {
	[ "$(state_of "$server") $(has_agent && echo agent)" = "$before " ]
}

# Every part of maple that has to do with $worker: itself, and its children.
parts() {
	pgrep -P "$worker" -l || true
}

@test "a worker is the process's user, without rights, and leaves nothing when it is killed" {
	local before options=(--backend agent) parts part

	needs_root
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/users
	export XDG_CACHE_HOME=$XDG_STATE_HOME
	mkdir "$XDG_STATE_HOME"
	chmod 777 "$XDG_STATE_HOME"
	serve_as as_user
	before=$(state_of "$server")
	attach_by setpriv --reuid=65534 --regid=65534 --clear-groups
	says_of "$worker" 'Uid: 65534 65534 65534 65534'
	says_of "$worker" 'CapEff: 0{16}'
	says_of "$worker" 'NoNewPrivs: 1'
	says_of "$worker" 'Seccomp: 2'
	grep -q '^Max core file size *0 *0' "/proc/$worker/limits"
	grep -qE '^Max data size *[0-9]+ ' "/proc/$worker/limits"
	[ "$(ps -o ni= -p "$worker")" -ge 5 ]
	parts=$(parts)
	[[ $parts == *maple-warden* && $parts == *maple-porter* ]]
	part=$(awk '/maple-porter/ { print $1 }' <<<"$parts")
	says_of "$part" 'NoNewPrivs: 1'
	says_of "$part" 'Seccomp: 2'
	says_of "$part" 'CapEff: 0{16}'
	# It works in there: its joiner has the agent come, and go when it is asked
	# no more.
	until_it has_agent
	kill -KILL "$worker"
	until_it is_as_before
	for part in $(cut -d' ' -f1 <<<"$parts"); do
		until_it test ! -e "/proc/$part"
	done
	run as_user "$BUILD/mapletest" jobs --wait "$number"
	ended_with 125
	[[ $output == *"cut off"* ]]
}

@test "root's worker on a user's process keeps what it observes with, and no more" {
	local options=(--backend agent)

	needs_root
	serve_as as_user
	attach_by env
	says_of "$worker" 'Uid: 65534 65534 65534 65534'
	says_of "$worker" 'CapPrm: 0000000000800000'
	says_of "$worker" 'CapEff: 0000000000800000'
	says_of "$worker" 'NoNewPrivs: 1'
	says_of "$worker" 'Seccomp: 2'
	"$BUILD/mapletest" jobs --stop "$number"
}

@test "a job that does what its user says has no sandbox, and says so" {
	local options=(--backend agent --oracle true)

	serve_as env
	attach_by env
	says_of "$worker" "Seccomp: $(awk '/^Seccomp:/ { print $2 }' /proc/self/status)"
	says "no sandbox, since --oracle"
	"$BUILD/mapletest" jobs --stop "$number"
}

@test "a program under test is in none, whether its campaign is a job or not" {
	local log

	mapletest run --detach --db "$db" --max-time 100s -- \
		/bin/grep -E '^(NoNewPrivs|Seccomp|Uid):' /proc/self/status
	ended_with 0
	mapletest jobs --wait "$output"
	log=$(tr -s '\t' ' ' <"$XDG_STATE_HOME/maple/jobs/1/log")
	[[ $log == *"NoNewPrivs: $(awk '/NoNewPrivs/ { print $2 }' \
		/proc/self/status)"* ]] || fail "$log"
	[[ $log == *"Seccomp: $(awk '/^Seccomp:/ { print $2 }' \
		/proc/self/status)"* ]] || fail "$log"
}

known() { # FIELD
	"$BUILD/mapletest" jobs --format json | jq -r ".jobs[0].$1"
}

# mapled has a descriptor of each client's process.
has_worker() {
	grep -qs "^Pid:[[:space:]]*$worker\$" /proc/"$mapled"/fdinfo/*
}

@test "from inside, a worker finds mapled again that was restarted" {
	open_folder
	unset MAPLE_NO_DAEMON
	start_mapled
	serve_as env
	run --separate-stderr timeout -s KILL 120 "$BUILD/mapletest" attach \
		--detach --socket "$socket" --backend agent --timeout 300ms \
		--keep-going --max-time 1000s "$server"
	ended_with 0
	worker=$(known pid)
	says_of "$worker" 'Seccomp: 2'
	until_it has_worker
	end_mapled KILL
	start_mapled
	until_it has_worker
	[ "$(known state)" = running ]
	mapletest jobs --stop 1
	ended_with 0
	memo_is_whole
}

@test "doctor says what the sandbox is made of" {
	mapletest doctor --format json
	jq -e '.probes[] | select(.name == "sandbox") |
		.text | test("seccomp and Landlock|no Landlock|filters no")' \
		<<<"$output"
}
