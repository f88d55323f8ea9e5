#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Programs that an agent could disturb: sanitizers' builds, engines with code
# of their own, little address space. Each goes as natively.

load common

SANITIZED=$BATS_TEST_DIRNAME/sanitized
CLEAN=$ROOT/tests/targets/clean

# Builds $BATS_TEST_TMPDIR/NAME.
sanitized() { # COMPILER SANITIZER SOURCE OPTION...
	program=$BATS_TEST_TMPDIR/$(basename "$3" .c)
	"$1" -std=gnu11 -O0 -g -pthread -fsanitize="$2" -o "$program" "${@:3}" ||
		fail "$1 -fsanitize=$2 does not build $3"
}

# A few runs of each kind, none of which fails, and all of which count.
undisturbed() {
	campaign --seed 1 --max-runs "${runs:-8}" --max-time 30s -- "$@"
	ended_with 0 125
	holds '.findings | length == 0'
	holds '.delivery.undelivered_runs == 0 and
		.runs.profile + .runs.controlled >= 1'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
}

# Each sanitizer by one compiler, unless MAPLE_FULL=1.
correct_by() { # COMPILER SANITIZER...
	local what

	for what in "${@:2}"; do
		sanitized "$1" $what "$CLEAN/mutex_counter.c"
		undisturbed "$program"
		holds '.runs.enforced >= 1'
	done
}

@test "a correct program is clean under gcc's sanitizers" {
	correct_by gcc thread leak ${MAPLE_FULL:+address undefined}
}

@test "a correct program is clean under clang's sanitizers" {
	correct_by clang address undefined ${MAPLE_FULL:+thread leak}
}

@test "a sanitizer's runtime as a library of clang's" {
	local folder

	folder=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so)")
	sanitized clang address "$CLEAN/mutex_counter.c" -shared-libsan \
		-Wl,-rpath,"$folder"
	undisturbed "$program"
}

@test "a sanitizer's build that another program starts" {
	local what

	for what in address thread; do
		sanitized gcc $what "$CLEAN/mutex_counter.c"
		campaign --seed 1 --max-runs 8 --exe mutex_counter -- \
			/bin/sh -c "$program; exit \$?"
		ended_with 0
		holds '.findings == [] and .runs.enforced >= 1'
		holds '.delivery.undelivered_runs == 0'
	done
}

# The report is the finding, with its text, also where it is stored.
reported() { # TITLE
	ended_with 66
	holds '.findings | length == 1'
	holds ".findings[0].kind == \"sanitizer\" and
		.findings[0].title == \"$1\""
	holds '.findings[0].report | contains("SUMMARY: ")'
	holds '.findings[0].confirm.forced | .[0] >= 4'
	mapletest report --db "$db" "$(jq -r '.findings[0].id' "$json")"
	ended_with 0
	grep -q 'What the sanitizer reported' <<<"$output" || fail "$output"
	grep -qE "  \| .*SUMMARY: ${1%%:*}" <<<"$output" || fail "$output"
}

# Each by one compiler, unless MAPLE_FULL=1: what the runtimes of both print is in
# tests/unit/test_sanitizer.c, and that their builds run is above.
@test "a race that only ThreadSanitizer tells of is found and told" {
	local by

	for by in gcc ${MAPLE_FULL:+clang}; do
		sanitized $by thread "$SANITIZED/race.c"
		campaign --seed 1 --max-runs 40 -- "$program"
		reported 'ThreadSanitizer: data race in read_ready / write_ready'
	done
}

@test "a use after free is told with AddressSanitizer's text" {
	local by

	for by in ${MAPLE_FULL:+gcc} clang; do
		sanitized $by address "$SANITIZED/freed.c"
		campaign --seed 1 --max-runs 40 -- "$program"
		reported 'AddressSanitizer: heap-use-after-free in use_queue / close_queue'
	done
}

@test "node and its embedded builtins" {
	runs=3 undisturbed "$(command -v node)" -e 'process.exit(0)'
}

@test "luajit writes what it writes natively" {
	local script='local s = 0 for i = 1, 9999 do s = s + i end print(s)'

	campaign --seed 1 --max-runs 3 -- "$(command -v luajit)" -e "$script"
	ended_with 0 125
	holds '.findings | length == 0'
	[ "$output" = "$(luajit -e "$script")" ] || fail "$output"
}

# A program with 45,000 sites, and one with few where no more may be had.
@test "200 MB of address space are enough" {
	local native most

	native=$(sqlite3 :memory: '.system grep VmPeak /proc/$PPID/status' |
		grep -o '[0-9]*')
	cat >"$BATS_TEST_TMPDIR/keep" <<-'EOF'
		#!/bin/sh
		grep -o '[0-9]*' "$MAPLE_STDOUT" >>"$PEAKS"
	EOF
	chmod +x "$BATS_TEST_TMPDIR/keep"
	export PEAKS=$BATS_TEST_TMPDIR/peaks
	campaign --seed 1 --max-runs 3 --oracle "$BATS_TEST_TMPDIR/keep" -- \
		"$(command -v sqlite3)" :memory: \
		'.system grep VmPeak /proc/$PPID/status'
	ended_with 0 125
	most=$(sort -n "$PEAKS" | tail -n 1)
	[ "$most" -gt "$native" ] || fail "nothing was measured: $most"
	[ "$((most - native))" -lt 65536 ] || fail "$most instead of $native"
	campaign --seed 1 --max-runs 8 --exe mutex_counter -- /bin/sh -c \
		"ulimit -v 200000; exec $TARGETS/clean/mutex_counter"
	ended_with 0
	holds '.delivery.undelivered_runs == 0'
}

@test "a filter of system calls kills nothing: not delivered, and said why" {
	local by

	for by in prctl syscall; do
		[ "$("$E2E/filtered" $by)" = 40 ] || fail "not by itself"
		campaign --seed 1 --max-runs 4 -- "$E2E/filtered" $by
		ended_with 125
		[ ! -s "$json" ] || holds '(.findings // []) | length == 0'
		grep -q 'seccomp' <<<"$stderr$(cat "$json")" || fail "$stderr"
	done
}
