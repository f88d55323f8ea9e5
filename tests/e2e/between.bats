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
		"$round; test -z \"\$LD_PRELOAD\$MAPLE_AGENT\" && kill -0 \$MAPLE_PID" \
		-- "${server[@]}"
	ended_with 0 66 125
	holds '.runs.profile > 0'
	holds '[.findings[] | select(.kind == "oracle")] == []'
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
