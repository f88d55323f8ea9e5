#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Jobs that are attached to a server by the agent are killed at many moments: who
# carries one out, the joiner, both at once, and the server itself. Afterwards
# nothing of the server is patched, stopped, traced, pinned or real-time, it
# answers as ever, the job is told as what it is, and the memo is whole. Where the
# joiner is killed in the moment at which it stops a thread, epoll_wait() of that
# thread may be interrupted, once; else no wait is.
#
# MAPLE_TEST_KILLS     how often, instead of 5; with MAPLE_FULL 200
# MAPLE_TEST_OBSERVED  1: in the other five of ten rounds nothing is forced

load common.bash
load joined.bash

setup_file() {
	export KILLS=${MAPLE_TEST_KILLS:-${MAPLE_FULL:+200}}
	export KILLS=${KILLS:-5}
}

# All that comes of a job is known by this.
of_jobs() {
	grep -lzxFs -- "MAPLE_TEST_OF_JOB=$BATS_TEST_TMPDIR" /proc/[0-9]*/environ |
		cut -d/ -f3
}

none_of_jobs() { [ -z "$(of_jobs)" ]; }

teardown() {
	local pid

	for pid in $(of_jobs) $ours; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	[ -z "$ours" ] || wait $ours 2>/dev/null || true
}

known() { # FIELD
	"$BUILD/mapletest" jobs --format json |
		jq -r ".jobs[] | select(.number == $number).$1"
}

has_ended() { [ "$(known state)" != running ]; }
has_run() { [ "$(known runs)" -gt "$1" ] || has_ended; }
is_joined() { grep -q maple-agent "/proc/$server/maps" || has_ended; }
has_joiner() { joiner=$(joiner_of "$carrier"); [ -n "$joiner" ] || has_ended; }

parent_of() {
	awk '/^PPid/ { print $2 }' "/proc/$1/status" 2>/dev/null
}

# The porter begins it where the job has a sandbox.
joiner_of() { # CARRIER
	local pid parent

	for pid in $(of_jobs); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = maple-joiner ] ||
			continue
		parent=$(parent_of "$pid")
		[ "$parent" = "$1" ] || [ "$(parent_of "$parent")" = "$1" ] ||
			continue
		echo "$pid"
	done
}

# Until this command succeeds.
eventually() { # WHAT COMMAND...
	local tries=1200

	until "${@:2}"; do
		tries=$((tries - 1))
		[ $tries != 0 ] ||
			fail "round $round, job $number, $how: not $1:" \
				"$(tail -n 5 "$XDG_STATE_HOME/maple/jobs/$number/log")"
		sleep 0.1
	done
}

# Orders are forced on it, or, of ten rounds in the last five, it is observed only.
begin() {
	local also=(--timeout 1s)

	[ $(((round / 5 + ${MAPLE_TEST_OBSERVED:-0}) % 2)) = 0 ] || also=(--observe)
	number=$(env "MAPLE_TEST_OF_JOB=$BATS_TEST_TMPDIR" "$BUILD/mapletest" \
		attach --detach --quiet --no-daemon --db "$db" --backend agent \
		--keep-going --fresh "${also[@]}" --max-time 1000s "$server" \
		2>"$BATS_TEST_TMPDIR/err" 3>&-) ||
		fail "round $round, no job: $(cat "$BATS_TEST_TMPDIR/err")"
	carrier=$(known pid)
}

cut_off() {
	eventually "ended" has_ended
	[ "$(known state)/$(known status)" = "cut off/null" ] ||
		fail "round $round, $how: $(known state)"
}

# It goes on, or its process has nothing more to give; it was not cut off.
goes_on() {
	eventually "going on" has_run "$1"
	[ "$(known state)" != "cut off" ] || fail "round $round, $how: cut off"
	"$BUILD/mapletest" jobs --stop "$number" 2>/dev/null
	eventually "ended" has_ended
}

# A server of the round's own, which is killed.
kill_server() {
	kill -KILL "$server"
	eventually "ended" has_ended
	[[ $(known state) = @(clean|failed) ]] ||
		fail "round $round, $how: $(known state)"
	serve "$E2E/answers" "$BATS_TEST_TMPDIR/answers" patient
	serves
	before=$(state_of "$server")
}

kill_some() {
	case $how in
	carrier)
		kill -KILL "$carrier"
		cut_off
		;;
	joiner)
		kill -KILL "$joiner"
		goes_on "$runs"
		;;
	both)
		kill -KILL "$carrier" "$joiner"
		cut_off
		;;
	both_reversed)
		kill -KILL "$joiner" "$carrier"
		cut_off
		;;
	server) kill_server ;;
	esac
}

# Of four threads and the joiner's kill, which stops each once.
waits_are_whole() {
	local now

	now=$(answered 3)
	[ $how != server ] || early=0
	case $how in
	joiner | both*) [ $((now - early)) -le 4 ] ;;
	*) [ "$now" = "$early" ] ;;
	esac || fail "round $round, $how: $now waits were interrupted, before $early"
	interruptions=$((interruptions + (now > early)))
	early=$now
}

one_kill() {
	local kinds=(both_reversed joiner carrier server both) runs joiner carrier

	how=${kinds[round % 5]}
	begin
	eventually "begun" has_joiner
	# Now and then while it is on its way in, else when it is.
	[ $((round % 3)) = 2 ] || eventually "joined" is_joined
	# Not one moment is like the other; and where the joiner is a new one,
	# that one.
	sleep "0.$(printf '%03d' $((round * 137 % 1000)))"
	eventually "begun" has_joiner
	! has_ended || fail "round $round: it has ended by itself: $(known state)"
	runs=$(known runs)
	kill_some
	eventually "all gone" none_of_jobs
	is_as_before
	serves
	[ "$(answered 2)" = 0 ] ||
		fail "round $round, $how: $(answered 2) answers were wrong"
	waits_are_whole
	[ "$(sqlite3 -cmd '.timeout 10000' "$db" 'PRAGMA integrity_check')" = ok ] ||
		fail "round $round, $how: the memo is damaged"
}

@test "killed at many moments, who has joined a server leaves nothing in it" {
	local before early=0 interruptions=0

	serve "$E2E/answers" "$BATS_TEST_TMPDIR/answers" patient
	serves
	before=$(state_of "$server")
	for ((round = 0; round < KILLS; round++)); do
		one_kill
	done
	[ "$KILLS" -lt 100 ] || echo "# $interruptions of $KILLS kills have interrupted a wait" >&3
	# No kill from outside was taken for the server's own failure.
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM findings')" = 0 ] ||
		fail "$(sqlite3 "$db" 'SELECT json FROM findings')"
	[ "$(sqlite3 "$db" 'SELECT count(*) > 0 FROM runs')" = 1 ]
}
