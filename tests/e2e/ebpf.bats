#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The eBPF observer on this machine: it sees what the agent sees. Where eBPF is
# not for us the tests are skipped, and say so; as root, on a kernel that
# describes its types, that would be a failure.

load common

deterministic='bank_account fiftieth getter lock_order log_rotation log_sweep
	lost_wakeup publish_early queue_free refcount string_buffer torn_pair
	write_skew clean/all_locks clean/c11_pipeline clean/detached_pool
	clean/mutex_counter clean/timed_queue'

needs_ebpf() {
	local state

	state=$("$BUILD/mapletest" doctor --format json 2>/dev/null |
		jq -r '.probes[] | select(.name == "eBPF observer") | .state')
	[ "$state" != ok ] || return 0
	if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] &&
		grep -q . /sys/bus/event_source/devices/uprobe/type; then
		fail "doctor says of ebpf: '$state', though it should be there"
	fi
	skip "no eBPF for us here"
}

# The events of one run under fixed priorities.
events() { # PAIR OUTPUT PROGRAM...
	timeout -s KILL 60 "$BUILD/tests/events" "$1" "${@:3}" >"$2" \
		2>"$BATS_TEST_TMPDIR/said" ||
		fail "events $1 $3: $(cat "$BATS_TEST_TMPDIR/said")"
	[ -s "$2" ] || fail "events $1 $3: none"
}

# Event for event. Real-time throttling takes the CPU from a run now and then,
# after which another order is right as well: three runs each are tried.
sees_the_same() {
	local try one=$BATS_TEST_TMPDIR/agent two=$BATS_TEST_TMPDIR/ebpf

	for try in 1 2 3; do
		events agent "$one" "$TARGETS/$1"
		events ebpf+agent "$two" "$TARGETS/$1"
		! cmp -s "$one" "$two" || return 0
	done
	fail "$1: $(diff "$one" "$two" | head -20)"
}

# What one profile run predicts, by what lasts of each site.
predicts() { # BACKEND PROGRAM
	rm -f "$db"
	campaign --backend "$1" --order paper --max-runs 1 --confirm 0 \
		--keep-going --seed 5 -- "$2"
	holds ".runs.profile == 1 and .backends.observe == \"${1%+*}\""
	mapletest memo export --db "$db"
	jq -S '(.sites | map({(.id | tostring): [.offset, .is_call]}) | add)
		as $site | [.goals[] | [.class, .kinds,
			(.sites[] | tostring | $site[.])]] | sort' <<<"$output"
}

@test "event for event what the agent sees" {
	local target

	needs_ebpf
	for target in $deterministic; do
		sees_the_same "$target"
	done
}

@test "the same candidates as the agent's" {
	local target one two

	needs_ebpf
	for target in bank_account lock_order circular_list string_buffer; do
		one=$(predicts agent "$TARGETS/$target")
		two=$(predicts ebpf+agent "$TARGETS/$target")
		[ "$(jq length <<<"$one")" -gt 2 ] || fail "$target: $one"
		[ "$one" = "$two" ] ||
			fail "$target: $(diff <(echo "$one") <(echo "$two"))"
	done
}

@test "an oracle that can fail: other programs have other events" {
	needs_ebpf
	events agent "$BATS_TEST_TMPDIR/one" "$TARGETS/bank_account"
	events ebpf+agent "$BATS_TEST_TMPDIR/two" "$TARGETS/getter"
	! cmp -s "$BATS_TEST_TMPDIR/one" "$BATS_TEST_TMPDIR/two" ||
		fail "two programs have the same events"
}

# It knows of eight calls at a time where they return.
@test "a return that is not told is counted as lost" {
	local depth

	needs_ebpf
	for depth in 8 12; do
		run timeout -s KILL 60 "$BUILD/tests/events" ebpf \
			"$BUILD/tests/e2e/nested" $depth
		grep -q " $((depth - 8)) lost" <<<"$output" ||
			fail "$depth: $output"
	done
}

# Linux takes some vector instructions for others when it steps them.
@test "what is observed does what it does otherwise" {
	needs_ebpf
	events ebpf "$BATS_TEST_TMPDIR/seen" "$BUILD/tests/e2e/vector"
	grep -q '^vector: whole' "$BATS_TEST_TMPDIR/said" ||
		fail "$(cat "$BATS_TEST_TMPDIR/said")"
	grep -q ' W ' "$BATS_TEST_TMPDIR/seen" || fail "nothing was seen"
}

@test "a bug is found by what eBPF saw" {
	local target

	needs_ebpf
	for target in bank_account lock_order queue_free; do
		limit=120 campaign --seed 1 --max-runs 60 \
			--backend ebpf+agent -- "$TARGETS/$target"
		ended_with 66
		holds '.backends.observe == "ebpf"'
		holds '.delivery.undelivered_runs == 0'
		holds '.findings[0].confirm.forced[0] >= 4'
	done
}

# A site that polls falls silent; what comes after it is still seen.
# What is left out by what the binary tells, as the report says it.
left_by_sites() { # SITES PROGRAM...
	rm -f "$db"
	campaign --strategy maple --backend ebpf+agent --sites "$1" --seed 1 \
		--max-runs 1 --confirm 0 --keep-going -- "${@:2}"
	jq -r '.delivery.left_out' "$json" |
		sed -n 's/.*by --sites \([0-9]*\).*/\1/p'
}

@test "--sites: what the binary says is not shared, or in no pair, has no probe" {
	local program=$TARGETS/port hits

	needs_ebpf
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	# 'tests/bench/static' has the counts: 11 sites, 10 of which may share.
	[ "$(left_by_sites all "$program")" = "" ]
	hits=$(jq .delivery.hits.trap "$json")
	[ "$(left_by_sites static "$program")" = 1 ] || fail "$(cat "$json")"
	[ "$(jq .delivery.hits.trap "$json")" -lt "$hits" ] || fail "as many hits"
	# Without pairs nothing is observed, and that is no pass.
	campaign --strategy maple --backend ebpf+agent --sites pairs --max-runs 2 \
		-- "$program"
	ended_with 125
	holds '.undelivered | test("--sites all")'
}

@test "--sites: bugs are found by the sites that are left" {
	local sites

	needs_ebpf
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	for sites in static pairs; do
		rm -f "$db"
		campaign --strategy maple --seed 1 --max-runs 60 \
			--backend ebpf+agent --sites $sites -- \
			"$TARGETS/log_rotation"
		ended_with 66
		holds '.backends.observe == "ebpf"'
		holds '.findings[0].confirm.forced[0] >= 4'
	done
	[[ "$(jq -r .delivery.left_out "$json")" =~ "by --sites "[1-9] ]] ||
		fail "$(jq .delivery "$json")"
}

@test "--sites is refused where the agent observes" {
	mapletest run --sites static --backend agent --db "$db" -- \
		"$TARGETS/bank_account"
	ended_with 125
	says '--sites is for probes from outside.*--backend kernel'
	mapletest run --sites some --db "$db" -- "$TARGETS/bank_account"
	ended_with 2
	says 'all, static or pairs'
}

@test "sites have a budget, and say when it is used up" {
	local seen=$BATS_TEST_TMPDIR/seen

	needs_ebpf
	events ebpf+agent "$seen" "$TARGETS/circular_list"
	grep -q ' QUIET ' "$seen" || fail "nobody was quiet"
	[ "$(sed -n '/ QUIET /,$p' "$seen" | grep -c ' W ')" -ge 1 ] ||
		fail "nothing was seen afterwards"
}

@test "nothing of the observer is left behind" {
	needs_ebpf
	[ -n "$(command -v bpftool)" ] || PATH=$PATH:/usr/sbin
	events ebpf+agent "$BATS_TEST_TMPDIR/seen" "$TARGETS/bank_account"
	timeout -s KILL 5 "$BUILD/tests/events" ebpf+agent /bin/sleep 60 \
		>/dev/null 2>&1 || true
	sleep 1
	! bpftool prog show | grep -w 'name observe_access' ||
		fail "a program is still loaded"
	! pgrep -f '^/bin/sleep 60$' || fail "the target lives"
}

@test "threads that it has no number for are counted" {
	needs_ebpf
	campaign --backend ebpf+agent --strategy maple --max-runs 1 -- \
		"$E2E/many_threads" 1100
	holds '.runs.profile == 1 and
		.unobserved == "77 threads of a run, beyond its first 1024"'
}
