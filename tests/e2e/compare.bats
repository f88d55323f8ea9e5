#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Strategies to compare with, over the same observer and verdicts.

load common

# A campaign of $1 whose events go to $stream, an object a line.
streamed() {
	stream=$BATS_TEST_TMPDIR/stream.jsonl
	rm -f "$stream" "$db"
	mapletest run --strategy "$1" --format jsonl --output "$stream" \
		--db "$db" --seed 7 "${@:2}"
}

@test "those of profile runs make no others, observe, and go on to the end" {
	local strategy

	for strategy in native pctlarge randdelay; do
		campaign --strategy $strategy --seed 1 --max-runs 12 -- \
			"$TARGETS/clean/mutex_counter"
		ended_with 0
		holds '.verdict == "clean" and .exhausted == false'
		holds '.runs.profile == 12 and .runs.enforced == 0'
		holds '.delivery.undelivered_runs == 0 and .delivery.lost == 0'
		holds '[.coverage.exposed[]] | add > 0'
		holds '[.coverage.predicted[]] | add == 0'
		[ "$(sqlite3 "$db" "SELECT strategy FROM campaigns
			ORDER BY id DESC LIMIT 1")" = $strategy ]
	done
}

@test "what they expose counts where sites have gone quiet as well" {
	local strategy

	for strategy in pctlarge native; do
		# It may fail natively, where the machine is busy.
		campaign --strategy $strategy --seed 1 --max-runs 3 \
			--keep-going --confirm 0 --fresh -- \
			"$TARGETS/circular_list"
		holds '.coverage.exposed["1"] >= 4'
	done
}

@test "a failure in a random schedule is replayed with schedule and seed" {
	local id

	# A sleep is one on a busy machine as well; nice values are weights.
	campaign --strategy randdelay --seed 1 --max-runs 600 --confirm 20 -- \
		"$TARGETS/refcount"
	ended_with 66
	holds '.runs.enforced == 0 and .findings[0].confirm.forced[1] == 20'
	holds '.findings[0].confirm.forced[0] >= 10'
	holds '.findings[0].confirm.flipped == [0, 0]'
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay --db "$db" --times 20 "$id"
	ended_with 0
	mapletest replay --db "$db" --flip "$id"
	ended_with 125
	says 'no order to flip'
}

@test "a stream says the strategy, and the run before its finding" {
	streamed randdelay --max-runs 600 -- "$TARGETS/refcount"
	ended_with 66
	jq -es '.[0] | .event == "start" and .strategy == "randdelay"' "$stream"
	jq -es 'map(select(.event != "start" and .phase != "baseline") |
		if .event == "run" then .phase else .event end) as $e |
		($e | index("profile")) == 0 and
		($e | rindex("profile")) < ($e | index("confirm")) and
		($e | rindex("confirm")) < ($e | index("finding")) and
		$e[-1] == "end"' "$stream"
	streamed maple --max-runs 60 -- "$TARGETS/bank_account"
	ended_with 66
	jq -es 'map(select(.event == "run") | .phase) as $e |
		($e | rindex("enforce")) < ($e | index("confirm"))' "$stream"
}

@test "a finding of profile runs alone is not called saturated" {
	mapletest run --strategy pctlarge --seed 1 --max-runs 600 --db "$db" -- \
		"$TARGETS/bank_account"
	ended_with 66
	grep -qE 'iRoots? exposed' <<<"$output$stderr"
	! grep -E '[^t] saturated' <<<"$output$stderr" || fail "it is saturated"
}

@test "no time after the baseline is said as it is" {
	mapletest run --max-time 1ms --db "$db" -- \
		"$TARGETS/clean/mutex_counter"
	ended_with 125
	grep -q 'the time was over before' <<<"$output$stderr"
}

@test "the comparison has its tables and figures" {
	local out=$BATS_TEST_TMPDIR/bench figure

	mkdir -p "$out"
	{
		echo "seed  input runs with without % s with without %"
		for input in 1 2 3; do
			echo "1  $input  3  3  100.0  $((5 - input))  4.00  99.0"
		done
	} >"$out/inputs.txt"
	run timeout -s KILL 60 "$ROOT/tests/bench/compare" "$BUILD" --quick \
		--out "$out"
	[ "$status" = 0 ] || fail "$output"
	# runs, seconds and seeds of maple, which finds it, then those of pct
	grep -qE '^bank_account +[0-9]+ +[0-9.]+ +1 +([0-9]+|-) +([0-9.]+|-) +[01]$' \
		<<<"$output" || fail "$output"
	# idiom 1, five others, the deadlock, all, all the time
	grep -qE '^bank_account +maple +[1-9][0-9]*( +[0-9]+){8}$' \
		<<<"$output" || fail "$output"
	grep -qE '^ +pct +[1-9][0-9]*( +[0-9]+){8}$' <<<"$output" ||
		fail "$output"
	[ "$(grep -c '^first' "$out/compare.tsv")" = 2 ]
	for figure in 11 12 13; do
		xmllint --noout "$out/figure$figure.svg"
	done
	[ "$(grep -c '<rect.*fill="#' "$out/figure11.svg")" = 4 ]
	[ "$(grep -c '<polyline' "$out/figure12.svg")" = 2 ]
	[ "$(grep -c '<polyline' "$out/figure13.svg")" = 2 ]
	# What was measured can be shown with what was measured elsewhere.
	mkdir "$out/other"
	sed 's/\tmaple\t/\tauto\t/' "$out/compare.tsv" >"$out/other/compare.tsv"
	run -0 "$ROOT/tests/bench/compare" "$BUILD" --from "$out" \
		--from "$out/other" --strategies maple,pct,auto --time 0 \
		--out "$out/both"
	grep -qE '^\| bank_account \|( ([0-9]+|-) \|){3}$' "$out/both/compare.md" ||
		fail "$(cat "$out/both/compare.md")"
	[ "$(grep -c '<polyline' "$out/both/found.svg")" = 3 ]
	grep -q '^auto over the best.* 1.00 in the geometric.* 1.0 at most (bank' \
		<<<"$output" || fail "$output"
	run -2 "$ROOT/tests/bench/compare" "$BUILD" --from "$out/nowhere"
}

@test "the comparison fails where a campaign cannot be carried out" {
	run timeout -s KILL 60 "$ROOT/tests/bench/compare" "$BUILD" \
		--out "$BATS_TEST_TMPDIR" --strategies native --seeds 1 \
		--runs 1 --time 1 /bin/true
	[ "$status" = 1 ] || fail "$output"
	grep -q 'FAIL /bin/true native seed 1: status 125' <<<"$output"
	run "$ROOT/tests/bench/compare" "$BUILD" --runs x
	[ "$status" = 2 ]
}
