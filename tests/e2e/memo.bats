#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the memo is good for: less to do with each further input that has a name,
# with another program that shares a library, after a rebuild. And what it must
# not be taken for: what another argument has shown. How much time it saves is
# measured by tests/bench/inputs.

load common

# Tests input $1, the characters $2, until no candidate is left.
input() { # KEY CHARACTERS [OPTION...]
	local key=$1 characters=$2

	shift 2
	limit=120 campaign --quiet --seed 1 --max-runs 700 --input "$key" \
		"$@" -- "$E2E/eight_inputs" "$characters"
	ended_with 0
	holds '.verdict == "clean" and .candidates_left == 0'
}

@test "with the memo of seven inputs the eighth needs 15 % of the runs" {
	local key=0 characters with without

	for characters in a1B2c A1b23 ab1C2d 12aB3c cB2A1 1a2Bc3 bA1c2D; do
		key=$((key + 1))
		input $key $characters
	done
	input 8 c2B3a1
	with=$(jq '.runs.enforced - .again' "$json")
	db=$BATS_TEST_TMPDIR/other.db
	input 8 c2B3a1
	without=$(jq '.runs.enforced - .again' "$json")
	echo "tries of what was not exposed: $with with, $without without"
	[ "$without" -ge 30 ]
	[ $((with * 100)) -le $((without * 15)) ]
}

# Runs until the finding, and candidates left then, of by_argument $1.
argument() { # ARGUMENT [OPTION...]
	limit=120 campaign --quiet --seed 1 "${@:2}" -- "$E2E/by_argument" "$1"
	ended_with 66
	jq -c '[.to_first_finding.runs, .candidates_left > 0]' "$json"
}

@test "what was tried with one argument says nothing about another" {
	local strategy with without
	local empty=$BATS_TEST_TMPDIR/empty.db

	for strategy in maple pcr; do
		limit=120 campaign --quiet --seed 1 --max-runs 100 \
			--strategy $strategy -- "$E2E/by_argument" a
		ended_with 0
		holds '.verdict == "clean" and .candidates_left == 0'
		with=$(argument b --strategy $strategy)
		without=$(db=$empty argument b --strategy $strategy)
		echo "$strategy: $with with what a has shown, $without without"
		[ "$with" = "$without" ]
		[[ $with = *true* ]]
		rm "$db" "$empty"
	done
}

@test "a finding is one of its arguments, and replayed with them" {
	local argument id

	for argument in b c b; do
		campaign --seed 1 --strategy maple -- "$E2E/by_argument" $argument
		ended_with 66
		holds '.findings | length == 1 and
			.[0].argv[-1] == "'$argument'" and .[0].input == null'
	done
	holds '.findings[0] | .known and .times_seen == 2'
	[ "$("$BUILD/mapletest" report --db "$db" | grep -cE '^[0-9a-f]{12} ')" = 2 ]
	"$BUILD/mapletest" report --db "$db" >"$BATS_TEST_TMPDIR/list"
	"$BUILD/mapletest" memo list --db "$db" | grep "by_argument b$"
	"$BUILD/mapletest" coverage --db "$db" 1 | grep "by_argument b$"
	for argument in b c; do
		id=$(sed -n "s/ .*by_argument $argument .*//p" \
			"$BATS_TEST_TMPDIR/list")
		[ "$id" ]
		mapletest replay --db "$db" --times 3 "$id"
		ended_with 0
		"$BUILD/mapletest" report --db "$db" "$id" |
			grep "^Command: .*by_argument $argument$"
	done
	mapletest memo list --db "$db" --format json --output "$json"
	ended_with 0
	holds '[.programs[] | .input == null and
		(.command | startswith("by_argument "))] | all'
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json"
}

# Whose machine the memo says it was.
@test "a finding made elsewhere is replayed, or says where it was made" {
	local id where program=$BATS_TEST_TMPDIR/by_argument

	cp "$E2E/by_argument" "$program"
	campaign --seed 1 --strategy maple -- "$program" b
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	# Here there is one machine: nothing is said of it.
	mapletest report --db "$db"
	ended_with 0
	[[ $output != *machine* ]]
	mapletest replay --db "$db" "$id"
	ended_with 0
	[[ $stderr != *elsewhere* ]]
	sqlite3 "$db" "UPDATE campaigns SET machine = 'far', cpu = 'Z80',
			kernel = '2.4';
		UPDATE findings SET machine = 'far', cpu = 'Z80',
			kernel = '2.4';
		INSERT INTO campaigns(argv, seed, began, machine)
			VALUES('[]', 1, 5, 'near')"
	where="on far (Z80; Linux 2.4), backend agent"
	mapletest replay --db "$db" "$id"
	ended_with 0
	[[ $stderr = *"$id was found elsewhere, $where; here are another CPU"* ]]
	mapletest report --db "$db" "$id"
	ended_with 0
	[[ $output = *"First $where."* ]]
	mapletest report --db "$db"
	ended_with 0
	grep -qE '^far +1 +[1-9][0-9]* +[1-9][0-9]* +1  20' <<<"$output"
	grep -qE '^near +1 +0 +0 +0  1970' <<<"$output"
	grep -qF "    Linux 2.4, backend agent" <<<"$output"
	mapletest report --db "$db" --html "$BATS_TEST_TMPDIR/page.html"
	ended_with 0
	xmllint --noout "$BATS_TEST_TMPDIR/page.html"
	grep -qF 'first <b>'"$where"'</b>' "$BATS_TEST_TMPDIR/page.html"
	mapletest report --db "$db" --format json --output "$json"
	ended_with 0
	"$ROOT/tests/validate" --strict \
		"$ROOT/packaging/schema/maple-report-1.schema.json" "$json"
	# What is new is counted in the campaign, run by run: it is what is known.
	holds '[.machines[].news] | add == '"$(sqlite3 "$db" \
		"SELECT count(*) FROM memo WHERE (exposed OR observed)
			AND NOT broke")"
	holds '.hours | ([.[].news] | add) > 0 and ([.[].findings] | add) == 1'
	# Another backend than any here; then it does not fail; then it is gone.
	sqlite3 "$db" "UPDATE findings SET json =
		replace(json, '\"backend\":\"agent\"', '\"backend\":\"psychic\"')"
	mapletest replay --db "$db" "$id"
	ended_with 125
	[[ $stderr = *"no such backend: psychic; it was found elsewhere, $where"* ]]
	sqlite3 "$db" "UPDATE findings SET json =
		replace(replace(json, 'psychic', 'agent'), '\"b\"]', '\"a\"]')"
	mapletest replay --db "$db" "$id"
	ended_with 1
	[[ $stderr = *"it does not fail here"* ]]
	rm "$program"
	run -127 --separate-stderr "$BUILD/mapletest" replay --db "$db" "$id"
	[[ $stderr = *"; it was found elsewhere, $where"* ]]
}

@test "the scheduler's success is shown, and each failure has its reason" {
	input 1 a1B2c
	mapletest coverage --db "$db"
	ended_with 0
	grep -qE '^ +class +tried +exposed +rate +missed' <<<"$output"
	grep -qE '[0-9]+ exposures? claimed, [0-9]+ refused' <<<"$output"
	mapletest coverage --format json --output "$json" --db "$db"
	ended_with 0
	holds '[.scheduler.attempted[]] | add > 0'
	holds '[.scheduler.exposed[]] | add > 0'
	holds '.scheduler | ([.attempted[]] | add) ==
		([.exposed[], .failures[][]] | add)'
	holds '[.scheduler.failures["not known"][]] | add == 0'
	mapletest memo export --output "$json" --db "$db"
	ended_with 0
	holds '[.runs[] | select(.kind == "enforced") | .reason] |
		length > 0 and all(. != null)'
	holds '[.runs[] | select(.kind != "enforced") | .reason] | all(. == null)'
	holds '[.runs[] | select(.reason == "exposed")] | all(.exposed == 1)'
	holds '[.sites[] | .fingerprint] | all(. != null)'
}

@test "a merged memo knows what either knew, and merging again adds nothing" {
	local theirs=$BATS_TEST_TMPDIR/theirs.db there here

	db=$theirs input 1 a1B2c
	there=$(jq '.runs.enforced - .again' "$json")
	campaign --quiet --seed 1 --max-runs 4 --input 2 -- \
		"$E2E/eight_inputs" A1b23
	ended_with 0
	mapletest memo merge "$theirs" --db "$db"
	ended_with 0
	"$BUILD/mapletest" memo export --db "$db" >"$BATS_TEST_TMPDIR/once"
	mapletest memo merge "$theirs" --db "$db"
	ended_with 0
	"$BUILD/mapletest" memo export --db "$db" >"$BATS_TEST_TMPDIR/twice"
	cmp "$BATS_TEST_TMPDIR/once" "$BATS_TEST_TMPDIR/twice"
	[ "$("$BUILD/mapletest" memo list --db "$db" | grep -c input)" = 2 ]
	# What was tested out elsewhere is not tried here; what only another
	# schedule of this campaign shows is new.
	cp "$db" "$BATS_TEST_TMPDIR/merged.db"
	input 1 a1B2c
	here=$(sqlite3 "$db" "ATTACH '$BATS_TEST_TMPDIR/merged.db' AS old;
		SELECT sum(now.attempts - was.attempts) FROM memo AS now
		JOIN old.memo AS was USING (program, goal)")
	echo "tries of what was not exposed: $there there, $here of the same here"
	[ "$there" -ge 30 ]
	[ "$here" -le 2 ]
	echo nonsense >"$theirs"
	mapletest memo merge "$theirs" --db "$db"
	ended_with 125
	says "is no memo database"
}

@test "a rebuilt program starts with what its unchanged functions had" {
	local dir=$BATS_TEST_TMPDIR before after

	cp "$ROOT/tests/e2e/eight_inputs.c" "$dir/p.c"
	cc -O0 -g -pthread -o "$dir/p" "$dir/p.c"
	campaign --seed 1 --max-runs 300 -- "$dir/p" a1B2c
	ended_with 0
	before=$(jq '.runs.enforced - .again' "$json")
	sed -i '1i /* new */\nint more(int n) { return n * 3; }' "$dir/p.c"
	cc -O0 -g -pthread -o "$dir/p" "$dir/p.c"
	campaign --seed 1 --max-runs 300 -- "$dir/p" a1B2c
	ended_with 0
	says "[0-9]+ iRoots are known from an older build of $dir/p"
	after=$(jq '.runs.enforced - .again' "$json")
	echo "tries of what was not exposed: $before before, $after after"
	[ "$before" -ge 30 ]
	[ $((after * 100)) -le $((before * 30)) ]
	# Asked to forget, it starts anew, and the older build is no help.
	campaign --seed 1 --max-runs 300 --fresh -- "$dir/p" a1B2c
	ended_with 0
	[ "$(jq '.runs.enforced - .again' "$json")" -gt "$after" ]
}

# The target $2 as file $1, changed by the sed script $3.
rebuild() { # PROGRAM TARGET SCRIPT
	sed "$3" "$ROOT/tests/targets/$2.c" >"$1.c"
	cc -std=gnu11 -O0 -g -pthread -o "$1" "$1.c"
}

@test "a finding is replayed over a rebuild, by functions that are the same" {
	local dir=$BATS_TEST_TMPDIR id

	rebuild "$dir/p" bank_account ""
	campaign --quiet --seed 1 --max-time 60s -- "$dir/p"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	rebuild "$dir/p" bank_account '1i /* new */\nint more(int n) { return n * 3; }
		s/;$/; \/* a comment *\//'
	mapletest replay --times 3 --db "$db" "$id"
	ended_with 0
	says "rebuilt since: [0-9]+ places of the order were found again"
	rebuild "$dir/p" bank_account \
		'/deposit(void/,/^}/s/^{/{ volatile int new = 1; (void)new;/'
	mapletest replay --times 3 --db "$db" "$id"
	ended_with 125
	says "$dir/p was rebuilt since, and deposit is not what it was"
}

@test "a schedule is replayed over a rebuild, its places found again" {
	local dir=$BATS_TEST_TMPDIR id

	rebuild "$dir/p" bank_account ""
	campaign --quiet --seed 1 --strategy pos --max-time 60s -- "$dir/p"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	holds '.findings[0].plan | fromjson |
		.policy.switches[0].site != null and .sites[0].print != null'
	rebuild "$dir/p" bank_account '1i /* new */\nint more(int n) { return n * 3; }
		s/;$/; \/* a comment *\//'
	mapletest replay --times 20 --db "$db" "$id"
	ended_with 0
	says "rebuilt since: [0-9]+ places of the order were found again"
	says "20/20"
	rebuild "$dir/p" bank_account \
		'/deposit(void/,/^}/s/^{/{ volatile int new = 1; (void)new;/'
	mapletest replay --times 3 --db "$db" "$id"
	ended_with 125
	says "$dir/p was rebuilt since, and deposit is not what it was"
}
