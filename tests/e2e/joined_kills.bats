#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Jobs that are attached to a server by the agent are killed at many moments: who
# carries one out, its warden, porter, joiner and heir, some of them at once, and
# the server itself. Afterwards nothing of the server is patched, stopped, traced,
# pinned or real-time, it answers as ever, the job is told as what it is, and the
# memo is whole. Where all are killed, nobody is left to see to it: then it is so
# when the next one attaches, or detaches. Where the joiner is killed in the moment
# at which it stops a thread, epoll_wait() of that thread may be interrupted, once;
# else no wait is. How often: killed.bash.
#
# MAPLE_TEST_OBSERVED  1: where else orders are forced, it is observed only, and
#                      the other way round

load common.bash
load joined.bash
load killed.bash

teardown() {
	[ -z "${mark-}" ] || end_jobs
	[ -z "$ours" ] || kill -KILL $ours 2>/dev/null || true
	[ -z "$ours" ] || wait $ours 2>/dev/null || true
}

is_joined() { grep -q maple-agent "/proc/$server/maps" || has_ended; }
has_joiner() { joiner=$(part maple-joiner); [ -n "$joiner" ] || has_ended; }
has_heir() { heir=$(part maple-heir); [ -n "$heir" ] || has_ended; }

comm_of() { # PID
	cat "/proc/$1/comm" 2>/dev/null
}

# The process of the job that has this name; of two, as when a joiner ends, the
# newer one. An heir has its joiner's name for a moment.
part() { # NAME
	local pid parent

	for pid in $(of_jobs); do
		[ "$(comm_of "$pid")" = "$1" ] || continue
		parent=$(awk '/^PPid/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
		[ "$(comm_of "$parent")" = "$1" ] || echo "$pid"
	done | sort -n | tail -n 1
}

# Orders are forced on it, or, of two rounds of a kind in one, it is observed only.
begin() {
	local also=(--timeout 1s)

	[ $(((round / ${#kinds[@]} + ${MAPLE_TEST_OBSERVED:-0}) % 2)) = 0 ] ||
		also=(--observe)
	number=$(env "$mark" "$BUILD/mapletest" \
		attach --detach --quiet --no-daemon --db "$db" --backend agent \
		--keep-going --fresh "${also[@]}" --max-time 1000s "$server" \
		2>"$BATS_TEST_TMPDIR/err" 3>&-) ||
		fail "round $round, no job: $(cat "$BATS_TEST_TMPDIR/err")"
	carrier=$(known pid)
}

# It goes on, or its process has nothing more to give; it was not cut off.
goes_on() {
	eventually "going on" has_run "$1"
	[ "$(known state)" != "cut off" ] || fail "round $round, $how: cut off"
	"$BUILD/mapletest" jobs --stop "$number" 2>/dev/null
	eventually "ended" has_ended
}

# It has lost a part that it has once, and goes on without it, or says so.
ends() {
	"$BUILD/mapletest" jobs --stop "$number" 2>/dev/null || true
	eventually "ended" has_ended
	[ "$(known state)" != "cut off" ] || fail "round $round, $how: cut off"
}

# Everybody is killed, in the order in which they began or the other way round,
# at once or one after the other; whoever begins meanwhile as well.
kill_all() { # [PAUSE]
	local order=-n pid

	[ $((round / ${#kinds[@]} % 2)) = 0 ] || order=-nr
	until none_of_jobs; do
		for pid in $(of_jobs | sort $order); do
			kill -KILL "$pid" 2>/dev/null || true
			[ -z "${1-}" ] || sleep "$1"
		done
	done
}

# Nobody sees to it; until somebody does.
mends() {
	local said=$BATS_TEST_TMPDIR/said_then

	serves
	"$BUILD/mapletest" jobs "$number" | grep -q "mapled detach $server" ||
		fail "round $round, $how: the job does not say so"
	if [ $((round / ${#kinds[@]} % 3)) = 2 ]; then
		attach --no-daemon --fresh --observe --max-time 2s "$server"
		[[ $status = @(0|125) ]] || fail "round $round, $how: $output"
		return 0
	fi
	status=0
	"$BUILD/mapled" detach "$server" 2>"$said" || status=$?
	[ $status = 0 ] || grep -q 'nobody is attached' "$said" ||
		fail "round $round, $how: $(cat "$said")"
	mended=$((mended + (status == 0)))
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
		is_cut_off
		;;
	joiner)
		kill -KILL "$joiner"
		goes_on "$runs"
		;;
	heir)
		# It ends with its joiner, which may have ended.
		kill -KILL "$heir" 2>/dev/null || true
		goes_on "$runs"
		;;
	warden | porter)
		kill -KILL "$(part "maple-$how")"
		ends
		;;
	all)
		kill_all
		is_cut_off
		mends
		;;
	one_by_one)
		kill_all 0.01
		is_cut_off
		mends
		;;
	both)
		kill -KILL "$carrier" "$joiner"
		is_cut_off
		;;
	both_reversed)
		kill -KILL "$joiner" "$carrier"
		is_cut_off
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
	joiner | both* | all | one_by_one) [ $((now - early)) -le 4 ] ;;
	*) [ "$now" = "$early" ] ;;
	esac || fail "round $round, $how: $now waits were interrupted, before $early"
	interruptions=$((interruptions + (now > early)))
	early=$now
}

one_kill() {
	local runs joiner heir carrier

	how=${kinds[round % ${#kinds[@]}]}
	begin
	eventually "begun" has_joiner
	# Now and then while it is on its way in, else when it is.
	[ $((round % 3)) = 2 ] || eventually "joined" is_joined
	# Not one moment is like the other; and where the joiner is a new one,
	# that one.
	sleep "0.$(printf '%03d' $((round * 137 % 1000)))"
	eventually "begun" has_joiner
	[ $how != heir ] || eventually "there" has_heir
	! has_ended || fail "round $round: it has ended by itself: $(known state)"
	runs=$(known runs)
	kill_some
	eventually "all gone" none_of_jobs
	is_as_before
	serves
	[ "$(answered 2)" = 0 ] ||
		fail "round $round, $how: $(answered 2) answers were wrong"
	waits_are_whole
	is_whole "$db"
}

@test "killed at many moments, who has joined a server leaves nothing in it" {
	local before early=0 interruptions=0 mended=0 kinds

	mark=MAPLE_TEST_OF_JOB=$BATS_TEST_TMPDIR
	kills 1 both_reversed joiner heir carrier server warden both porter \
		one_by_one all
	serve "$E2E/answers" "$BATS_TEST_TMPDIR/answers" patient
	serves
	before=$(state_of "$server")
	for ((round = 0; round < KILLS; round++)); do
		one_kill
	done
	[ "$KILLS" -lt 100 ] ||
		echo "# $interruptions of $KILLS kills have interrupted a wait," \
			"after $mended something was left to mend" >&3
	# No kill from outside was taken for the server's own failure.
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM findings')" = 0 ] ||
		fail "$(sqlite3 "$db" 'SELECT json FROM findings')"
	[ "$(sqlite3 "$db" 'SELECT count(*) > 0 FROM runs')" = 1 ]
}
