#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the tool knows and what is written about it agree: commands, options,
# forms of report, their values; in help, manual page, completion, examples.
#
# beside: guests

bats_require_minimum_version 1.5.0

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	mapletest=${BUILD:-$root/build}/mapletest
	man=$root/packaging/man/mapletest.1
	dir=$BATS_TEST_TMPDIR
	export HOME=$dir
	unset XDG_STATE_HOME MAPLE_OPTIONS
	export MAPLE_NO_DAEMON=1
	commands=$("$mapletest" help |
		sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
	[ "$(wc -w <<<"$commands")" -ge 7 ]
}

# The options in the help of a command.
options() {
	"$mapletest" $1 --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort
}

# What an option takes, as its own error message lists it.
values() { # COMMAND OPTION
	"$mapletest" $1 $2 '?' ./prog 2>&1 |
		sed -n "s/^mapletest: $2 wants //p" |
		sed "s/[;].*//; s/, not '.*//; s/,//g; s/ or / /g" |
		tr ' ' '\n' | sort
}

bash_offers() {
	bash "$root/tests/e2e/completion.bash" \
		"$root/packaging/completion/mapletest.bash" "$mapletest" "$@" | sort
}

zsh_offers() {
	zsh -f "$root/tests/e2e/completion.zsh" \
		"$root/packaging/completion/_mapletest" "$mapletest" "$@"
}

@test "the forms of report: source, help, manual, version, error message" {
	grep -ho '\.name = "[a-z]*"' "$root"/lib/report/*.c "$root"/lib/report/*/*.c |
		sed 's/.*"\(.*\)"/\1/' | sort > "$dir/source"
	[ "$(wc -l < "$dir/source")" -ge 7 ]
	values run --format | diff "$dir/source" -
	"$mapletest" --version --format json | jq -r '.formats[]' | sort |
		diff "$dir/source" -
	"$mapletest" run --help | sed -n '/^  --format/s/.*FORMAT *//p' |
		sed 's/,//g; s/ or / /' | tr ' ' '\n' | sort |
		diff "$dir/source" -
	sed -n '/^\.SH REPORT FORMATS/,/^\.PP/p' "$man" | grep -A1 '^\.TP' |
		sed -n 's/^\.BR* \([a-z].*\)/\1/p' | sed 's/[",]//g' |
		tr -s ' ' '\n' | sort | diff "$dir/source" -
}

@test "bash offers the commands, and each command's options" {
	bash_offers '' | diff <(sort <<<"$commands") -
	bash_offers help '' | diff <(sort <<<"$commands") -
	bash_offers -- | diff <(options '') -
	for command in $commands; do
		[ "$command" != help ] || continue
		[ "$(options $command | wc -l)" -ge 4 ]
		bash_offers $command -- | diff <(options $command) -
		bash_offers $command --quiet --q | grep -qx -- --quiet
	done
}

@test "bash offers what an option takes, and no more" {
	for option in --format --backend --order --strategy; do
		bash_offers run $option '' | diff <(values run $option) -
		bash_offers run $option = '' | diff <(values run $option) -
	done
	[ "$(bash_offers run --format s)" = sarif ]
	touch "$dir/a file"
	[ "$(cd "$dir" && bash_offers run --db 'a f')" = "a file" ]
	[ -z "$(bash_offers run --seed '')" ]
	[ "$(bash_offers memo '' | tr '\n' ' ')" = "export forget list merge " ]
	bash_offers run tru | grep -qx true
	bash_offers run -- tru | grep -qx true
	[ -z "$(bash_offers run -- --fo)" ]
}

@test "zsh is told the commands, each command's options, and their values" {
	for command in $commands; do
		[ "$command" != help ] || continue
		zsh_offers $command '' | sed -n 's/^\*\{0,1\}\(--[a-z-]*\).*/\1/p' |
			sort | diff <(options $command) -
	done
	zsh_offers '' | grep -qx '1:command:_mapletest_commands'
	zsh_offers run '' > "$dir/run"
	for option in --format --backend --order --strategy; do
		sed -n "s/^\*$option=.*:(\(.*\))\$/\1/p" "$dir/run" |
			tr -s ' ' '\n' | sort | diff <(values run $option) -
	done
	grep -q '^\*--db=.*:FILE:_files$' "$dir/run"
	zsh_offers report '' | grep -qx '1:finding:_mapletest_findings'
}

@test "the types of suppressions: source, manual, header, error message" {
	sed -n '/names\[TYPES\]/,/^};/p' "$root/lib/suppressions.c" |
		grep -o '"[a-z_]*"' | tr -d '"' | sort > "$dir/source"
	[ "$(wc -l < "$dir/source")" = 8 ]
	sed -n '/^\.SH SUPPRESSIONS/,/^\.SH JSON/p' "$man" | grep -A1 '^\.TP' |
		sed -n 's/^\.B \([a-z_]*\)$/\1/p' | sort | diff "$dir/source" -
	echo 'sorrow:x' > "$dir/s"
	run "$mapletest" run --suppressions "$dir/s" ./prog
	[ "$status" = 2 ]
	sed 's/.*there are //; s/,//g; s/ and / /' <<<"$output" | tr ' ' '\n' |
		sort | diff "$dir/source" -
	for type in $(cat "$dir/source"); do
		grep -q "^ \* $type[	 ]" "$root/lib/include/maple/suppressions.h"
	done
}

@test "the schema has the version that reports have, and is named after it" {
	version=$("$mapletest" --version --format json | jq .schema)
	schema=$root/packaging/schema/maple-report-$version.schema.json
	[ "$(jq '.definitions.campaign.properties.schema.const' "$schema")" = "$version" ]
	grep -q "maple\\\\-report\\\\-$version.schema.json" "$man"
	jq -r '.definitions.finding.properties.kind.enum[]' "$schema" | sort > "$dir/kinds"
	sed -n '/failure_name/,/^}/s/.*= "\([a-z]*\)",/\1/p' "$root/lib/finding.c" |
		grep -v none | sort | diff "$dir/kinds" -
}

@test "the examples for CI are YAML, and what they call exists" {
	for file in github gitlab; do
		/usr/bin/python3 - "$root/packaging/ci/$file.yml" > "$dir/$file" <<-'END'
			import sys, yaml
			doc = yaml.safe_load(open(sys.argv[1]))
			if "jobs" in doc:
			    lines = [s["run"] for s in doc["jobs"]["maple"]["steps"] if "run" in s]
			else:
			    job = doc["maple"]
			    lines = job["before_script"] + job["script"] + job["after_script"]
			print("\n".join(lines))
		END
		grep '^mapletest ' "$dir/$file" > "$dir/calls"
		[ "$(wc -l < "$dir/calls")" -ge 3 ]
		while read -r tool command rest; do
			echo "$file: $command $rest"
			eval "\"$mapletest\" $command --help $rest" > "$dir/out"
			grep -q "^usage: mapletest $command" "$dir/out"
		done < "$dir/calls"
		grep -q 'make -C /opt/maple install PREFIX=/usr' "$dir/$file"
	done
	make -C "$root" -n deps install PREFIX=/usr DESTDIR="$dir" > /dev/null
}

@test "mapled: its options and settings are those of its manual pages" {
	mapled=${BUILD:-$root/build}/mapled
	pages=$root/packaging/man
	"$mapled" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort > "$dir/help"
	[ "$(wc -l < "$dir/help")" -ge 7 ]
	sed -n '/^\.SH OPTIONS/,/^\.SH WHO/p' "$pages/mapled.8" | tr -d '\\' |
		sed -n 's/^\.BI* "*\(--[a-z-]*\).*/\1/p' | sort |
		diff "$dir/help" -
	{
		grep -o '{ "[a-z-]*", take_' "$root/daemon/settings.c"
		grep -oE '\{ "[a-z-]*", (COUNT|BYTES|SECONDS)' \
			"$root/daemon/limits/limits.c"
	} | sed 's/{ "\(.*\)",.*/\1/' | sort > "$dir/settings"
	[ "$(wc -l < "$dir/settings")" -ge 5 ]
	sed -n '/^\.SH SETTINGS/,/^\.SH EXAMPLE/p' "$pages/mapled.conf.5" |
		tr -d '\\' | grep -A1 '^\.TP' | sed -n 's/^\.B \([a-z-]*\)$/\1/p' |
		sort | diff "$dir/settings" -
	while read -r name; do
		[ "$name" = socket ] ||
			grep -q "^# $name = " "$root/packaging/systemd/mapled.conf"
	done < "$dir/settings"
}

@test "mapled describes every message of its protocol" {
	"${BUILD:-$root/build}/mapled" --protocol > "$dir/protocol"
	sed -n 's/^	M(\([A-Z_]*\), [a-z_]*,.*/\1/p' "$root/lib/include/maple/wire.h" |
		sort > "$dir/messages"
	[ "$(wc -l < "$dir/messages")" -ge 40 ]
	sed -n 's/^[0-9]* \([A-Z_]*\) (.*/\1/p' "$dir/protocol" | sort |
		diff "$dir/messages" -
}
