#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Servers: a run is a round of requests that --between drives.

load common

# Each test has a port of its own.
server() {
	port=$((23100 + BATS_TEST_NUMBER))
	server=("$E2E/cache_server" "$port")
	round="'$E2E/cache_server' $port drive"
}

@test "a server's bug is found, forced, and replayed from the memo alone" {
	server
	limit=120 campaign --seed 1 --max-time 60s --between "$round" -- \
		"${server[@]}"
	ended_with 66
	holds '.runs.enforced > 0 and (.findings | length) == 1'
	holds '.findings[0].kind == "signal"'
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay "$id" --db "$db" --times 3
	ended_with 0
}

@test "a command that never succeeds" {
	server
	limit=60 campaign --seed 1 --max-runs 4 --timeout 20s \
		--between "$round && false" -- "${server[@]}"
	ended_with 125
	says "had status 1 for 10 s after the start"
}

@test "a server that ends by itself is no server" {
	limit=60 campaign --seed 1 --max-runs 4 --between 'sleep 3' -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	says "the server ended before the round was over, with status 0"
}

@test "a command that needs no server cannot tell when it is ready" {
	limit=60 campaign --seed 1 --max-runs 4 --between true -- sleep 100
	ended_with 125
	says "the server listens at no socket"
}

@test "the command is no target" {
	server
	limit=60 campaign --seed 1 --max-runs 4 --max-time 30s --between \
		"$round && test -z \"\$LD_PRELOAD\$MAPLE_AGENT\" && kill -0 \$MAPLE_PID" \
		-- "${server[@]}"
	ended_with 0 66 125
	holds '.runs.profile > 0'
	holds '[.findings[] | select(.kind == "oracle")] == []'
	# Not even the shell that waited for another round.
	if pgrep -f "cache_server' $port drive"; then
		fail "a shell is left"
	fi
}

@test "what --between does not go with is refused" {
	server
	for with in "--jobs 2" "--exe x" "--expect-exit 1" "--backend kernel"; do
		# shellcheck disable=SC2086 # two words
		campaign --max-runs 1 --between "$round" $with -- "${server[@]}"
		ended_with 125
		says "between (does not go with|needs --backend agent)"
	done
	mapletest attach --between "$round" 1
	ended_with 2
}

# MODE [COMMAND]: another server, see till_server.c.
till() {
	port=$((23200 + BATS_TEST_NUMBER))
	server=("$E2E/till_server" "$port" "$1")
	round="exec '$E2E/till_server' $port ${2:-drive}"
}

@test "a command that fails under a forced order only" {
	till lost
	limit=120 campaign --seed 1 --max-time 60s --between "$round" -- \
		"${server[@]}"
	ended_with 66
	holds '.findings | length == 1'
	holds '.findings[0] | .kind == "oracle" and .status == 1'
	holds '.findings[0] | .title | test("pay")'
	# Rounds share a server: there are more of them than runs.
	holds '.rounds > ([.runs[]] | add)'
}

@test "a failure that takes an earlier round on the same server" {
	till later
	limit=120 campaign --seed 1 --max-time 60s --between "$round" -- \
		"${server[@]}"
	ended_with 66
	holds '.findings[0] | .title | test("in round [2-9][0-9]* of one server")'
	holds '.findings[0] | (.plan | fromjson).rounds >= 2'
	holds '.findings[0] | .forced.fails == .forced.runs'
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay "$id" --db "$db" --times 3
	ended_with 0
}

@test "one native round that fails by chance takes the later rounds from no run" {
	till later
	# The second success of all has status 1, in the first native run.
	round="'$E2E/till_server' $port drive && echo >>'$BATS_TEST_TMPDIR/n' &&
		[ \$(wc -l <'$BATS_TEST_TMPDIR/n') != 2 ]"
	limit=120 campaign --seed 1 --max-time 60s --between "$round" -- \
		"${server[@]}"
	says "a second round .*number 2 had status 1"
	ended_with 66
	holds '.findings[0] | .title | test("in round [2-9][0-9]* of one server")'
}

@test "a server that bears one round only has one" {
	till once
	limit=60 campaign --seed 1 --max-runs 20 --between "$round" -- \
		"${server[@]}"
	ended_with 66 125 0
	says "a second round .*status 1"
	holds '[.findings[] | select(.title | test("of one server"))] == []'
}

@test "a command that takes long drives one round a run" {
	till lost
	limit=60 campaign --seed 1 --max-runs 2 --confirm 1 \
		--between "sleep 0.6; $round" -- "${server[@]}"
	ended_with 0 66 125
	holds '.rounds >= 5 and .rounds == ([.runs[]] | add)'
}

@test "a deadlock in a server is one, and named" {
	till locks
	limit=120 campaign --seed 1 --max-time 60s --between "DRAW=1 $round" \
		-- "${server[@]}"
	ended_with 66
	holds '.findings[0].kind == "deadlock"'
	holds '.findings[0] | [.cycle[] | tostring] | join(" ") |
		test("pay") and test("draw")'
}

@test "an oracle beside the command" {
	till lost order
	limit=120 campaign --seed 1 --max-time 60s --between "$round" \
		--oracle '! grep -m 1 lost "$MAPLE_STDOUT"' -- "${server[@]}"
	ended_with 66
	holds '.findings[0] | .kind == "oracle" and .oracle == "lost\n"'
}

@test "a server that ends by itself under a forced order only" {
	till leaves
	limit=120 campaign --seed 1 --max-time 60s --between "$round" -- \
		"${server[@]}"
	ended_with 66
	holds '.findings[0] | .kind == "exit" and .status == 3'
}

@test "a server that always ends by itself" {
	till rude
	limit=60 campaign --seed 1 --max-runs 4 --between "$round" -- \
		"${server[@]}"
	ended_with 125
	says "the server ended before the round was over, with status 3"
}

@test "orders of its start-up are left out, and told, unless --whole" {
	till warm
	limit=120 campaign --seed 1 --max-runs 12 --between "$round" -- \
		"${server[@]}"
	ended_with 0 125
	holds '.findings == [] and .delivery.startup > 0'
	mapletest run --db "$db" --fresh --seed 1 --max-runs 6 --verbose \
		--between "$round" -- "${server[@]}"
	grep -q "not tried: [0-9]* orders of the server's start-up; --whole" \
		<<<"$output$stderr"
	limit=120 campaign --seed 1 --max-runs 12 --fresh --whole \
		--between "$round" -- "${server[@]}"
	ended_with 0 125
	holds '.findings == [] and .delivery.startup == 0'
}
