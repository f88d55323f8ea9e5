#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What is written about the code: files that it names are there, and so are the
# sections and rules that the code cites.
#
# It only reads the tree.
# beside: guests

load common

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return
}

# The files of the tree that documents name: with a folder, or the last part.
named() {
	grep -hoE '`[A-Za-z0-9_./{},*-]+\.(c|h|S|bats|bpf\.c)`' \
		ARCHITECTURE.md CONTRIBUTING.md docs/*.md |
		tr -d '`' | grep -v NAME | sort -u
}

@test "files that the documents name are there" {
	local name each missing=

	git ls-files 2>/dev/null >"$BATS_TEST_TMPDIR/files" ||
		find . -type f | sed 's,^\./,,' >"$BATS_TEST_TMPDIR/files"
	[ "$(named | wc -l)" -gt 100 ]
	for name in $(named); do
		# Letters, commas and braces are all that there can be.
		for each in $(set -f; eval "echo $name"); do
			each=${each//./\\.}
			grep -qE "(^|/)${each//\*/[^/]*}\$" \
				"$BATS_TEST_TMPDIR/files" ||
				missing="$missing $each"
		done
	done
	[ -z "$missing" ] || {
		echo "not there:$missing"
		return 1
	}
}

@test "documents that documents link to are there" {
	local link from missing=

	for from in *.md docs/*.md; do
		for link in $(grep -oE '\]\([^)#:]+\)' "$from" | tr -d '])('); do
			[ -e "$(dirname "$from")/$link" ] ||
				missing="$missing $from:$link"
		done
	done
	[ -z "$missing" ] || {
		echo "not there:$missing"
		return 1
	}
}

@test "sections and rules that the code cites are there" {
	local cited section rule number missing=

	# Comments break lines: a citation is looked for in one line of words.
	cited=$(find lib kmod bpf cli daemon tests -name '*.[ch]' -exec cat {} + |
		tr -s '\n\t *' ' ' |
		grep -oE 'algorithms\.md,? [0-9]+(, (rule )?[0-9]+)?|rules? [0-9]+ of algorithms\.md' |
		sort -u)
	[ "$(wc -l <<<"$cited")" -gt 12 ]
	while read -r line; do
		case $line in
		rule*) section=7 rule=$(grep -oE '[0-9]+' <<<"$line") ;;
		*)
			mapfile -t number < <(grep -oE '[0-9]+' <<<"$line")
			section=${number[0]} rule=${number[1]:-}
			;;
		esac
		awk -v section="$section" -v rule="${rule:-0}" '
			/^## / { here = $2 == section "."; found = found || here }
			here && $1 == rule "." { at = 1 }
			END { exit !(found && (at || !rule)) }
		' docs/algorithms.md || missing="$missing|$line"
	done <<<"$cited"
	[ -z "$missing" ] || {
		echo "not there: $missing"
		return 1
	}
}

@test "the glossary has each word once, in order" {
	grep -oE '^\| [^|]+ \|' docs/glossary.md | sed 1,2d | tr -d '|' |
		sed 's/^ *//; s/,.*//; s/ *$//' >"$BATS_TEST_TMPDIR/words"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/words")" -gt 50 ]
	sort -fu "$BATS_TEST_TMPDIR/words" | diff "$BATS_TEST_TMPDIR/words" -
}

# Rows of docs/constants.md: "| `FILE` NAME | VALUE | ..."
@test "the constants that the documents tell are those of the source" {
	local file name value wrong= rows=$BATS_TEST_TMPDIR/rows

	sed -nE 's/^\| `([^`]+)` ([A-Z_0-9]+) \| ([^|]+) \|.*/\1 \2 \3/p' \
		docs/constants.md >"$rows"
	[ "$(wc -l <"$rows")" -gt 100 ]
	[ "$(wc -l <"$rows")" = "$(grep -c '^| `' docs/constants.md)" ]
	while read -r file name value; do
		sed -nE "s/^#define $name[ \t]+\(?([^/)]*[^/) \t])\)?([ \t].*)?\$/\1/p
			s/.*\[$name\] = \{ ?(-?[0-9.]+).*/\1/p" "$file" |
			grep -qxF -e "$value" || wrong="$wrong|$file $name $value"
	done <"$rows"
	[ -z "$wrong" ] || {
		echo "not so in the source: $wrong"
		return 1
	}
}

@test "the constants that the benchmark varies are those that the documents tell" {
	diff <(awk '$1 ~ "/" { print $1, $2 }' tests/bench/constants.list | sort) \
		<(sed -nE 's/^\| `([^`]+)` ([A-Z_0-9]+) (\|[^|]+){5}\|$/\1 \2/p' \
			docs/constants.md | sort)
}
