#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapletest's commands, options, errors and exit statuses; no campaign that
# gets as far as running a program.
#
# beside: guests

bats_require_minimum_version 1.5.0

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	mapletest=${BUILD:-$root/build}/mapletest
	dir=$(mktemp -d)
	export HOME=$dir
	unset XDG_STATE_HOME MAPLE_OPTIONS NO_COLOR
	export MAPLE_NO_DAEMON=1
	commands='run attach replay report coverage serve memo doctor log jobs'
}

teardown() {
	rm -rf "$dir"
}

# The options that help shows, of every command and of none.
helped() {
	for command in '' $commands; do
		"$mapletest" $command --help
	done | sed -n 's/^  --\([a-z-]*\).*/\1/p' | sort -u
}

# usage WORDS ARGS...: refused with status 2 and a line that has WORDS.
usage() {
	words=$1; shift
	run "$mapletest" "$@"
	echo "$output"
	[ "$status" = 2 ] && [[ "$output" == *"$words"* ]]
}

# failed WORDS ARGS...: the same with status 125.
failed() {
	words=$1; shift
	run "$mapletest" "$@"
	echo "$output"
	[ "$status" = 125 ] && [[ "$output" == *"$words"* ]]
}

@test "help and the manual page agree on the options" {
	helped > "$dir/help"
	sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$root/packaging/man/mapletest.1" |
		sed 's/\\-/-/g' | sed -n 's/^\.BI* "*--\([a-z-]*\).*/\1/p' |
		sort -u > "$dir/man"
	[ "$(wc -l < "$dir/help")" -ge 28 ]
	diff "$dir/help" "$dir/man"
}

@test "help and the manual page agree on the commands" {
	"$mapletest" help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p' > "$dir/help"
	sed -n '/^\.SH COMMANDS/,/^\.SH OPTIONS/p' "$root/packaging/man/mapletest.1" |
		grep -A1 '^\.TP' | sed -n 's/^\.B \([a-z]*\)$/\1/p' > "$dir/man"
	[ "$(wc -l < "$dir/help")" -ge 7 ]
	diff "$dir/help" "$dir/man"
}

@test "every option in the source is in help" {
	sed -n 's/^	{ "\([a-z-]*\)",.*/\1/p' "$root/cli/options.c" | sort -u > "$dir/source"
	helped > "$dir/help"
	[ -s "$dir/source" ]
	diff "$dir/source" "$dir/help"
}

@test "every command has help, on standard output, with status 0" {
	for command in $commands; do
		"$mapletest" $command --help > "$dir/out" 2> "$dir/err"
		grep -q "^usage: mapletest $command " "$dir/out"
		[ ! -s "$dir/err" ]
		"$mapletest" help $command | diff - "$dir/out"
	done
}

@test "help fits 80 columns" {
	for command in '' $commands; do
		[ "$("$mapletest" $command --help | wc -L)" -le 80 ]
	done
}

@test "the version, as text and as JSON" {
	run "$mapletest" --version
	[ "$status" = 0 ]
	[[ "$output" =~ ^mapletest\ [0-9]+\.[0-9]+ ]]
	"$mapletest" --version --format=json |
		jq -e '.schema == 1 and (.version | length > 0)'
}

@test "unknown words are refused, with a suggestion where one is near" {
	usage "did you mean run?" rnu ./prog
	usage "unknown command 'frobnicate'; see" frobnicate
	usage "did you mean --max-time?" run --max-tme 3 ./prog
	usage "unknown option '--frobnicate'; see" run --frobnicate ./prog
	usage "unknown option '-x'" run -x ./prog
	usage "unknown command 'frob'" help frob
	usage "the command comes first" --format text run
}

@test "no command, no program, no finding: usage" {
	usage "usage: mapletest"
	usage "which program?" run
	usage "which program?" run --seed 3 --
	usage "which finding?" replay
	usage "which finding?" replay a b
	usage "one finding at a time" report a b
	usage "memo wants list, forget, merge, deliver or export" memo
	usage "memo wants list, forget, merge, deliver or export" memo lst
	usage "forget what?" memo forget
	usage "forget what?" memo --all forget x
	usage "take no argument" memo list x
	usage "goes with 'memo forget'" memo --all list
	usage "goes with 'memo forget'" memo --all merge x
	usage "merge what?" memo merge
}

@test "bad values name the option and what it wants" {
	for bad in 0 -1 3x x 1e400 '' inf nan 0x; do
		usage "--max-time wants a time" run --max-time "$bad" ./prog
	done
	for bad in -1 3x x '' 99999999999 ' 3'; do
		usage "--max-runs wants a number" run --max-runs "$bad" ./prog
	done
	for bad in 0 -1 x 99999999999999999999999; do
		usage "--seed wants a number" run --seed "$bad" ./prog
	done
	for bad in 0 7 1- 3-1 1,,2 1, x ''; do
		usage "--idioms wants a list" run --idioms "$bad" ./prog
	done
	usage "--times wants a number from 1 on" replay --times 0 x
	usage "--order wants ranked or paper" run --order random ./prog
	usage "--strategy wants auto, maple, native," run --strategy dice ./prog
	for bad in 0 17 -1 x; do
		usage "--depth wants a number" run --depth "$bad" ./prog
	done
	for bad in gdb ebpf module agent+ebpf module+agent agent+ + ''; do
		usage "--backend wants auto, agent," run --backend "$bad" ./prog
	done
	usage "--format wants text, json, jsonl, junit, sarif, tap or github" \
		run --format xml ./prog
	for format in junit sarif tap github; do
		usage "not as $format" coverage --format $format
		usage "not as $format" memo --format $format list
		usage "not as $format" --version --format $format
	done
	usage "--exe wants something" run --exe '' ./prog
	usage "--timeout wants a value" run --timeout
}

@test "options may follow the words of a command that starts no program" {
	"$mapletest" memo forget --all --db "$dir/db"
	failed "there is no finding 'x'" report x --db "$dir/db"
	failed "there is no finding 'x'" replay x --times 3 --flip --db "$dir/db"
}

@test "an option of another command is refused" {
	usage "'mapletest report' has no option --seed" report --seed 3
	usage "'mapletest run' has no option --flip" run --flip ./prog
}

@test "a missing expected output is not taken for a missing program" {
	usage "--expect-output '$dir/none'" run --expect-output "$dir/none" ./prog
	usage "--expect-output '$dir/none'" replay --expect-output "$dir/none" x
}

@test "MAPLE_OPTIONS holds defaults, of which others' are skipped" {
	MAPLE_OPTIONS="--max-time never" usage "--max-time in MAPLE_OPTIONS" run ./prog
	MAPLE_OPTIONS="prog" usage "holds options only" run ./prog
	MAPLE_OPTIONS="--seed 3" failed "there is no memo database" memo list
	MAPLE_OPTIONS="--format github" failed "there is no memo database" memo list
	MAPLE_OPTIONS="--format github" usage "not as github" memo --format github list
	MAPLE_OPTIONS="--db '$dir/a b.db'" failed "'$dir/a b.db'" memo list
	MAPLE_OPTIONS="--db $dir/env.db" failed "'$dir/line.db'" memo --db "$dir/line.db" list
}

@test "with --format=json an error is an object, wherever the option stands" {
	run --separate-stderr "$mapletest" run --frobnicate --format json ./prog
	[ "$status" = 2 ]
	[[ "$stderr" == *frobnicate* ]]
	jq -e '.schema == 1 and .status == 2 and (.error | contains("frobnicate"))' <<< "$output"
	run --separate-stderr "$mapletest" report --format=jsonl
	[ "$status" = 125 ]
	jq -e '.status == 125' <<< "$output"
	run "$mapletest" report --format json --output "$dir/out" nothing
	[ "$status" = 125 ]
	jq -e '.status == 125' "$dir/out"
}

@test "a program's own options are its own" {
	run -127 "$mapletest" run "$dir/none" --format json --frobnicate
	echo "$output"
	[[ "$output" != *"unknown option"* && "$output" != {* ]]
}

@test "no database yet, nowhere to put one, no place for its directory" {
	failed "there is no memo database '$dir/.local/state/maple/memo.db' yet" report
	[ ! -e "$dir/.local" ]
	run env -u HOME "$mapletest" report
	[ "$status" = 125 ]
	[[ "$output" == *"--db FILE"* ]]
	touch "$dir/file"
	HOME=$dir/file failed "--db FILE" run true
}

@test "the default database is made for the user alone" {
	export XDG_STATE_HOME=$dir/state
	"$mapletest" memo --all forget
	[ "$(stat -c %a "$dir/state/maple")" = 700 ]
	[ -s "$dir/state/maple/memo.db" ]
	XDG_STATE_HOME=relative failed "'$dir/.local/state/maple/memo.db'" memo list
}

@test "an empty database: lists, exports, and knows nothing" {
	"$mapletest" memo --db "$dir/db" --all forget
	[ "$("$mapletest" memo --db "$dir/db" list)" = "no programs" ]
	[ "$("$mapletest" report --db "$dir/db")" = "no findings" ]
	"$mapletest" memo --db "$dir/db" --format json list | jq -e '.programs == []'
	"$mapletest" report --db "$dir/db" --format json | jq -e '.findings == []'
	"$mapletest" memo --db "$dir/db" export | jq -e '.runs == []'
	failed "knows no program yet" coverage --db "$dir/db"
	failed "knows no program 'x'" coverage --db "$dir/db" x
	failed "there is no finding 'abc'" report --db "$dir/db" abc
	failed "there is no finding 'abc'" memo --db "$dir/db" forget abc
	failed "there is no finding 'abc'" replay --db "$dir/db" abc
}

@test "a file that is no database is named and kept" {
	echo "this is no database at all, is it" > "$dir/db"
	failed "'$dir/db' is no memo database" run --db "$dir/db" true
	failed "'$dir/db' is no memo database" memo --db "$dir/db" --all forget
	failed "'$dir/db' is no memo database" report --db "$dir/db"
	[ "$(cat "$dir/db")" = "this is no database at all, is it" ]
}

@test "a database of a newer maple is named and kept" {
	"$mapletest" memo --db "$dir/db" --all forget
	sqlite3 "$dir/db" 'PRAGMA user_version = 99'
	failed "a newer one made it" run --db "$dir/db" true
	failed "a newer one made it" report --db "$dir/db"
	[ "$(sqlite3 "$dir/db" 'PRAGMA user_version')" = 99 ]
}

@test "a report that cannot be written is a failure" {
	"$mapletest" memo --db "$dir/db" --all forget
	failed "$dir/no/such" report --db "$dir/db" --output "$dir/no/such"
	run bash -c "'$mapletest' memo --db '$dir/db' export > /dev/full"
	[ "$status" = 125 ]
	run bash -c "'$mapletest' help > /dev/full"
	[ "$status" = 125 ]
}

@test "mapled and its commands name the option that they refuse" {
	local command build=${BUILD:-$root/build}

	for command in mapled 'mapled watch' 'mapled observer'; do
		run -2 "$build/"$command --frobnicate
		[ "$output" = "$command: '--frobnicate': there is no such option; see $command --help" ]
		run -2 "$build/"$command --socket
		[ "$output" = "$command: '--socket': a value is missing; see $command --help" ]
		run -2 "$build/"$command stray
		[ "$output" = "$command: 'stray': it takes options only; see $command --help" ]
		run -0 "$build/"$command --help
		[[ $output = *"usage: $command [options]"* ]]
	done
}
