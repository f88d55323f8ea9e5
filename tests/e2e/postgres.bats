#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The memo at a PostgreSQL server, which the tests start themselves: campaigns
# with it, a server that goes while they run, and merging with files.

load common
load postgres

@test "a campaign finds, the next one knows, the finding replays" {
	local id

	database
	campaign --seed 1 --max-runs 60 -- "$TARGETS/bank_account"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	campaign --seed 2 --max-runs 60 -- "$TARGETS/bank_account"
	ended_with 66
	holds '.findings | length == 1 and .[0].times_seen == 2'
	mapletest report --db "$db"
	[[ $output = *$id*"seen 2"* ]]
	mapletest replay "$id" --db "$db"
	ended_with 0
	[[ $stderr$output = *"forced 1/1 fails"* ]]
	mapletest memo list --db "$db"
	[[ $output = *bank_account* ]]
	[ "$(sql "SELECT count(*) FROM maple.campaigns
		WHERE outcome IS NOT NULL")" = 2 ]
	# No connection leaves anything of itself behind.
	[ "$(sql 'SELECT count(*) FROM maple.clients')" = 0 ]
}

# Without what differs in each memo: the numbers of rows, and their order.
same() { # DB
	"$BUILD/mapletest" memo export --db "$1" | jq -S '[
		([.images[] | .build_id] | sort),
		([.sites[] | [.offset, .is_call, .function, .line]] | sort),
		([.goals[] | .kinds] | sort),
		([.memo[] | [.predicted, .observed, .exposed, .failed,
			.attempts, .broke]] | sort),
		([.campaigns[] | [.uid, .argv, .began, .ended, .outcome]] | sort),
		([.runs[] | [.kind, .plan, .seed, .began, .verdict, .seconds,
			.reason]] | sort),
		([.samples[] | [.predicted, .exposed, .failed, .left]] | sort),
		([.findings[] | [.id, .json, .first_seen, .times_seen]] | sort)]'
}

@test "a memo goes to a server and back, and nothing is lost" {
	local file=$BATS_TEST_TMPDIR/a.db back=$BATS_TEST_TMPDIR/b.db

	db=$file campaign --seed 1 --max-runs 60 --keep-going -- \
		"$TARGETS/bank_account"
	ended_with 66
	database
	"$BUILD/mapletest" memo merge --db "$db" "$file"
	"$BUILD/mapletest" memo merge --db "$db" "$file"
	"$BUILD/mapletest" memo merge --db "$back" "$db"
	same "$file" >"$BATS_TEST_TMPDIR/file"
	same "$db" >"$BATS_TEST_TMPDIR/server"
	same "$back" >"$BATS_TEST_TMPDIR/back"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/file")" -gt 100 ]
	diff "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/server"
	diff "$BATS_TEST_TMPDIR/file" "$BATS_TEST_TMPDIR/back"
}

# The goals that a campaign has claimed, of a connection that is in no transaction.
claimed() {
	sql "SELECT m.goal FROM maple.memo m JOIN pg_locks l ON l.granted
		AND l.locktype = 'advisory' AND l.objsubid = 1
		AND l.classid::BIGINT << 32 | l.objid::BIGINT = hashtextextended(
			'maple ' || m.program || ' ' || m.goal, 0)
		JOIN pg_stat_activity a ON a.pid = l.pid AND a.state = 'idle'"
}

# Stops the process while it tries something, which $goals says.
stop_with_claims() { # PID
	local i

	for ((i = 0; i < 400; i++)); do
		kill -STOP "$1"
		goals=$(claimed 2>/dev/null | paste -sd,)
		[ -z "$goals" ] || return 0
		kill -CONT "$1"
		sleep 0.05
	done
	fail "it claims nothing: $(cat "$BATS_TEST_TMPDIR/first.err")"
}

# How often each of $goals was tried.
attempts() {
	sql "SELECT goal, attempts FROM maple.memo WHERE goal IN ($goals)
		ORDER BY goal" | paste -sd,
}

# The first is held in the midst of a run. The second tries all but what the
# first has claimed; then the first goes on.
two_at_once() { # STRATEGY PROG
	local first tried=(--strategy "$1" --setup 'sleep 0.05') goals before

	[ "$(nproc)" -gt 1 ] || skip "two campaigns at once need two CPUs"
	database
	(exec taskset -c 0 "$BUILD/mapletest" run --db "$db" "${tried[@]}" \
		--seed 1 --max-runs 150 -- "$2") \
		>/dev/null 2>"$BATS_TEST_TMPDIR/first.err" &
	first=$!
	stop_with_claims $first
	before=$(attempts)
	echo "claimed: $goals, $before"
	campaign "${tried[@]}" --seed 2 --max-runs 150 -- "$2"
	ended_with 0
	[ "$(claimed | paste -sd,)" = "$goals" ]
	# What was exposed by itself comes again in any campaign: that is no try.
	[ "$(attempts)" = "$before" ]
	kill -CONT $first
	wait $first || status=$?
	cat "$BATS_TEST_TMPDIR/first.err"
	[ -z "$(claimed)" ]
	tries_are_divided
}

@test "of two campaigns at once each tries what the other does not" {
	two_at_once maple "$TARGETS/clean/c11_pipeline"
	# It says that what the first has is left.
	holds '.runs.enforced > 20 and ([.coverage.left[]] | add) > 0'
	# Of what one has tried the other knows: no more tries than one would have.
	[ "$(sql 'SELECT max(attempts) FROM maple.memo')" -le 5 ]
}

@test "of two campaigns of pcr none tries a pattern that the other does" {
	two_at_once pcr "$TARGETS/clean/kept_updates"
	# Two runs are made for a pattern.
	[ "$(sql 'SELECT max(attempts) FROM maple.memo')" -le 2 ]
}

# What the result says, the memo has: no run is missing, and none is twice.
same_runs() {
	local runs

	runs=$(jq '[.runs[] | numbers] | add' "$json")
	echo "$runs runs, $(sql 'SELECT count(*), count(ended) FROM maple.runs')"
	[ "$runs" -ge 10 ]
	# The one that was stopped is no run of the result's.
	[ "$(sql "SELECT count(*) FROM maple.runs
		WHERE verdict IS DISTINCT FROM 'stopped'")" = "$runs" ]
	[ "$(sql 'SELECT count(*) FROM maple.runs WHERE ended IS NULL')" = 0 ]
	[ "$(sql 'SELECT count(*) FROM maple.campaigns
		WHERE ended IS NOT NULL')" = 1 ]
}

@test "the server is killed 10 times, 20 with MAPLE_FULL, and nothing is lost" {
	local i campaign kept

	endless --strategy rw
	for ((i = $(halved 20); i > 0; i--)); do
		more_runs
		postgres kill
		postgres start >/dev/null
	done
	kill -0 $campaign
	kill -INT $campaign
	wait $campaign || status=$?
	cat "$BATS_TEST_TMPDIR/err"
	same_runs
}

# Until the campaign has said $1; then until its spool has five runs more.
goes_on_locally() {
	local spools=$XDG_STATE_HOME/maple/spool i

	for ((i = 0; i < 900; i++)); do
		grep -q 'goes on without the server' "$BATS_TEST_TMPDIR/err" && break
		kill -0 $campaign || fail "$(cat "$BATS_TEST_TMPDIR/err")"
		sleep 0.1
	done
	spool=$(echo "$spools"/*.spool)
	until [ "$(sqlite3 "$spool" 'SELECT count(*) > 5 FROM runs')" = 1 ]; do
		kill -0 $campaign || fail "$(cat "$BATS_TEST_TMPDIR/err")"
		sleep 0.2
	done
}

@test "without the server a campaign goes on, and what it learned is delivered" {
	local campaign spool kept

	MAPLE_SERVER_WAIT=1 endless --strategy rw
	postgres kill
	goes_on_locally
	kill -INT $campaign
	wait $campaign || status=$?
	stderr=$(cat "$BATS_TEST_TMPDIR/err")
	says "the connection to the server was lost|cannot be opened"
	says "delivered by the next one with --db .*Connection refused"
	[ -s "$spool" ]
	postgres start >/dev/null
	mapletest memo deliver --db "$db"
	ended_with 0
	says "delivered to the server: 1 spools with [0-9]+ runs"
	[ ! -e "$spool" ]
	same_runs
	mapletest memo deliver --db "$db"
	ended_with 0
	says "delivered to the server: 0 spools"
	same_runs
}

@test "a server that comes back later is the campaign's memo again" {
	local campaign spool kept

	MAPLE_SERVER_WAIT=1 endless --strategy auto
	postgres kill
	goes_on_locally
	postgres start >/dev/null
	until grep -q 'the server is there again' "$BATS_TEST_TMPDIR/err"; do
		kill -0 $campaign || fail "$(cat "$BATS_TEST_TMPDIR/err")"
		sleep 0.2
	done
	[ ! -e "$spool" ]
	kept=$(sql 'SELECT count(*) FROM maple.runs')
	more_runs
	kill -INT $campaign
	wait $campaign || status=$?
	same_runs
	[ "$(sql 'SELECT count(*) FROM maple.deliveries')" = 1 ]
	[ "$(sql 'SELECT count(*) FROM maple.clients')" -le 1 ]
}

@test "what a killed campaign has left the next one delivers" {
	local campaign spool runs kept

	MAPLE_SERVER_WAIT=1 endless --strategy rw
	postgres kill
	goes_on_locally
	kill -KILL $campaign
	wait $campaign || status=$?
	runs=$(sqlite3 "$spool" 'SELECT count(*) FROM runs
		WHERE id NOT IN (SELECT run FROM known WHERE over)')
	postgres start >/dev/null
	campaign --seed 2 --strategy rw --max-runs 5 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	says "delivered to the server: 1 spools with $runs runs"
	# All but the one under way have ended, in either.
	[ "$(sql 'SELECT count(*) FROM maple.runs WHERE ended IS NULL')" -le 1 ]
	[ "$(sql 'SELECT count(*) FROM maple.campaigns')" = 2 ]
}

@test "what cannot be is said, with the mend" {
	mapletest memo list --db postgresql://me:secret@localhost/maple
	ended_with 125
	says "password .* PGPASSFILE"
	[[ $stderr != *secret* ]]
	MAPLE_SERVER_WAIT=1m mapletest memo list \
		--db "postgresql:///nowhere?host=$BATS_TEST_TMPDIR"
	ended_with 125
	says "MAPLE_SERVER_WAIT is a number of seconds, 0 to 3600, not '1m'"
	mapletest memo list --db "postgresql:///nowhere?host=$BATS_TEST_TMPDIR"
	ended_with 125
	says "cannot be opened: .*No such file"
	database
	mapletest report --db "$db"
	ended_with 125
	says "there is no memo database .* yet; 'mapletest run' makes it"
	# Somebody who may read, and no more.
	sql "CREATE ROLE reader LOGIN"
	mapletest memo list --db "${db%user=*}user=reader"
	ended_with 125
	mapletest memo --all forget --db "${db%user=*}user=reader"
	ended_with 125
	says "cannot be written: permission denied"
}

@test "without libpq it is said what to install" {
	local lib=$BATS_TEST_TMPDIR/lib

	mkdir "$lib"
	: >"$lib/libpq.so.5"
	LD_LIBRARY_PATH=$lib mapletest memo list --db postgresql:///maple
	ended_with 125
	says "libpq.so.5, .*apt-get install libpq5"
	# And nothing else wants it.
	LD_LIBRARY_PATH=$lib mapletest memo --all forget --db "$db"
	ended_with 0
}

@test "mapled takes no server for its memo" {
	run --separate-stderr timeout 20 "$BUILD/mapled" \
		--socket "$BATS_TEST_TMPDIR/sock" --db "$url"
	[ "$status" != 0 ]
	says "has to be a file on this machine"
}
