#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# That doctor says of this machine what can keep campaigns from their time or
# their module, each in a line; what it says of others, tests/unit/test_machine
# has.

load common.bash

@test "doctor has a line for what the kernel grants to campaigns" {
	local name lines

	mapletest doctor --format json
	ended_with 0 125
	for name in "real-time throttling" "real-time groups" PREEMPT_RT \
		"secure boot" "module version"; do
		lines=$(jq --arg name "$name" \
			'[.probes[] | select(.name == $name)] | length' \
			<<<"$output")
		[ "$lines" = 1 ] || fail "$lines answers named $name"
	done
	jq -e '.probes[] | select(.name == "module version") |
		.text | test("[0-9]+\\.[0-9]+")' <<<"$output"
}
