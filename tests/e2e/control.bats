#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Controlled runs as campaigns: each choice of the schedule is a policy's, and
# what fails is done again by the switches that it had.

load common

CONTROL=$BUILD/tests/control

# Found by $1 within $2 controlled runs, by each of three seeds, with at most three
# switches.
found() { # STRATEGY MOST PROGRAM [ARG...]
	local seed

	for seed in ${seeds:-1 2 3}; do
		rm -f "$db"*
		campaign --strategy "$1" --seed $seed --max-runs "$2" -- "${@:3}"
		ended_with 66
		holds '.runs.controlled > 0 and .runs.enforced == 0'
		holds '.findings[0].confirm | .forced == [5, 5] and
			.flipped == [0, 5]'
		holds '.findings[0] | .plan | fromjson | .policy.switches |
			map(select(.what < 2)) | length | . > 0 and . <= 3'
		holds '.findings[0].switches | split("\n") | length <= 4'
	done
}

# One seed for what follows, unless MAPLE_FULL=1: each policy has had three of them.
one_seed() {
	seeds=${MAPLE_FULL:+1 2 3}
	seeds=${seeds:-3}
}

@test "pos finds what no candidate describes, and replays it" {
	found pos 200 "$CONTROL/reorder" 10
	one_seed
	found pos 200 "$CONTROL/account"
	found pos 300 "$CONTROL/stolen_wakeup"
	found pos 200 "$CONTROL/the_queue"
}

@test "what a JIT compiler's code does is a point where it is watched" {
	watchpoints_hit
	one_seed
	found pos 60 "$CONTROL/jit_cell"
	found pct 60 "$CONTROL/jit_cell"
	holds '[.findings[0].switches | test("counter")] | all'
	campaign --strategy pos --seed 1 --max-runs 60 -- \
		"$CONTROL/jit_cell" locked
	ended_with 0
}

@test "maple looks for it by controlled runs when nothing is left to try" {
	local seed by=0

	# Another candidate's run may fail by chance before it is their turn.
	for seed in 1 2 3 4 5 6; do
		[ $by = 0 ] || [ -n "${MAPLE_FULL:-}" ] || break
		rm -f "$db"*
		campaign --seed $seed --max-runs 150 -- "$CONTROL/account"
		ended_with 66
		holds '.runs.enforced > 0'
		jq -e '.runs.controlled > 0' "$json" || continue
		by=$((by + 1))
		holds '.findings[0].confirm | .forced == [5, 5] and
			.flipped == [0, 5]'
	done
	[ $by -gt 0 ] || fail "no controlled run found it"
}

@test "so does rw" {
	found rw 200 "$CONTROL/reorder" 3
	one_seed
	found rw 200 "$TARGETS/bank_account"
}

@test "a deadlock is one" {
	one_seed
	found pos 100 "$TARGETS/lock_order"
	holds '.findings[0].kind == "deadlock"'
}

@test "a finding replays from the memo, and is known to the next campaign" {
	local id

	campaign --strategy pos --seed 1 --max-runs 200 -- "$CONTROL/reorder" 10
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	jq -e '.findings[0].plan | fromjson | .kind == "controlled" and
		(.policy.switches | length) > 0 and
		(.policy.threads | index("0.1"))' "$json"
	mapletest replay "$id" --db "$db" --times 20
	ended_with 0
	[[ $output$stderr == *20/20* ]] || fail "not 20 of 20"
	mapletest replay "$id" --db "$db" --times 5 --flip
	[[ $output$stderr == *0/5* ]] || fail "not 0 of 5"
	# The default strategy begins with what is known to fail.
	campaign --seed 2 --max-runs 30 -- "$CONTROL/reorder" 10
	ended_with 66
	holds '.findings[0].id == "'"$id"'" and .findings[0].known'
}

@test "what it takes is told, as text and as a page" {
	mapletest run --strategy pos --seed 1 --max-runs 200 --db "$db" -- \
		"$CONTROL/account"
	ended_with 66
	[[ $output$stderr == *"By these switches"*"thread 0"*"goes on"* ]] ||
		fail "no switches"
	[[ $output$stderr == *"by these switches 5/5 fails, with one of them left out 0/5"* ]] ||
		fail "no control"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/found.html"
	grep -q "By these switches" "$BATS_TEST_TMPDIR/found.html"
	grep -q "one switch left out" "$BATS_TEST_TMPDIR/found.html"
	xmllint --noout "$BATS_TEST_TMPDIR/found.html"
}

@test "what is right stays right, is observed and counted" {
	local strategy most=$(halved 60)

	for strategy in rw pos surw pct; do
		campaign --strategy $strategy --seed 1 --max-runs $most -- \
			"$TARGETS/clean/mutex_counter"
		ended_with 0
		holds '.verdict == "clean" and .stop == "run limit"'
		holds ".runs.profile == 2 and .runs.controlled == $most - 2"
		holds '[.coverage.exposed[]] | add > 0'
		holds '.delivery.undelivered_runs == 0'
	done
}

@test "a run that is let go ends as it does natively" {
	local strategy

	for strategy in rank pcr pos pct surw rw; do
		rm -f "$db"*
		campaign --strategy $strategy --seed 1 --timeout 0.5s \
			--max-runs $(halved 8) -- "$CONTROL/long_waits"
		ended_with 0
		holds '.delivery | .let_go_runs > 0 and
			(.unjudged_runs | add) == 0'
	done
}

@test "who cannot control says so" {
	campaign --strategy pos --backend ebpf+agent -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 2 125
	[[ $stderr == *"agent"* ]] || fail "the mend is not said"
	mapletest run --strategy sup -- "$TARGETS/clean/mutex_counter"
	ended_with 2
	[[ $stderr == *"rw, pos, surw, pct, pctvb, pcr, rank, chess, delay, rankchecker, grey, maptest or meet"* ]] || fail "the names are not said"
}

@test "a timeout that comes early is told; with the machine's time there is none" {
	one_seed
	found pos 300 "$CONTROL/timed_out"
	jq -e '.findings[0].switches | test("times? out early|timed out before")' \
		"$json" || fail "it is not told"
	rm -f "$db"*
	campaign --strategy pos --real-time --seed 1 --max-runs 60 -- \
		"$CONTROL/timed_out"
	ended_with 0
}

@test "so does who waits for a lock until a certain time" {
	local kind

	one_seed
	for kind in mutex rwlock; do
		found pos 300 "$CONTROL/timed_lock" $kind
		jq -e '.findings[0].switches | test("times out early")' \
			"$json" || fail "it is not told"
	done
}

@test "rank ends such waits in turn: run 5 and 6, where a draw takes 15 to 60" {
	one_seed
	found rank 8 "$CONTROL/timed_out"
	found rank 8 "$CONTROL/timed_lock"
	jq -e '.findings[0].switches | test("times out early")' "$json" ||
		fail "it is not told"
}

@test "a signal cuts a sleep short" {
	local whose

	for whose in thread process; do
		rm -f "$db"*
		campaign --strategy pos --seed 1 \
			--max-runs $(halved 12) -- "$CONTROL/cut_short" $whose
		ended_with 0
		holds '.runs.controlled > 0'
	done
}

@test "timers go off when the policy lets them" {
	local kind most=$(halved 60)

	for kind in fd poll epoll alarm pause suspend sigwait watchdog; do
		rm -f "$db"*
		campaign --strategy pos --seed 1 --max-runs $most -- \
			"$CONTROL/timers" $kind
		ended_with 0
		holds ".runs.controlled > $most - 10"
	done
	# A minute before anybody expects it to: another order.
	one_seed
	found pos 300 "$CONTROL/timers" race
	jq -e '.findings[0].switches | test("0\\.t1")' "$json" ||
		fail "the timer is not named"
	mapletest replay "$(jq -r '.findings[0].id' "$json")" --db "$db" \
		--times 20
	[[ $output$stderr == *20/20* ]] || fail "not 20 of 20"
}

@test "a timer that goes off all the time hides no deadlock" {
	campaign --strategy pos --seed 1 --max-runs 100 -- "$CONTROL/dead_timer"
	ended_with 66
	holds '.findings[0].kind == "deadlock"'
}

@test "time jumps where all wait, and goes by where somebody outside is waited for" {
	campaign --strategy pos --seed 1 --max-runs 8 -- "$CONTROL/outside" child
	ended_with 0
	holds '.runs.controlled > 0'
}

@test "so does surw, which knows the accesses of the runs before" {
	found surw 300 "$CONTROL/reorder" 3
	one_seed
	found surw 300 "$CONTROL/account"
	found surw 300 "$TARGETS/bank_account"
	found surw 500 "$TARGETS/fiftieth"
}

@test "so does pct, at the depth that is asked for" {
	found pct 400 "$CONTROL/reorder" 3
	one_seed
	found pct 400 "$CONTROL/account"
	found pct 400 "$TARGETS/bank_account"
	found pct 400 "$TARGETS/lock_order"
	rm -f "$db"*
	campaign --strategy pct --depth 2 --seed 1 --max-runs 400 -- \
		"$TARGETS/bank_account"
	ended_with 66
}

# The run of its first failure and the switches of $3..., by --strategy $1 with
# seed $2.
first_failure() {
	rm -f "$db"*
	campaign --strategy "$1" --seed "$2" --max-runs 400 -- "${@:3}"
	ended_with 66
	jq -c '[.to_first_finding.runs, .findings[0].switches]' "$json"
}

@test "pctvb finds what is at one variable" {
	local program

	for program in "$CONTROL/two_stage" "$TARGETS/string_buffer" \
		"$CONTROL/driver_stop" "$TARGETS/bank_account" \
		"$TARGETS/circular_list"; do
		found pctvb 100 "$program"
		one_seed
	done
}

@test "a seed is a campaign, whatever the policy" {
	local strategy once

	for strategy in rw pos surw pct; do
		once=$(first_failure $strategy 3 "$CONTROL/account")
		[ "$once" = "$(first_failure $strategy 3 "$CONTROL/account")" ] ||
			fail "$strategy: another failure"
	done
}

@test "a campaign without a limit ends when controlled runs bring no news" {
	campaign --seed 1 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.stop == "saturated" and .exhausted'
	holds '.runs.controlled >= 1000 or .seconds >= 10'
}

# 20,000 times each of its threads copies and compares memory; 100 times they
# take a lock.
@test "what never races is no point, neither a site nor a call" {
	local strategy

	for strategy in pos pct surw rw; do
		rm -f "$db"*
		campaign --strategy $strategy --seed 1 --max-runs 12 -- \
			"$E2E/copies"
		ended_with 0
		holds '.delivery.control | .runs == 10 and
			.points > 100 * .runs and .points < 2000 * .runs'
	done
	# All schedules are those at all accesses.
	campaign --fresh --strategy rank --exhaust --preemptions 1 --seed 1 \
		--max-runs 3 -- "$E2E/copies"
	ended_with 125
	holds '.delivery.control | .points > 20000 * .runs'
}

# It takes its lock 1,000 times before there are two threads, and then 60 times.
@test "a lock that is over its budget is a point, and tells nothing more" {
	campaign --strategy pos --seed 1 --max-runs 8 -- "$CONTROL/often"
	ended_with 0
	holds '.delivery.control | .runs == 6 and .points >= 60 * .runs'
	holds '.prediction.events < 8 * 2000'
}
