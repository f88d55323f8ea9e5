#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What store buffers do is found where two threads meet on two CPUs, and nowhere
# else; what has its fence stays clean.

load common.bash

BUFFERS=$BUILD/tests/buffers

two_cpus() {
	[ "$(nproc --all)" -gt 1 ] || skip "this machine has one CPU"
}

@test "two threads that meet: found, with both places, and by no order" {
	two_cpus
	local program
	declare -A place=(
		[dekker]="both threads write at dekker.c:[0-9]+ \(come\)"
		[asleep]="one writes at asleep.c:[0-9]+ .*, the other at asleep.c:[0-9]+"
	)

	for program in dekker asleep; do
		campaign --strategy meet --seed 1 --max-runs 1000 \
			-- "$BUFFERS/$program"
		ended_with 66
		jq -r '.findings[0].switches' "$json" |
			grep -E "${place[$program]}" ||
			fail "$program: where is not said"
		holds '.findings[0].strategy == "meet" and
			.findings[0].confirm.flipped == [0, 20] and
			.runs.enforced == 0'
	done
	for program in dekker asleep; do
		rm -f "$db" # what is known is tried first
		campaign --strategy pos --seed 1 --max-runs 300 \
			-- "$BUFFERS/$program"
		ended_with 0
		campaign --strategy maple --seed 1 --max-runs 100 \
			-- "$BUFFERS/$program"
		ended_with 0
	done
}

@test "the default finds it within 400 runs" {
	two_cpus
	campaign --seed 1 --max-runs 400 -- "$BUFFERS/dekker"
	ended_with 66
	holds '.findings[0].strategy == "meet"'
}

# The first waits are in vain, of a thread that is alone.
@test "two threads meet at a place that one of them has come to before" {
	two_cpus
	campaign --strategy meet --seed 1 --max-runs 400 -- "$BUFFERS/two_party"
	ended_with 66
	holds '.findings[0].strategy == "meet" and .findings[0].switches and
		.findings[0].confirm.flipped == [0, 20]'
}

@test "it takes no rights" {
	local id

	two_cpus
	in_public "$BUFFERS/dekker"
	as_nobody no "$public/mapletest" run --strategy meet --seed 1 \
		--max-runs 1000 -- "$public/dekker"
	ended_with 66
	id=$(sed -n 's/^Replay: .* replay \([0-9a-f]*\).*/\1/p' <<<"$stderr")
	as_nobody no "$public/mapletest" replay "$id" --times 200
	ended_with 0
}

@test "with a fence that no binary shows nothing fails, and every thread has its CPUs back" {
	two_cpus
	local program

	for program in dekker asleep two_party; do
		campaign --strategy meet --seed 1 --max-runs 100 \
			-- "$BUFFERS/$program.hidden"
		ended_with 0
		# They did meet, again and again, or it would say that nothing was.
		holds '.undelivered == null and .runs.profile == 100'
	done
}

@test "what a fence keeps apart is not tried, and the program stays clean" {
	two_cpus
	local program

	for program in dekker asleep two_party; do
		campaign --strategy meet --seed 1 --max-runs 30 \
			-- "$BUFFERS/$program.fenced"
		ended_with 125
		holds '.undelivered | test("without a fence or a lock")'
		campaign --seed 1 --max-runs 60 -- "$BUFFERS/$program.fenced"
		ended_with 0
		holds '[.strategies[] | select(.name == "meet") | .runs] |
			add // 0 == 0'
	done
}

@test "a finding is replayed as it was met, or one after the other" {
	two_cpus
	local id

	campaign --strategy meet --seed 1 --max-runs 1000 -- "$BUFFERS/dekker"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	mapletest replay "$id" --db "$db" --times 200
	ended_with 0
	mapletest replay "$id" --db "$db" --times 200 --flip
	ended_with 1
	says 'reversed 0/200 fails'
}

@test "the text says where both wrote, and what the control was" {
	two_cpus
	mapletest run --db "$db" --strategy meet --seed 1 --max-runs 1000 \
		-- "$BUFFERS/asleep"
	[ "$status" = 66 ]
	says '^Two threads meet, on two CPUs:$'
	says 'one writes at asleep.c:[0-9]+ \(ask\), the other at asleep.c:[0-9]+ \(serve\)'
	says '^Control: at the same moment [0-9]+/20 fails, one after the other 0/20$'
}

@test "where nothing can meet nothing was tested, and it says so" {
	two_cpus
	campaign --strategy meet --seed 1 --max-runs 20 \
		-- "$TARGETS/clean/mutex_counter"
	ended_with 125
	holds '.undelivered | test("all that --strategy meet tests")'
	run -125 --separate-stderr taskset -c 0 "$BUILD/mapletest" run --db "$db" \
		--strategy meet --max-runs 20 -- "$BUFFERS/dekker"
	[[ $stderr = *"taskset"* ]]
}
