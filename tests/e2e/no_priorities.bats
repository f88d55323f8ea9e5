#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What a user finds who may not use real-time priorities: bugs, by controlled
# runs that hold threads asleep. That these are the same runs, choice by choice,
# is unit/test_control_asleep's affair.

load common.bash

# Copies of what a user without rights must be able to read.
setup_file() {
	mkdir -p "$BATS_FILE_TMPDIR/public"
	cp "$BUILD/mapletest" "$BUILD/libmaple-agent.so" "$BUILD/maple-canary" \
		"$BATS_FILE_TMPDIR/public/"
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/* "$BATS_FILE_TMPDIR"
	chmod 755 "$BATS_FILE_TMPDIR/public"
}

# mapletest, as nobody: no capability, no limit, no service.
as_nobody() {
	local own=$BATS_FILE_TMPDIR/public/own

	mkdir -p "$own"
	chown nobody "$own"
	db=$own/$BATS_TEST_NUMBER.db json=$own/$BATS_TEST_NUMBER.json
	run --separate-stderr timeout -s KILL 180 env -C "$own" HOME="$own" \
		XDG_STATE_HOME="$own" XDG_CACHE_HOME="$own" setpriv \
		--reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
		--bounding-set=-all -- prlimit --rtprio=0 --nice=0 -- \
		"$BATS_FILE_TMPDIR/public/mapletest" "$@"
}

put() { # PROGRAM: where nobody can read it
	cp "$1" "$BATS_FILE_TMPDIR/public/"
	program=$BATS_FILE_TMPDIR/public/${1##*/}
}

@test "without priorities the paper's targets are found, and say how" {
	local name

	for name in bank_account refcount queue_free write_skew torn_pair \
		log_sweep log_rotation publish_early getter fiftieth \
		string_buffer lost_wakeup lock_order; do
		put "$TARGETS/$name"
		as_nobody run --seed 1 --max-runs 60 --format json \
			--output "$BATS_FILE_TMPDIR/public/own/$name.json" -- \
			"$program"
		json=$BATS_FILE_TMPDIR/public/own/$name.json
		[ "$status" = 66 ] || fail "$name is not found"
		[[ $stderr = *"real-time priorities are refused"* ]] ||
			fail "$name: nobody says that they are refused"
		jq -e '.verdict == "finding" and .runs.enforced == 0 and
			(.real_time_priorities | not) and
			.findings[0].confirm == {"forced": [5, 5],
				"flipped": [0, 5]}' "$json" ||
			fail "$name"
	done
}

@test "without priorities a finding replays, each time" {
	local id

	put "$TARGETS/bank_account"
	as_nobody run --seed 2 --db "$BATS_FILE_TMPDIR/public/own/r.db" -- \
		"$program"
	ended_with 66
	[[ $stderr = *"without real-time priorities:"* ]] || fail "no word"
	id=$(sed -n 's/^Replay: .* replay \([0-9a-f]*\) .*/\1/p' <<<"$stderr")
	as_nobody replay --times 20 --db "$BATS_FILE_TMPDIR/public/own/r.db" \
		"$id"
	ended_with 0
	[[ $output$stderr = *"20/20"* ]] || fail "not each time"
}

@test "without priorities clean programs stay clean, and the report says how" {
	local name

	for name in mutex_counter stop_pool spin_wait timed_queue; do
		put "$TARGETS/clean/$name"
		as_nobody run --seed 1 --max-runs 60 -- "$program"
		ended_with 0
		[[ $stderr = *"without real-time priorities:"* ]] ||
			fail "$name: no word of it"
	done
}

@test "without priorities doctor finds its canary" {
	as_nobody doctor --format json
	ended_with 0
	jq -e '[.probes[] | select(.name == "real-time priorities" or
		.name == "canary")] | map(.state) == ["info", "ok"]' \
		<<<"$output" || fail "$(jq .probes <<<"$output")"
}

@test "what takes priorities says so, refused or given up" {
	put "$TARGETS/bank_account"
	as_nobody run --strategy maple -- "$program"
	ended_with 125
	[[ $stderr = *rtprio* ]] || fail "no mend"
	as_nobody run --between true -- "$program"
	ended_with 125
	[[ $stderr = *rtprio* ]] || fail "no mend"
	mapletest run --no-priorities --strategy maple -- "$TARGETS/getter"
	ended_with 125
	[[ $stderr = *"--no-priorities: this --strategy takes them"* ]] ||
		fail "no reason"
	mapletest run --no-priorities --between true -- "$TARGETS/getter"
	ended_with 125
	[[ $stderr = *"--no-priorities: --between takes them"* ]] ||
		fail "no reason"
}

@test "an order that takes priorities is not replayed without, and stays open" {
	local id

	campaign --strategy maple --seed 1 -- "$TARGETS/getter"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay --no-priorities --db "$db" "$id"
	ended_with 125
	[[ $stderr = *"--no-priorities: this finding's order takes them"* ]] ||
		fail "no reason"
	campaign --no-priorities --seed 1 --max-runs 5 -- "$TARGETS/getter"
	[[ $stderr = *"known finding $id is not replayed"* ]] || fail "no word"
	[ "$(jq '.fixed | length' "$json")" = 0 ] || fail "it is gone"
	mapletest report --format json --db "$db"
	jq -e --arg id "$id" '[.. | .id? | select(. == $id)] | length >= 1' \
		<<<"$output" >/dev/null || fail "it is gone"
}

@test "without priorities all schedules of a bound are as many" {
	local with

	campaign --strategy rank --exhaust --preemptions 1 --seed 1 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 0
	with=$(jq -c .bound "$json")
	campaign --no-priorities --fresh --strategy rank --exhaust \
		--preemptions 1 --seed 1 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	[ "$(jq -c .bound "$json")" = "$with" ] ||
		fail "with priorities: $with"
}
