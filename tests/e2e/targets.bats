#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The small buggy programs are found, the clean ones never; the long form of
# this is tests/bench/acceptance.

load common

# One campaign with default options finds the bug in 60 runs, and its control
# holds.
finds() {
	limit=90 campaign --seed "${seed:-1}" --max-runs 60 -- "$TARGETS/$1"
	ended_with 66
	holds '.schema == 1 and .verdict == "finding"'
	holds '.to_first_finding.runs <= 60 and .to_first_finding.runs >= 1'
	holds '.findings | length >= 1'
	holds '.findings[0] | .id and .title and .replay'
	[ -z "${2-}" ] || holds ".findings[0].kind == \"$2\""
	# The part of the strategy that found it has it to its account.
	holds '.strategies as $parts | all(.findings[].strategy;
		. as $name | any($parts[]; .name == $name and .findings > 0))'
	controlled
	[ "$(jq '.findings[0].idiom' "$json")" = 0 ] || placed "$1"
	none_left "$TARGETS/$1"
}

# Whoever predicts finds an order for it, of this idiom.
of_idiom() { # IDIOM NAME
	rm -f "$db"*
	campaign --strategy maple --seed 1 --max-runs 60 -- "$TARGETS/$2"
	ended_with 66
	holds ".findings[0].idiom == $1"
	placed "$2"
}

# Forced it fails, reversed it does not, or the report admits that it does.
controlled() {
	holds '.findings[0].confirm.forced | .[1] >= 5 and .[0] >= .[1] - 1'
	if ! jq -e '.findings[0].confirm.flipped | .[0] <= 1' "$json"; then
		mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
		grep -qiE 'revers.* fails (as well|too)' <<<"$output" ||
			fail "the reversed order fails, and nobody says so"
	fi
}

# Every event of the iRoot stands in the program's own source.
placed() {
	holds ".findings[0].iroot | length >= 2 and all(.line > 0)"
	holds ".findings[0].iroot |
		all((.file // \"\") | endswith(\"$1.c\"))"
	holds '.findings[0].iroot | all(.kind | test("^[RWLUSC]$"))'
	holds '[.findings[0].iroot[].thread] | unique | length >= 2'
}

clean() {
	limit=120 campaign --seed "${2:-1}" --max-runs 60 --max-time 60s -- \
		"$TARGETS/clean/$1"
	ended_with 0
	holds '.verdict == "clean" and (.findings | length == 0)'
	holds '.runs.profile + .runs.controlled >= 1'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
	none_left "$TARGETS/clean/$1"
}

headers() {
	grep -l "^ \* Idiom: $1\$" "$ROOT"/tests/targets/*.c |
		sed 's/.*\///; s/\.c$//'
}

# Where memory comes from is told by one more run of the order.
@test "memory from the heap has a name, in the story and in suppressions" {
	limit=90 campaign --seed 1 --max-runs 60 -- "$TARGETS/refcount"
	ended_with 66
	name="malloc at refcount.c:$(grep -n 'calloc(' \
		"$ROOT/tests/targets/refcount.c" | cut -d: -f1) + 64"
	holds ".findings[0].moments | all(.origin == \"$name\")"
	holds '.findings[0].moments | all(.variable == "object->refs")'
	holds '.runs.confirm == 11'
	echo "race:malloc at refcount.c:*" >"$BATS_TEST_TMPDIR/known"
	db=$BATS_TEST_TMPDIR/another.db
	limit=90 campaign --seed 1 --max-runs 4 \
		--suppressions "$BATS_TEST_TMPDIR/known" -- "$TARGETS/refcount"
	ended_with 0
	holds '.suppressed | length >= 1'
}

@test "each target tells its idiom, its iRoot in true lines, and its rate" {
	local file idiom event line lines count=0

	for file in "$ROOT"/tests/targets/*.c; do
		idiom=$(sed -n 's/^ \* Idiom: //p' "$file")
		lines=$(sed -n 's/^ \* iRoot: //p' "$file" |
			grep -oE '[RWLU]:[0-9]+' | cut -d: -f2)
		grep -qE '^ \* Native: [0-9]+ of [0-9]+ runs fail$' "$file"
		grep -qF "| $idiom | $(sed -n 's/^ \* iRoot: //p' "$file") |" \
			"$ROOT/tests/targets/README.md" || fail "$file: README"
		case $idiom in
		1) [ "$(wc -w <<<"$lines")" = 2 ] ;;
		2) [ "$(wc -w <<<"$lines")" = 3 ] ;;
		3 | 4 | 5 | 6 | deadlock) [ "$(wc -w <<<"$lines")" = 4 ] ;;
		*) fail "$file: idiom '$idiom'" ;;
		esac
		event=0
		for line in $lines; do
			sed -n "${line}p" "$file" |
				grep -qE "/\* (e[0-9] )*e$event " ||
				fail "$file:$line is not e$event"
			event=$((event + 1))
		done
		count=$((count + 1))
	done
	[ "$count" -ge 12 ]
	[ "$(headers 1 | wc -l)" -ge 8 ]
}

@test "this file has a test for each target, buggy or clean" {
	local name

	for name in "$ROOT"/tests/targets/*.c; do
		name=$(basename "$name" .c)
		grep -qE "^	+finds $name\b" "$BATS_TEST_FILENAME" ||
			fail "$name"
	done
	for name in "$ROOT"/tests/targets/clean/*.c; do
		name=$(basename "$name" .c)
		grep -qE "^	clean $name\b" "$BATS_TEST_FILENAME" ||
			fail "$name"
	done
}

# Rarely: what else runs on the machine can bring any order about.
@test "targets rarely fail by themselves" {
	run "$ROOT/tests/targets/rates" -n 20 "$BUILD"
	[ "$status" = 0 ]
	[ "${#lines[@]}" -ge 18 ]
	! grep -vE ' [012]/20$' <<<"$output" || fail "often"
}

@test "bank_account: a lost update" {
	finds bank_account signal
}

@test "string_buffer: length and copy are two critical sections" {
	finds string_buffer signal
}

@test "log_sweep: the buffer is swept away between look and use" {
	finds log_sweep signal
}

@test "log_rotation: an entry is lost while the log is closed" {
	finds log_rotation signal
}

@test "queue_free: the lock is gone when the consumer comes back" {
	finds queue_free signal
}

@test "port_close: free() comes before the last use" {
	finds port_close signal
}

@test "publish_early: the pointer is there before the name" {
	finds publish_early signal
}

@test "lost_wakeup: the signal comes before the wait" {
	finds lost_wakeup
	holds '.findings[0].kind | test("^(deadlock|hang)$")'
}

@test "stop_pool: a worker is told to stop before its wait" {
	finds stop_pool
	holds '.findings[0].kind | test("^(deadlock|hang)$")'
}

@test "refcount: both owners see the last reference" {
	finds refcount signal
}

@test "write_skew: both servers go down" {
	finds write_skew signal
}

@test "fiftieth: only the 50th execution of a site does harm" {
	finds fiftieth signal
}

@test "getter: one line reads twice, and once in between it is NULL" {
	finds getter signal
	of_idiom 2 getter
}

# Both halves of it are told, as halves, in every form of report.
@test "lost_update: another CPU comes in the middle of an instruction" {
	local id form

	# Whoever compiles it: that it is one instruction is what it is about.
	objdump -d "$TARGETS/lost_update" | grep -A4 '<clerk>:' |
		grep -qE '\b(add|inc)l? .*<sold>'
	for seed in ${MAPLE_FULL:+3 2} 1; do
		rm -f "$db"*
		finds lost_update signal
		holds '.findings[0].idiom == 2'
		holds '.findings[0].confirm == {forced: [5, 5], flipped: [0, 5]}'
		holds '[.findings[0].moments[].kind] == ["R", "W", "W"]'
		holds '.findings[0].moments | all(.half)'
		holds '.delivery | .splits >= 1 and .not_split == 0'
	done
	unset seed
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay --db "$db" "$id" --times 5
	ended_with 0
	for form in text sarif junit; do
		mapletest report --db "$db" --format=$form "$id"
		ended_with 0
		grep -q '(first half)' <<<"$output" || fail "$form"
		grep -q 'half of one instruction' <<<"$output" || fail "$form"
	done
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page" "$id"
	ended_with 0
	grep -q '(second half)' "$BATS_TEST_TMPDIR/page"
	grep -q 'half of one instruction' "$BATS_TEST_TMPDIR/page"
}

@test "keyring: its keeper must come by the gate first, and by the site" {
	finds keyring signal
}

@test "port: freed while it is used; without filling nobody notices" {
	local id

	finds port signal
	holds '.findings[0].iroot[0].kind == "W" and .findings[0].moments[0].frees'
	id=$(jq -r '.findings[0].id' "$json")
	mapletest report --db "$db" "$id"
	grep -qE '^ +frees malloc at port.c:[0-9]+' <<<"$output" || fail "$output"
	grep -qE 'Freed by thread 0.2 at .*port.c:[0-9]+ close_port, allocated at port.c:[0-9]+\.$' \
		<<<"$output" || fail "$output"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page" "$id"
	grep -q 'Freed by thread 0.2 at ' "$BATS_TEST_TMPDIR/page"
	mapletest report --db "$db" --format sarif "$id"
	grep -q 'Freed by thread 0.2 at ' <<<"$output" || fail "$output"
	mapletest replay --db "$db" "$id" --times 5
	ended_with 0
	# A replay knows the call that frees from the order alone, and holds it.
	mapletest replay --db "$db" "$id" --flip --times 5
	says 'reversed [01]/5 fails'
	rm -f "$db"*
	campaign --seed 1 --max-runs 20 --heap-fill no -- "$TARGETS/port"
	ended_with 0
	holds '.coverage.exposed["1"] > 2'
	mapletest run --heap-fill perhaps -- "$TARGETS/port"
	ended_with 2
	says "heap-fill wants yes or no, not 'perhaps'"
}

@test "steal_queue: owner and thief take the last job, and wait by sleep(0)" {
	finds steal_queue signal
}

@test "circular_list: taken twice between put and look" {
	finds circular_list
}

@test "torn_pair: half of the old and half of the new" {
	finds torn_pair
}

@test "lock_order: each holds what the other wants" {
	finds lock_order deadlock
	of_idiom 7 lock_order
}

@test "clean: mutex_counter" {
	clean mutex_counter
}

@test "clean: all_locks" {
	clean all_locks
}

@test "clean: timed_queue" {
	clean timed_queue
}

@test "clean: spin_wait is not a hang" {
	clean spin_wait
	[ -z "${MAPLE_FULL:-}" ] || clean spin_wait 2
}

@test "clean: stop_pool" {
	clean stop_pool
}

@test "clean: detached_pool" {
	clean detached_pool
}

@test "clean: signal_fork" {
	clean signal_fork
}

@test "clean: kept_updates" {
	clean kept_updates
	holds '.delivery | .splits >= 1'
}

@test "clean: c11_pipeline" {
	clean c11_pipeline
}

@test "a finding is replayed and reported from the memo, and not its reverse" {
	local id

	finds bank_account signal
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay --db "$db" "$id" --times 5
	ended_with 0
	# What holds for every control: at most one of five fails.
	mapletest replay --db "$db" "$id" --flip --times 5
	ended_with 0 1
	says 'reversed [01]/5 fails'
	mapletest report --db "$db" "$id"
	ended_with 0
	grep -q 'BUG: maple: ' <<<"$output"
	grep -q 'SUMMARY: maple: ' <<<"$output"
	grep -q 'bank_account.c:' <<<"$output"
	mapletest coverage --db "$db"
	ended_with 0
}

# What is left of a budget goes to orders that came about before ("again"), so
# the candidates that were tried are the enforced runs without those.
@test "the page says what each part of the strategy ran and found" {
	local page=$BATS_TEST_TMPDIR/page.html

	finds keyring
	mapletest report --db "$db" --html "$page"
	xmllint --noout "$page"
	grep -q '<th>strategy</th>' "$page" || fail "no table"
	grep -q "<td>pcr</td><td class=\"num\">$(jq '.strategies[] |
		select(.name == "pcr").runs' "$json")</td>" "$page" ||
		fail "not its runs"
}

@test "the memo remembers what was exposed: a second campaign has less to do" {
	campaign --seed 1 --max-runs 60 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.runs.enforced - .again >= 1'
	campaign --seed 2 --max-runs 60 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.runs.enforced >= 1 and .runs.enforced == .again'
}

@test "the demo shows the bank account's bug, and fails where there is none" {
	run "$ROOT/tests/demo" "$BUILD"
	[ "$status" = 0 ] || fail "$output"
	grep -q 'SUMMARY: maple: ' <<<"$output" || fail "$output"
	run "$ROOT/tests/demo" "$BATS_TEST_TMPDIR"
	[ "$status" = 1 ]
}

# The median of five seeds, without the control, which adds no such run: three of
# them that are within the limit are as good as five, three beyond it as bad.
@test "no target takes more runs to its finding than it may" {
	local name most seed runs within count=0

	while read -r name most; do
		case $name in '#'*) continue ;; esac
		runs= within=0
		for seed in 1 2 3 4 5; do
			campaign --seed $seed --fresh --confirm 0 \
				--max-runs 60 -- "$TARGETS/$name"
			ended_with 66
			runs+=" $(jq .to_first_finding.runs "$json")"
			[ "${runs##* }" -gt "$most" ] || within=$((within + 1))
			[ $within -lt 3 ] && [ $((seed - within)) -lt 3 ] || break
		done
		[ $within = 3 ] || fail "$name:$runs runs, not $most"
		count=$((count + 1))
	done <"$ROOT/tests/targets/limits"
	[ "$count" = "$(ls "$ROOT"/tests/targets/*.c "$ROOT"/tests/targets/*.cc \
		2>/dev/null | wc -l)" ] || fail "$count limits"
}
