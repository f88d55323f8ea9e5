#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The benchmarks work: their tables have the form that others read, and what
# fails is named, not averaged. Nothing is said about times.

load common

# Others may have the CPU for a while.
bench() {
	run --separate-stderr timeout -s KILL 400 "$ROOT/tests/bench/$1" \
		"$BUILD" "${@:2}"
	[ "$status" != 137 ] || fail "$1 was killed"
}

# No more runs than so many, unless all is done that can be.
most() { # RUNS
	[ -n "${MAPLE_FULL:-}" ] || echo "--runs $1"
}

programs() {
	bench programs --rounds 2 --candidates 2 --no-peers \
		--out "$BATS_TEST_TMPDIR" "$@"
}

# As often as that in the last benchmark's data.
times() { # N PATTERN
	[ "$(grep -cP "$2" "$BATS_TEST_TMPDIR/programs.tsv")" = "$1" ] ||
		fail "not $1 times $2: $(cat "$BATS_TEST_TMPDIR/programs.tsv")"
}

@test "a program's slowdown: its line, the means, the figures" {
	programs --command small "$BUILD/tests/bench/kernels/radix 20"
	ended_with 0 1 # a limit may be missed
	# native; one CPU; profile, forked, executed; all; enforced, forked
	grep -qP '^small +\d+\.\d\d s( +\d+(\.\d+)?){7}( +-){3}$' \
		<<<"$output" || fail "$output"
	grep -qP '^real, mean( +\d+(\.\d+)?){7} *$' <<<"$output" ||
		fail "$output"
	grep -qP '^figure programs\.profile \d+\.\d+ times \w' <<<"$output"
	! grep -q '^failed' <<<"$output" || fail "$output"
	times 2 '^time\tsmall\tnative\t[\d.]+\t-\t-\t0\t0$'
	times 2 '^time\tsmall\tprofile\t[\d.]+\t[\d.]+\t[\d.]+\t\d+\t\d+$'
	times 2 '^time\tsmall\texecuted\t'
	times 2 '^time\tsmall\tall\t'
	times 2 '^time\tsmall\tenforced\t'
	# From main() to the end is a part of the whole, and it is known.
	awk -F'\t' '$3 ~ /profile|executed|all|enforced/ {
		n++; bad += $5 == "-" || $5 <= 0 || $5 > $4 }
		END { exit !(n == 8 && !bad) }' \
		"$BATS_TEST_TMPDIR/programs.tsv"
}

@test "what binaries tell before they run: a line for each, and figures" {
	MAPLE_BENCH_QUICK=1 bench static
	ended_with 0 1 # a limit may be missed
	grep -qP '^bank_account +\d+\.\d +\d+\.\d +\d+ +3 ' <<<"$output" ||
		fail "$output"
	grep -qP '^figure static\.small \d+\.\d ms \w' <<<"$output"
	grep -qP '^figure static\.kept \d+\.\d ms \w' <<<"$output"
}

# Its campaigns want a CPU of their own: what they make of it is paper.bats's affair.
@test "how often a found order fails: figures, and what is missed is named" {
	table() {
		run awk -f "$ROOT/tests/bench/manifest.awk" \
			<(printf '%b\n' "$@")
	}

	table 'paper\tlu\t0\t2\t100\t0\t4\t95\t0'
	ended_with 0
	grep -q '^figure manifest\.paper 100\.0 % ' <<<"$output" || fail "$output"
	grep -q '^figure manifest\.paper_asleep 95\.0 % ' <<<"$output" ||
		fail "$output"
	table 'paper\tlu\t0\t11\t94\t1\t?\t?\t?' \
		'targets\tgetter\t0\t2\t80\t0\t-\t-\t-'
	ended_with 1
	[ "$(grep -c '^missed: ' <<<"$output")" = 6 ] || fail "$output"
	grep -q '^missed: lu without: no end' <<<"$output" || fail "$output"
	grep -q '^missed: getter without: not found' <<<"$output" ||
		fail "$output"
}

@test "what meetings and runs without priorities cost: a line, and figures" {
	MAPLE_BENCH_QUICK=1 bench overhead --out "$BATS_TEST_TMPDIR"
	ended_with 0 1 # a limit may be missed
	! grep -q '^failed' <<<"$output" || fail "$output"
	grep -qP '^radix +\d+\.\d+ s +\d+\.\d\d +\d+\.\d\d +1\.78 *$' \
		<<<"$output" || fail "$output"
	grep -qP '^figure overhead\.radix_meet \d+\.\d+ times \w' <<<"$output"
	grep -qP '^figure overhead\.radix_asleep \d+\.\d+ times \w' <<<"$output"
}

@test "what half and double of a constant do: a line for each" {
	MAPLE_BENCH_QUICK=1 bench constants --out "$BATS_TEST_TMPDIR/out"
	ended_with 0
	grep -qxE 'rank again: [0-9]\.[0-9]{2} [+-][0-9]' <<<"$output" ||
		fail "$output"
	grep -qxE 'lib/strategy/rank/ranking.c VARIABLES 4( \| [28]: [0-9]\.[0-9]{2} [+-][0-9]){2}' \
		<<<"$output"
}

@test "the ablations take away what is there, and their rows can be measured" {
	local n=0

	while read -r name file expression rows; do
		[[ $name = [a-z]* ]] || continue
		n=$((n + 1))
		if sed -E "$expression" "$ROOT/$file" | cmp -s - "$ROOT/$file"; then
			fail "$name: $file stays as it is"
		fi
		for row in $rows; do
			[[ $row =~ ^(profile|all|enforced|controlled|observed):([a-z]+):[0-9]+$ ]] ||
				fail "$name: no row: $row"
			[ -x "$BUILD/tests/bench/kernels/${BASH_REMATCH[2]}" ] ||
				fail "$name: no program: $row"
		done
	done <"$ROOT/tests/bench/ablation.list"
	[ $n -ge 10 ]
}

@test "a program that fails is named and in no mean" {
	programs --command broken "sh -c 'echo what it said; exit 3'" \
		--command small "$BUILD/tests/bench/kernels/radix 20"
	ended_with 1
	grep -q '^failed: broken, .*status 3: what it said$' <<<"$output" ||
		fail "$output"
	grep -qP '^broken +failed *$' <<<"$output"
	grep -qP '^small +\d+\.\d\d s' <<<"$output"
	times 0 '^time\tbroken\t'
}

@test "who fails in some runs only, and what another took too long for" {
	local tsv=$BATS_TEST_TMPDIR/tsv

	{
		printf 'time\ta\t%s\t1\t1\t-\t0\n' native pinned profile
		printf 'fail\ta\tprofile\tsignal 6: what\n'
		printf 'over\ta\tdrd\t30\n'
		printf 'time\tb\t%s\t2\t2\t-\t0\n' native pinned profile
		printf 'time\tb\tprofile\t4\t4\t-\t0\n'
	} >"$tsv"
	run awk -f "$ROOT/tests/bench/programs.awk" "$tsv"
	[ "$status" = 1 ] || fail "$output"
	grep -qP '^a +1.00 s +1.00 +failed +failed.* > 30.0$' <<<"$output" ||
		fail "$output"
	# The mean is of b alone: the median of 2 and 4 over 2.
	grep -qP '^real, mean +1.00 +1.50 +1.50 *$' <<<"$output" ||
		fail "$output"
	grep -q '^failed: a, profile: signal 6: what$' <<<"$output"
	run awk -f "$ROOT/tests/bench/programs.awk" /dev/null
	[ "$status" = 1 ] || fail "nothing measured is no success"
}

@test "controlled runs of a program: its line, and nothing but what it writes" {
	bench controlled --runs 2 --out "$BATS_TEST_TMPDIR" pigz
	! grep '^failed' <<<"$output" || fail "$output"
	grep -qP '^pigz +[\d.]+ s( +\d+){3} +[\d.]+ +0( +\d+){3} +[\d.]+ +0$' \
		<<<"$output" || fail "$output"
	[ "$(grep -cP '^run\tpigz\t(pos|pct)\t.*\tclean\t2\t0\t2\t' \
		"$BATS_TEST_TMPDIR/controlled.tsv")" = 2 ] || fail "$output"
}

@test "controlled runs that fail, or are slow, are named" {
	local tsv=$BATS_TEST_TMPDIR/made.tsv

	{
		printf 'run\ta\tpos\t0.1\tclean\t2\t0\t2\t20\t10\t4\t0.2\n'
		printf 'run\ta\tpct\t0.1\tclean\t2\t0\t2\t20\t10\t4\t2\n'
		printf 'run\tb\tpos\t0.1\tfinding\t2\t0\t2\t8\t6\t4\t0.2\n'
		printf 'fail\tb\tpct\tno such thing\n'
	} >"$tsv"
	run awk -f "$ROOT/tests/bench/controlled.awk" "$tsv"
	[ "$status" = 1 ] || fail "$output"
	grep -qP '^a +0.10 s +10 +5 +2 +1.00 +0 +10 +5 +2 +10.00 +0$' \
		<<<"$output" || fail "$output"
	grep -q '^failed: b by pos: the verdict is finding$' <<<"$output"
	grep -q '^failed: b by pct: no such thing$' <<<"$output"
	grep -q '^missed: a by pct: 10.00, at most 5$' <<<"$output"
	run awk -f "$ROOT/tests/bench/controlled.awk" /dev/null
	[ "$status" = 1 ] || fail "nothing measured is no success"
}

@test "the kernels notice wrong sizes, and are right" {
	local kernel

	for kernel in "fft 3" "lu 3" "radix 3"; do
		run "$BUILD"/tests/bench/kernels/$kernel
		[ "$status" = 0 ] || fail "$kernel: $output"
		run "$BUILD/tests/bench/kernels/${kernel% *}" 0
		[ "$status" = 2 ] || fail "$kernel"
	done
}

@test "the load notices a server that does not answer as it should" {
	cd "$BATS_TEST_TMPDIR"
	run timeout 30 "$BUILD/tests/bench/load" 100 2 socket \
		memcached -u "$(id -un)" -s socket
	[ "$status" = 0 ] || fail "$output"
	run timeout 30 "$BUILD/tests/bench/load" 100 2 other \
		nc -lU other
	[ "$status" = 1 ] || fail "$output"
}

@test "the README gets its table between the markers, and nothing else changes" {
	local readme=$BATS_TEST_TMPDIR/README.md build=$BATS_TEST_TMPDIR/build

	mkdir -p "$build/bench"
	ln -s "$BUILD/mapletest" "$build/mapletest"
	printf 'time\ta\t%s\t1\t1\t-\t0\n' native profile \
		>"$build/bench/programs.tsv"
	echo "a machine, a date" >"$build/bench/programs.txt"
	echo "figure runs.forked 3000 runs/s with the fork server" \
		>"$build/bench/figures"
	printf '%s\n' before \
		'<!-- speed: written by tests/bench/readme -->' old \
		'<!-- speed: end -->' after >"$readme"
	for again in 1 2; do
		run "$ROOT/tests/bench/readme" --again "$build" "$readme"
		[ "$status" = 0 ] || fail "$output"
	done
	[ "$(head -n 1 "$readme")" = before ]
	[ "$(tail -n 1 "$readme")" = after ]
	! grep -q '^old$' "$readme" || fail "it is the old one"
	[ "$(grep -c '^| a | 1.00 s |' "$readme")" = 1 ] ||
		fail "$(cat "$readme")"
	grep -q 'on: a machine, a date\.$' "$readme"
	grep -qx '| with the fork server | 3000 runs/s |' "$readme"
	grep -v '<!-- speed: end' "$readme" >"$readme.broken"
	run "$ROOT/tests/bench/readme" --again "$build" "$readme.broken"
	[ "$status" = 2 ] || fail "$output"
}

@test "no false alarm: six programs, and what differs is one" {
	bench clean --runs 6 pigz xz zstd sort sqlite3 git-grep
	ended_with 0
	grep -qx '6 programs: .* 0 with a finding, 0 with other output, 0 failed' \
		<<<"$output" || fail "$output"
	bench clean --runs 6 changing
	ended_with 1
	grep -qE '^changing .* NO' <<<"$output" || fail "$output"
	bench clean --runs 6 no-such-program
	ended_with 2
	grep -q "no program 'no-such-program'" <<<"$stderr"
}

@test "nothing disturbed: a line each, and what is not correct is seen" {
	bench disturb --seeds 1 --by gcc --what undefined mutex_counter luajit
	ended_with 0
	grep -q '^mutex_counter, gcc undefined  *ok  *1/1: 1 clean' \
		<<<"$output" || fail "$output"
	grep -q '^luajit  *ok  *1/1: 1 undelivered' <<<"$output" ||
		fail "$output"
	bench disturb --seeds 1 --by gcc --what undefined bank_account
	ended_with 1
	grep -q '^bank_account, gcc undefined  *FAIL 0/1: 1 finding' \
		<<<"$output" || fail "$output"
	bench disturb no-such-program
	ended_with 2
	grep -q "no program 'no-such-program'" <<<"$stderr"
}

@test "red again: a target with a bug and two clients, and what has none fails" {
	bench trust --clients 2 $(most 40) bank_account
	ended_with 0
	grep -qx 'bank_account  *ok  *66 66 66 66 66 66, 0, fixed: 1, .*' \
		<<<"$output" || fail "$output"
	grep -q '2 of 2 clients' <<<"$output" || fail "$output"
	bench trust --clients 0 $(most 12) clean/signal_fork
	ended_with 1
	grep -q '^clean/signal_fork *FAIL 0 0 0 0 0 0, -' <<<"$output" ||
		fail "$output"
	bench trust no-such-target
	ended_with 2
	grep -q "no target 'no-such-target'" <<<"$stderr"
}

@test "rounds a second, beside native ones" {
	local figure

	MAPLE_BENCH_QUICK=1 bench rounds
	ended_with 0 1 # the limit may be missed
	for figure in cache_server memcached; do
		grep -qP "^$figure( +\d+\.\d){3}$" <<<"$output" ||
			fail "$output $stderr"
		grep -qP "^figure rounds\.$figure [1-9][\d.]* rounds/s \w" \
			<<<"$output" || fail "$output"
	done
}
