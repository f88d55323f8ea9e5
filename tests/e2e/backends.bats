#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Which backends observe and enforce: what is asked for, what is taken by
# itself, what is said of it, and that halves that know nothing of each other
# agree.

load common

# Programs that no agent can be loaded into.
static_program() {
	gcc -static -pthread -O0 -o "$BATS_TEST_TMPDIR/static" \
		"$ROOT/tests/targets/bank_account.c"
	echo "$BATS_TEST_TMPDIR/static"
}

# Whether doctor has the half $1 on this machine.
has() {
	"$BUILD/mapletest" doctor --format json 2>/dev/null |
		jq -e --arg half "$1" \
			'.probes[] | select(.name == $half) | .state == "ok"' \
			>/dev/null
}

backends_are() { # OBSERVE ENFORCE
	holds ".backends.observe == \"$1\" and .backends.enforce == \"$2\""
	holds '.backends.why | length > 5'
}

@test "two agents that know nothing of each other find and replay as one" {
	local target id

	for target in bank_account lock_order queue_free; do
		campaign --seed 1 --max-runs 60 --backend agent+agent -- \
			"$TARGETS/$target"
		ended_with 66
		backends_are agent agent
		holds '.findings[0].backend == "agent+agent"'
		holds '.findings[0].confirm.forced[0] >= 4'
		id=$(jq -r '.findings[0].id' "$json")
		mapletest replay --times 3 --db "$db" "$id"
		ended_with 0
		# One agent does it too: what lasts are sites, not numbers.
		mapletest replay --times 3 --backend agent --db "$db" "$id"
		ended_with 0
	done
}

# What one profile run under --backend $1 predicts and exposes.
foreseen() {
	campaign --strategy maple --seed 7 --max-runs 1 --backend "$1" \
		--fresh -- "$2"
	passed_once
	jq -c '.coverage | [.predicted, .exposed]' "$json"
}

@test "what is predicted does not depend on who observes or enforces" {
	local target others=agent+agent one other

	! has "eBPF observer" || others+=" ebpf+agent"
	for target in bank_account lock_order lost_wakeup clean/all_locks \
		clean/c11_pipeline clean/timed_queue; do
		one=$(foreseen agent "$TARGETS/$target")
		[ "$(jq '.[0] | add' <<<"$one")" -gt 0 ] || fail "$target: $one"
		for other in $others; do
			[ "$one" = "$(foreseen $other "$TARGETS/$target")" ] ||
				fail "$target: $other differs from $one"
		done
	done
}

@test "eBPF observes and the agent enforces" {
	local target id

	has "eBPF observer" || skip "eBPF cannot be used here"
	for target in bank_account lock_order string_buffer; do
		campaign --seed 1 --max-runs 60 --backend ebpf+agent -- \
			"$TARGETS/$target"
		ended_with 66
		backends_are ebpf agent
		holds '.delivery.lost == 0'
		holds '.findings[0].confirm.forced[0] >= 4'
		id=$(jq -r '.findings[0].id' "$json")
		mapletest replay --times 3 --db "$db" "$id"
		ended_with 0
		none_left "$TARGETS/$target"
	done
	printf '#!/bin/sh\nls / >/dev/null\n%s\n' "$TARGETS/bank_account" \
		>"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	campaign --seed 1 --max-runs 60 --backend ebpf+agent \
		--exe bank_account -- "$BATS_TEST_TMPDIR/script"
	ended_with 66
}

# As redis-server is one; the script of that name is not the program.
@test "--exe takes the name of a link, and no script's" {
	local dir=$BATS_TEST_TMPDIR

	mkdir "$dir/sub"
	ln -s "$TARGETS/bank_account" "$dir/sub/bank-server"
	printf '#!/bin/sh\ncd %s/sub\n./bank-server\n' "$dir" >"$dir/bank-server"
	chmod +x "$dir/bank-server"
	campaign --seed 1 --max-runs 60 --backend agent --exe bank-server \
		-- "$dir/bank-server"
	ended_with 66
	holds '.findings[0].stacks | length > 0'
}

@test "auto takes what doctor says, and says why" {
	local taken

	mapletest doctor --format json
	taken=$(jq -r '.probes[] | select(.name == "backend") | .text' \
		<<<"$output" | sed -n 's/^--backend auto takes \([^,]*\),.*/\1/p')
	[ -n "$taken" ] || fail "doctor does not say what auto takes"
	campaign --seed 1 --max-runs 60 -- "$TARGETS/bank_account"
	ended_with 66
	holds ".findings[0].backend == \"$taken\""
	holds '.backends.why | length > 10'
	# Once, to who wants to know.
	mapletest run --db :memory: --max-runs 60 -- "$TARGETS/bank_account"
	ended_with 66
	says '^observed and enforced by [a-z]+$|^observed by [a-z]+, enforced by [a-z]+$'
	! grep -qE 'maple\.ko|outside(:| the program)' <<<"$stderr" || fail "a hint"
	mapletest run --db :memory: --max-runs 60 --verbose -- "$TARGETS/bank_account"
	ended_with 66
	[ "$(grep -cE 'maple\.ko|outside(:| the program)' <<<"$stderr")" = 1 ]
}

@test "a half that is not there is named, with what mends it" {
	if has maple.ko; then
		campaign --seed 1 --max-runs 60 --backend kernel -- \
			"$TARGETS/bank_account"
		ended_with 66
		backends_are ebpf module
		return
	fi
	mapletest run --backend kernel --db "$db" -- "$TARGETS/bank_account"
	ended_with 125
	says 'maple\.ko|module'
	mapletest run --backend agent+module --db "$db" -- \
		"$TARGETS/bank_account"
	ended_with 125
	mapletest run --skip-unsupported --backend kernel --db "$db" -- \
		"$TARGETS/bank_account"
	ended_with 77
}

@test "a static program takes the kernel, or is refused with the reason" {
	local program

	program=$(static_program)
	campaign --seed 1 --max-runs 60 -- "$program"
	if has maple.ko && has "eBPF observer"; then
		ended_with 66
		backends_are ebpf module
		return
	fi
	ended_with 125
	says 'statically linked'
	says 'From outside: '
	mapletest run --backend agent --db "$db" -- "$program"
	ended_with 125
	says 'statically linked'
	mapletest doctor --format json -- "$program"
	ended_with 125
	jq -e '.probes[] | select(.name == "backend") | .state == "missing"' \
		<<<"$output" >/dev/null || fail "doctor: $output"
}

@test "strategies that need the agent say so" {
	mapletest run --strategy pctlarge --backend ebpf+agent --db "$db" \
		-- "$TARGETS/bank_account"
	ended_with 125
	campaign --strategy pctlarge --max-runs 3 -- "$TARGETS/bank_account"
	ended_with 0 66
	backends_are agent agent
}
