#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Never green when it is red: what is known to fail is tried first, and clean
# means that something was tested.

load common
load mapled

LOCK='s/^static int balance.*/&\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;/'

# A build of the target $1 in the test's own folder, its source through sed.
build() { # NAME [SED-COMMAND...]
	local name=$1

	shift
	sed "${@:-}" "$ROOT/tests/targets/$name.c" >"$BATS_TEST_TMPDIR/$name.c"
	cc -O0 -g -pthread -o "$BATS_TEST_TMPDIR/$name" \
		"$BATS_TEST_TMPDIR/$name.c"
}

@test "what was found before is red again, with any seed, and said to be known" {
	local target seed id

	for target in bank_account getter; do
		db=$BATS_TEST_TMPDIR/$target.db
		campaign --seed 1 -- "$TARGETS/$target"
		ended_with 66
		holds '.findings[0].known == false'
		id=$(jq -r '.findings[0].id' "$json")
		for seed in 2 3 4; do
			campaign --seed $seed -- "$TARGETS/$target"
			ended_with 66
			holds ".findings[0] | .known and .id == \"$id\""
			holds '.findings[0].confirm.forced[0] >= 4'
		done
		[ "$(jq '.findings[0].times_seen' "$json")" = 4 ] ||
			fail "not seen four times"
	done
}

@test "every form of report says that it is known" {
	local form

	campaign --seed 1 -- "$TARGETS/bank_account"
	mapletest run --db "$db" --seed 2 -- "$TARGETS/bank_account"
	ended_with 66
	says 'History: known, not fixed since 20..-..-..\.'
	says '^1 known finding, not fixed$'
	for form in junit tap github jsonl; do
		mapletest run --db "$db" --seed 2 --format $form \
			--output "$BATS_TEST_TMPDIR/report" -- \
			"$TARGETS/bank_account"
		ended_with 66
		grep -q 'known' "$BATS_TEST_TMPDIR/report" ||
			fail "not in $form"
	done
	mapletest run --db "$db" --seed 2 --format sarif \
		--output "$json" -- "$TARGETS/bank_account"
	holds '.runs[0].results[0].baselineState == "unchanged"'
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	grep -q 'known, not fixed since' "$BATS_TEST_TMPDIR/page.html"
}

@test "a rebuild forgets no finding, a mended one is told as fixed, once" {
	local id

	build bank_account
	campaign --seed 1 -- "$BATS_TEST_TMPDIR/bank_account"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	build bank_account \
		'/^int main/i int unrelated(int a) { return a * 3 + 1; }'
	campaign --seed 2 -- "$BATS_TEST_TMPDIR/bank_account"
	ended_with 66
	holds ".findings[0] | .known and .id == \"$id\""
	# The lock that was forgotten.
	build bank_account -e "$LOCK" \
		-e 's/sum = balance;/pthread_mutex_lock(\&lock); &/' \
		-e 's/balance = sum .*/&\n\tpthread_mutex_unlock(\&lock);/'
	campaign --seed 3 -- "$BATS_TEST_TMPDIR/bank_account"
	ended_with 0
	holds '.findings == []'
	holds ".fixed | length == 1 and .[0].id == \"$id\""
	holds '.fixed[0].fixed_at > 0'
	campaign --seed 4 -- "$BATS_TEST_TMPDIR/bank_account"
	ended_with 0
	holds '.fixed == []'
	# What was mended comes back: found anew, with its old name.
	build bank_account 's/static int balance = /static int unused, balance = /'
	campaign --seed 1 -- "$BATS_TEST_TMPDIR/bank_account"
	ended_with 66
	holds ".findings[0] | (.known | not) and .id == \"$id\""
}

@test "one run is never clean" {
	local file name

	for file in "$ROOT"/tests/targets/*.c; do
		name=$(basename "$file" .c)
		mapletest run --db :memory: --max-runs 1 -- "$TARGETS/$name"
		ended_with 66 125
	done
	says 'no order was forced before the run limit'
}

# From its fifth run on, the first enforced one, the program does not end.
hangs_when_forced() {
	cat >"$BATS_TEST_TMPDIR/setup" <<-EOS
		#!/bin/sh
		echo >>"$BATS_TEST_TMPDIR/runs"
		[ \$(wc -l <"$BATS_TEST_TMPDIR/runs") -lt 5 ] ||
			touch "$BATS_TEST_TMPDIR/flag"
	EOS
	chmod +x "$BATS_TEST_TMPDIR/setup"
	campaign --seed 1 --timeout 30s --setup "$BATS_TEST_TMPDIR/setup" \
		--exe mutex_counter "$@" -- /bin/sh -c \
		"$TARGETS/clean/mutex_counter
		[ ! -e '$BATS_TEST_TMPDIR/flag' ] || sleep 30"
}

@test "an order whose run was cut short was not forced" {
	hangs_when_forced --max-time 8s
	ended_with 125
	holds '.findings == [] and .runs.enforced == 0 and
		.runs.profile + .runs.controlled == 1'
	holds '.undelivered | startswith("no order was forced before the time")'
	holds '.delivery.undelivered_runs == 0'
}

@test "time that is over before the program was read is no error in it" {
	XDG_CACHE_HOME=$BATS_TEST_TMPDIR/none campaign --max-time 0.001 -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	holds '.verdict == "undelivered" and .runs.profile == 0'
	holds '.undelivered | test("^the time was over before .*--max-time")'
}

@test "an interrupted campaign is not clean in any form" {
	(until [ -e "$BATS_TEST_TMPDIR/flag" ]; do sleep 0.2; done; sleep 1
	pkill -INT -f "^$BUILD/mapletest .*$BATS_TEST_TMPDIR") 3>&- &
	hangs_when_forced
	wait
	ended_with 125
	holds '.interrupted and .verdict == "undelivered"'
	holds '.undelivered | test("^interrupted after 0 profile, 0 enforced and 1 contr")'
}

@test "a program that always ends with another status wants --expect-exit" {
	mapletest run --db :memory: -- "$E2E/status" 3
	ended_with 125
	says 'ends with status 3 .*--expect-exit 3'
	campaign --max-runs 20 --expect-exit 3 -- "$E2E/status" 3
	ended_with 0
	mapletest run --db :memory: --expect-exit 3 -- "$E2E/status" 0
	ended_with 125
	says 'exit status 0 instead of 3'
	mapletest run --expect-exit 256 -- "$E2E/status" 3
	ended_with 2
}

@test "a program that fails by itself now and then is a finding, not refused" {
	campaign --seed 1 --max-runs 12 -- "$E2E/flaky" "$BATS_TEST_TMPDIR/runs"
	ended_with 66
	holds '.findings[0] | .idiom == 0 and .kind == "exit"'
	holds '.findings[0] | .native_fails == 1 and .native_runs == 3'
	holds '.runs.profile + .runs.enforced + .runs.controlled == 12 and .stop == "run limit"'
	holds '.findings | length == 1'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	grep -q 'fails by itself, 1 of 3 native runs' <<<"$output"
}

# Where that goes, a program may do other things: this one dies of them.
@test "the first native run is as the others, wherever our own output goes" {
	status=0
	timeout -s KILL 60 "$BUILD/mapletest" run --db "$db" --max-runs 4 \
		--format json --output "$json" -- "$E2E/filtered" prctl \
		>/dev/null 2>"$BATS_TEST_TMPDIR/err" || status=$?
	stderr=$(<"$BATS_TEST_TMPDIR/err")
	ended_with 125
	holds '.undelivered | test("seccomp")'
	mapletest run --db :memory: --oracle false -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	says 'fails without maple: the oracle.*\(3 of 3 native runs\)'
	mapletest run --db :memory: --max-runs 1 -- sh -c \
		'echo to you; echo and to me >&2'
	[ "$output" = "to you" ] || fail "$output"
	[ "$(grep -cx 'and to me' <<<"$stderr")" = 1 ] || fail "$stderr"
}

@test "what fails by itself now and then gets the order that makes it fail" {
	campaign --seed 1 --max-runs 60 -- "$E2E/flaky" \
		"$BATS_TEST_TMPDIR/runs" 2
	ended_with 66
	holds '.findings | length == 1'
	holds '.findings[0] | .idiom >= 1 and .native_fails == 1'
	holds '.findings[0].confirm | .forced == [5, 5] and .flipped == [0, 5]'
	# A suppression of that order holds for the whole of it.
	echo 'race:flaky.c:*' >"$BATS_TEST_TMPDIR/known"
	echo 'race:other' >>"$BATS_TEST_TMPDIR/known"
	rm -f "$db" "$BATS_TEST_TMPDIR/runs"
	campaign --seed 1 --max-runs 60 \
		--suppressions "$BATS_TEST_TMPDIR/known" -- "$E2E/flaky" \
		"$BATS_TEST_TMPDIR/runs" 2
	holds '.findings == [] and (.suppressed | length >= 1)'
	# ... and is no reason to end.
	holds '.stop == "run limit"'
	ended_with 0
}

@test "what fails once and by no order again is no reason to stop looking" {
	campaign --seed 1 --max-runs 400 -- "$E2E/flaky" \
		"$BATS_TEST_TMPDIR/runs" 6 120
	ended_with 66
	says 'did not fail again in 5 runs'
	holds '.stop == "finding" and .findings[0].times_seen == 2'
	holds 'all(.findings[]; .confirm.forced[0] > 0)'
	# Where there is none it is told all the same, as what it is.
	rm -f "$db" "$BATS_TEST_TMPDIR/runs"
	campaign --seed 1 --max-runs 60 -- "$E2E/flaky" \
		"$BATS_TEST_TMPDIR/runs" 6 1000
	ended_with 66
	holds '.stop == "run limit" and (.findings | length) == 1'
	holds '.findings[0].confirm.forced == [0, 5]'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	grep -q 'not reproduced' <<<"$output" || fail "$output"
}

@test "run, coverage and page tell one number of what is left" {
	local left

	campaign --seed 1 --max-runs 6 --keep-going -- "$TARGETS/torn_pair"
	left=$(jq .candidates_left "$json")
	[ "$left" = "$(jq '[.coverage.left[]] | add' "$json")" ]
	mapletest coverage --db "$db" --format json
	[ "$left" = "$(jq '.program.candidates_left' <<<"$output")" ] ||
		fail "run says $left"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	grep -q " $left candidates\? left" "$BATS_TEST_TMPDIR/page.html" ||
		fail "the page does not say $left"
}

@test "a campaign ends by news, not by a few dry runs" {
	campaign --seed 1 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.stop == "saturated" and .exhausted and .dry_runs > 20'
	holds '.seconds >= 1'
}

@test "clients of one mapled all hear of a finding" {
	local i

	open_folder
	unset MAPLE_NO_DAEMON
	start_mapled
	for i in 1 2 3 4 5 6; do
		mapletest run --socket "$socket" --seed $i -- \
			"$TARGETS/bank_account"
		ended_with 66
	done
	says 'known, not fixed'
	memo_is_whole
}

teardown() {
	[ -z "${dir-}" ] || { end_mapled; rm -rf "$dir"; }
}

@test "a wrapper: the program that had the threads, and the option for it" {
	local wrapper

	for wrapper in "sh -c" "bash -c" "timeout 20" "env"; do
		case $wrapper in
		*-c) set -- $wrapper "$TARGETS/clean/mutex_counter; true" ;;
		*) set -- $wrapper "$TARGETS/clean/mutex_counter" ;;
		esac
		campaign --max-runs 4 -- "$@"
		ended_with 125
		holds '.undelivered | test("mutex_counter, which it started, had: .* --exe mutex_counter$")'
	done
	campaign --max-runs 4 --exe mutex_counter -- env "$TARGETS/clean/mutex_counter"
	ended_with 0
	# One that has started none is not told so.
	campaign --max-runs 4 -- true
	ended_with 125
	holds '.undelivered | test("--exe") | not'
}
