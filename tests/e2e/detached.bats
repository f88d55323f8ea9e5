#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Jobs: campaigns that go on without their terminal, and what is told of them.
#
# MAPLE_TEST_AT_ONCE  how many are begun at once, instead of 20

load common.bash
load mapled.bash

CLEAN=$TARGETS/clean/mutex_counter

teardown() {
	local number

	for number in $(numbers); do
		"$BUILD/mapletest" jobs --stop "$number" >/dev/null 2>&1 || true
	done
	[ -z "${socket-}" ] || { end_mapled KILL; rm -rf "$dir"; }
	[ -z "${server-}" ] || kill -KILL "$server" 2>/dev/null || true
}

numbers() {
	"$BUILD/mapletest" jobs --format json | jq '.jobs[].number'
}

# What is known of a job: FIELD of the last one, or of NUMBER.
known() { # FIELD [NUMBER]
	"$BUILD/mapletest" jobs --format json | jq -r \
		"[.jobs[] | select(${2:+.number == $2 and} true)][-1].$1"
}

# Begins one; its number is $number.
detach() { # OPTION... -- PROGRAM...
	mapletest run --detach --db "$db" "$@"
	ended_with 0
	number=$output
	[[ $number =~ ^[1-9][0-9]*$ ]] || fail "no number"
}

# One that lasts: a campaign that has nothing to find, for minutes.
lasting() { # OPTION...
	detach --max-time 1000s --keep-going "$@" -- "$TARGETS/bank_account"
}

# Waits until a field of a job is no more, or not yet, this.
until_not() { # FIELD VALUE [NUMBER]
	local tries=2000

	while [ "$(known "$1" "${3-}")" = "$2" ]; do
		tries=$((tries - 1))
		[ $tries != 0 ] || fail "$1 stays $2"
		sleep 0.1
	done
}

# A job in the midst of its runs, which wait for a CPU that others may have.
under_way() {
	until_not runs 0 "$number"
	[ "$(known state "$number")" = running ]
}

log_of() {
	cat "$(known folder "$1")/log"
}

@test "it returns at once with a number, and whoever waits gets the verdict" {
	detach -- "$TARGETS/bank_account"
	[ "$number" = 1 ]
	says "job 1 goes on without this terminal"
	mapletest jobs 1 --wait
	ended_with 66
	[[ $output == *"job 1: finding"*"exit status 66"* ]]
	[[ $output == *"BUG: maple: SIGABRT"*"SUMMARY: maple:"*"1 finding"* ]]
	[[ $output != *$'\033'* ]]
	[ "$(known state)/$(known status)/$(known findings)" = finding/66/1 ]
	[ "$(known runs)" -gt 3 ]
	log_of 1 | grep -q '^BUG: maple: SIGABRT'
	# What is shown again has no verdict of its own.
	mapletest jobs 1
	ended_with 0
	# A clean one, and one that delivers nothing.
	detach --max-runs 30 -- "$CLEAN"
	mapletest jobs "$number" --wait
	ended_with 0
	[ "$(known state)" = clean ]
	detach --max-runs 1 -- "$CLEAN"
	mapletest jobs "$number" --wait --quiet
	ended_with 125
	[ -z "$output" ]
	[ "$(known state)" = failed ]
	mapletest jobs
	[ "$(grep -cE '^ +[123]  (finding|clean|failed) ' <<<"$output")" = 3 ]
	[[ $output == *"3 jobs, "*" in $XDG_STATE_HOME/maple/jobs; kept until --remove"* ]]
}

@test "its report is there in every form, as the campaign itself would write it" {
	local form validate=$ROOT/tests/validate
	local schema=$ROOT/packaging/schema/maple-report-1.schema.json

	mapletest run --detach --wait --format json --db "$db" --output "$json" \
		-- "$TARGETS/bank_account"
	ended_with 66
	holds '.verdict == "finding"'
	for form in json jsonl junit sarif tap github; do
		mapletest jobs 1 --format "$form" --output "$BATS_TEST_TMPDIR/$form"
		ended_with 0
		[ -s "$BATS_TEST_TMPDIR/$form" ]
	done
	cmp "$json" "$BATS_TEST_TMPDIR/json"
	xmllint --noout "$BATS_TEST_TMPDIR/junit"
	jq -e '.runs[0].results | length == 1' "$BATS_TEST_TMPDIR/sarif"
	grep -q '^not ok 1' "$BATS_TEST_TMPDIR/tap"
	mapletest jobs --format json --output "$json"
	ended_with 0
	holds '.jobs | length == 1'
	holds '.jobs[0] | .number == 1 and .attached == null and
		.program == ["'"$TARGETS/bank_account"'"] and .pid == null'
	"$validate" --strict "$schema" "$json" "$BATS_TEST_TMPDIR/json"
	mapletest jobs --format junit
	ended_with 2
	# The list is about nothing that a test runner knows.
	says "jobs can be had as text or as json"
}

@test "with --wait it is as if it ran here" {
	local text

	mapletest run --detach --wait --db "$db" --quiet -- "$TARGETS/bank_account"
	ended_with 66
	mapletest run --detach --wait --db "$db" -- "$TARGETS/bank_account"
	ended_with 66
	[ -z "$output" ]
	says 'BUG: maple: SIGABRT'
	mapletest run --detach --wait --db "$db" --format json -- \
		"$TARGETS/bank_account"
	ended_with 66
	jq -es 'length == 1 and .[0].verdict == "finding"' <<<"$output"
	# Who waits may go.
	"$BUILD/mapletest" run --detach --wait --db "$db" --keep-going \
		--max-time 1000s -- "$TARGETS/bank_account" >/dev/null 2>&1 3>&- &
	waiting=$!
	until_not number 3
	kill -INT $waiting || true
	kill -KILL $waiting
	number=4
	under_way
}

@test "what is refused is refused here, in the same words" {
	local words status_before before

	cp "$TARGETS/bank_account" "$BATS_TEST_TMPDIR/not"
	chmod -x "$BATS_TEST_TMPDIR/not"
	printf '#!/bin/sh\n' >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	while read -r words; do
		eval "mapletest run --db '$db' $words"
		status_before=$status before=$stderr$output
		[ "$status" != 0 ]
		eval "mapletest run --detach --db '$db' $words"
		[ "$status" = "$status_before" ] || fail "not $status_before: $words"
		[ "$stderr$output" = "$before" ] || fail "not the same: $words"
	done <<-END

		--
		./is-not-there
		is-not-there
		$BATS_TEST_TMPDIR/not
		$BATS_TEST_TMPDIR/script
		/etc/passwd
		--frobnicate $CLEAN
		--max-time never $CLEAN
		--format json ./is-not-there
		--expect-output /is-not-there $CLEAN
		--strategy pos --until covered $CLEAN
		--order paper --no-priorities $CLEAN
		--jobs 200 $CLEAN
		--suppressions /is-not-there $CLEAN
		--output /is-not-there/x $CLEAN
		--socket /is-not-there $CLEAN
		--each-test=false $CLEAN
	END
	mapletest attach --detach
	ended_with 2
	mapletest attach --detach 4194999
	ended_with 125
	says "no process 4194999"
	mapletest jobs
	ended_with 0
	[ "$output" = "no jobs" ]
	# Nothing is left of them.
	[ -z "$(ls -A "$XDG_STATE_HOME/maple/jobs")" ]
	mapletest run --detach --db /is-not-there/memo.db -- "$CLEAN"
	ended_with 125
	says "is-not-there"
}

@test "it outlives its terminal" {
	local terminal folder carrier

	# A shell on a terminal of its own, which is then taken away.
	script -qfc "'$BUILD/mapletest' run --detach --db '$db' --keep-going \
		--max-time 1000s -- '$TARGETS/bank_account'; sleep 100" \
		"$BATS_TEST_TMPDIR/typescript" >/dev/null 2>&1 3>&- </dev/null &
	terminal=$!
	until_not number null
	number=1
	under_way
	carrier=$(known pid)
	kill -KILL $terminal
	sleep 0.5
	[ "$(known state)" = running ] || fail "$(log_of 1)"
	# A session without a terminal, and nobody's hang-up ends it.
	[ "$(ps -o tty= -p "$carrier" | tr -d ' ')" = '?' ]
	[ "$(ps -o sid= -p "$carrier" | tr -d ' ')" = "$carrier" ]
	kill -HUP "$carrier"
	sleep 0.5
	[ "$(known state)" = running ]
	for fd in 0 1 2; do
		[[ $(readlink "/proc/$carrier/fd/$fd") != /dev/pts/* ]]
	done
	[ "$(readlink "/proc/$carrier/fd/0")" = /dev/null ]
	mapletest jobs --stop 1
	ended_with 0
	# The log has lines, and is rewritten nowhere.
	! log_of 1 | grep -q $'[\r\033]' || fail "it is for a terminal"
}

@test "a file as its input stays its input, and a pipe is read before" {
	printf '12\n' >"$BATS_TEST_TMPDIR/in"
	mapletest run --detach --db "$db" --keep-going --max-time 1000s -- \
		"$TARGETS/bank_account" <"$BATS_TEST_TMPDIR/in"
	ended_with 0
	number=$output
	under_way
	[ "$(readlink "/proc/$(known pid)/fd/0")" = "$BATS_TEST_TMPDIR/in" ]
	mapletest jobs --stop "$number"
	# A program that copies it, and one run in which that is as expected.
	for wanted in 12 34; do
		echo $wanted >"$BATS_TEST_TMPDIR/wanted"
		number=$(printf '12\n' | "$BUILD/mapletest" run --detach --quiet \
			--db "$db" --max-runs 3 --expect-output \
			"$BATS_TEST_TMPDIR/wanted" -- /bin/cat 3>&-)
		"$BUILD/mapletest" jobs --wait "$number" >"$BATS_TEST_TMPDIR/said" 2>&1 ||
			[ $? = 125 ]
		cat "$BATS_TEST_TMPDIR/said"
		if [ $wanted = 12 ]; then
			grep -q 'second thread' "$BATS_TEST_TMPDIR/said"
		else
			! grep -q 'second thread' "$BATS_TEST_TMPDIR/said" ||
				fail "$(cat "$BATS_TEST_TMPDIR/said")"
		fi
	done
}

@test "files that the caller has closed are no harm" {
	run --separate-stderr bash -c "'$BUILD/mapletest' run --detach --quiet \
		--db '$db' --max-runs 30 -- '$CLEAN' <&- >&- 2>&-"
	ended_with 0
	[ "$(known state)" = running ]
	mapletest jobs --wait 1
	ended_with 0
	[[ $output == *"job 1: clean"* ]]
}

@test "killed, it is told as cut off, and never as clean" {
	local carrier

	lasting
	under_way
	carrier=$(known pid)
	kill -KILL "$carrier"
	until_not state running
	[ "$(known state)/$(known status)" = "cut off/null" ]
	none_left "$TARGETS/bank_account"
	mapletest jobs "$number" --wait
	ended_with 125
	[[ $output == *"was cut off after "*" run"* ]]
	mapletest jobs "$number" --wait --quiet
	ended_with 125
	says "cut off"
	mapletest jobs "$number" --wait --follow
	ended_with 125
	mapletest jobs "$number" --format json --output "$json"
	ended_with 125
	holds '.status == 125 and (.error | test("cut off"))'
	mapletest jobs "$number" --format junit
	ended_with 125
	[[ $output == *"<error"* ]]
	# Its number is nobody's: no stranger is stopped.
	mapletest jobs --stop "$number"
	ended_with 0
	says "has ended"
}

@test "it is stopped as by Ctrl-C, and its log is followed to its end" {
	local follower

	lasting
	under_way
	"$BUILD/mapletest" jobs --follow "$number" >"$BATS_TEST_TMPDIR/followed" 2>&1 3>&- &
	follower=$!
	mapletest jobs "$number"
	ended_with 0
	[[ $output == *"job 1: running"*", process $(known pid)"* ]]
	mapletest jobs "$number" --format json --output "$json"
	ended_with 125
	holds '.error | test("job 1 runs")'
	mapletest jobs "$number" --remove
	ended_with 125
	says "job 1 runs: --stop ends it"
	mapletest jobs --stop --wait "$number" --format json --output "$json"
	holds '.interrupted and .stop == "interrupted"'
	[ "$status" = "$(known status)" ]
	none_left "$TARGETS/bank_account"
	wait $follower
	log_of "$number" | cmp - "$BATS_TEST_TMPDIR/followed"
	grep -q interrupted "$BATS_TEST_TMPDIR/followed"
	mapletest jobs "$number" --follow --wait
	ended_with "$(known status)"
	mapletest jobs --stop "$number"
	ended_with 0
}

@test "many at once have a number each, and what is removed is never given again" {
	local i n=${MAPLE_TEST_AT_ONCE:-20}
	local pids=()

	for ((i = 1; i <= n; i++)); do
		"$BUILD/mapletest" run --detach --quiet --db "$BATS_TEST_TMPDIR/$i.db" \
			--max-time 1000s --keep-going -- "$TARGETS/bank_account" \
			>"$BATS_TEST_TMPDIR/number.$i" 2>&1 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || fail "$(cat "$BATS_TEST_TMPDIR"/number.*)"
	done
	[ "$(cat "$BATS_TEST_TMPDIR"/number.* | sort -n)" = "$(seq "$n")" ] ||
		fail "$(cat "$BATS_TEST_TMPDIR"/number.*)"
	mapletest jobs --format json --output "$json"
	holds "[.jobs[].number] == [range(1; $n + 1)]"
	holds '[.jobs[].state] | unique == ["running"]'
	mapletest jobs --remove --all
	ended_with 0
	[ "$(numbers | wc -l)" = "$n" ]
	mapletest jobs --stop $(numbers)
	ended_with 0
	[ -z "$(known state | grep running)" ]
	mapletest jobs --remove 1 "$n"
	ended_with 0
	[ "$(numbers | wc -l)" = $((n - 2)) ]
	mapletest jobs --remove --all
	ended_with 0
	[ -z "$(numbers)" ]
	lasting
	[ "$number" = $((n + 1)) ]
}

@test "no place, no room: that is said before anything goes on" {
	[ "$(id -u)" = 0 ] || skip "takes root"
	in_public "$TARGETS/bank_account"
	chmod 555 "$public/state"
	as_nobody rt env XDG_STATE_HOME="$public/state" "$public/mapletest" run \
		--detach --db "$public/memo" -- "$public/bank_account"
	ended_with 125
	says "'$public/state/maple' for jobs cannot be made: Permission denied"
	as_nobody rt env -u XDG_STATE_HOME -u HOME "$public/mapletest" jobs
	ended_with 125
	says "neither HOME nor XDG_STATE_HOME is set"
	# Full: of the 16 blocks of this one nothing is left.
	run --separate-stderr unshare -m sh -c "
		mount -t tmpfs -o size=64k none '$public/state' &&
		{ head -c 100000 /dev/zero >'$public/state/fill'; true; } 2>/dev/null &&
		XDG_STATE_HOME='$public/state' '$BUILD/mapletest' run --detach \
			--db '$db' -- '$TARGETS/bank_account'"
	ended_with 125
	says "a job cannot be kept in .*No space left on device"
}

@test "its end is told though the disk has filled up meanwhile" {
	[ "$(id -u)" = 0 ] || skip "takes root"
	mkdir -p "$XDG_STATE_HOME"
	run --separate-stderr timeout 200 unshare -m sh -c "
		mount -t tmpfs -o size=256k none '$XDG_STATE_HOME' &&
		'$BUILD/mapletest' run --detach --db '$db' --keep-going \
			--max-time 1000s -- '$TARGETS/bank_account' &&
		{ head -c 1000000 /dev/zero >'$XDG_STATE_HOME/fill'; true; } \
			2>/dev/null &&
		'$BUILD/mapletest' jobs --stop --wait --quiet 1; echo \$?
		'$BUILD/mapletest' jobs --format json"
	echo "$output"
	[ "$(tail -n 1 <<<"$output" | jq -r '.jobs[0].state')" = failed ]
	[ "$(tail -n 1 <<<"$output" | jq -r '.jobs[0].status')" = 125 ]
}

@test "cases of a test program are a job as well" {
	mapletest run --detach --each-test="printf 'one\ntwo\n'" --max-runs 4 \
		--db "$db" -- "$CLEAN" {}
	ended_with 0
	mapletest jobs 1 --wait --format json --output "$json"
	[ "$status" = "$(known status)" ]
	holds '.cases | length == 2'
	[ "$(known runs)" -ge 4 ]
}

@test "words that say nothing of a job are refused" {
	local words

	while read -r words; do
		eval "mapletest jobs $words"
		ended_with 2
	done <<-END
		one
		0
		-- -1
		1 2
		--wait
		--stop
		--follow
		--remove
		--all
		--all 1
		--remove --all 1
		--remove --wait 1
		--db x
	END
	mapletest jobs 1
	ended_with 125
	says "there is no job 1 in .*; 'mapletest jobs' lists them"
	mapletest jobs --wait 1
	ended_with 125
}

@test "one job too many is refused, and what would mend it is said" {
	lasting --strategy pos
	mapletest run --detach --max-jobs 1 --db "$db" -- "$CLEAN"
	ended_with 125
	says "1 of your jobs runs, and no more than 1 may at once"
	says "jobs --stop N' ends one, --max-jobs N allows more"
	[ "$(numbers)" = 1 ]
	mapletest jobs --stop 1
	mapletest run --detach --max-jobs 1 --db "$db" --max-runs 30 -- "$CLEAN"
	ended_with 0
	[ "$output" = 2 ]
	mapletest jobs --wait 2
	ended_with 0
	# 0: any number.
	mapletest run --detach --max-jobs 0 --db "$db" --max-runs 30 -- "$CLEAN"
	ended_with 0
}

@test "a job that the machine took down is told so, and what it learned is there" {
	local about

	lasting --strategy pos
	under_way
	kill -KILL "$(known pid)"
	until_not state running
	[ "$(known state)/$(known rebooted)" = "cut off/false" ]
	# As after a boot: nobody has the lock, and this is another boot.
	about=$(known folder)/about.json
	grep -q "$(cat /proc/sys/kernel/random/boot_id)" "$about"
	sed -i "s/$(cat /proc/sys/kernel/random/boot_id)/0-another-boot/" "$about"
	[ "$(known state)/$(known rebooted)" = "cut off/true" ]
	mapletest jobs 1 --wait
	ended_with 125
	[[ $output == *"was cut off after "*": the machine went down, and has booted since; what it learned is in the memo"* ]]
	[ "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok ]
	[ "$(sqlite3 "$db" 'SELECT count(*) FROM runs')" -ge 1 ]
	mapletest run --db "$db" --max-runs 60 --quiet -- "$TARGETS/bank_account"
	ended_with 66
}

@test "mapled says how many jobs a member may have; those that run go on" {
	local n

	[ "$(id -u)" = 0 ] || skip "becoming another user takes root"
	in_public "$TARGETS/bank_account"
	open_folder
	unset MAPLE_NO_DAEMON
	printf 'group = 65534\nuser-jobs = 1\n' >"$conf"
	start_mapled
	member_runs() {
		as_nobody plain env XDG_STATE_HOME="$public/state" \
			"$public/mapletest" run --detach --socket "$socket" \
			--strategy pos --keep-going --max-time 1000s -- \
			"$public/bank_account"
	}
	member_runs
	ended_with 0
	[ "$output" = 1 ]
	member_runs
	ended_with 125
	says "2 jobs at once are too many for user 65534: 1 are the most; end one with 'mapletest jobs --stop N', or see user-jobs in mapled.conf\(5\)"
	as_nobody plain env XDG_STATE_HOME="$public/state" "$public/mapletest" \
		jobs --format json
	[ "$(jq -c '[.jobs[].state]' <<<"$output")" = '["running"]' ]
	# It counts after a restart as well, and is not ended for that.
	for ((n = 0; n < 600; n++)); do
		as_nobody plain env XDG_STATE_HOME="$public/state" \
			"$public/mapletest" jobs --format json
		[ "$(jq '.jobs[0].runs' <<<"$output")" = 0 ] || break
		sleep 0.1
	done
	end_mapled KILL
	start_mapled
	for ((n = 0; n < 600; n++)); do
		! grep -q 'mapled was gone and is back' \
			"$public/state/maple/jobs/1/log" || break
		sleep 0.1
	done
	grep -q 'mapled was gone and is back' "$public/state/maple/jobs/1/log"
	member_runs
	ended_with 125
	says "user-jobs"
	as_nobody plain env XDG_STATE_HOME="$public/state" "$public/mapletest" \
		jobs --stop 1
	ended_with 0
	member_runs
	ended_with 0
	[ "$output" = 2 ]
	as_nobody plain env XDG_STATE_HOME="$public/state" "$public/mapletest" \
		jobs --stop 2
	ended_with 0
	memo_is_whole
}

@test "mapled jobs lists the same, but not for whom pkexec lends root's rights" {
	lasting
	run --separate-stderr "$BUILD/mapled" jobs --format json
	ended_with 0
	[ "$(jq '.jobs | length' <<<"$output")" = 1 ]
	run --separate-stderr env PKEXEC_UID=54321 "$BUILD/mapled" jobs --stop 1
	ended_with 2
	says "jobs are each user's own"
	run --separate-stderr env PKEXEC_UID=54321 "$BUILD/mapled" attach --detach 1
	ended_with 2
	says "'--detach' takes root"
	[ "$(known state)" = running ]
}

@test "it goes on when mapled restarts, and says so" {
	open_folder
	unset MAPLE_NO_DAEMON
	start_mapled
	mapletest run --detach --socket "$socket" --keep-going --max-time 1000s \
		-- "$TARGETS/bank_account"
	ended_with 0
	number=$output
	under_way
	end_mapled KILL
	start_mapled
	for try in $(seq 300); do
		! log_of 1 | grep -q 'mapled was gone and is back' || break
		sleep 0.1
	done
	log_of 1 | grep -q 'mapled was gone and is back: the campaign goes on'
	[ "$(known state)" = running ]
	mapletest jobs --stop "$number"
	ended_with 0
	memo_is_whole
}

@test "an attached job goes on, and is left by mapled detach" {
	local tries=50

	"$BUILD/mapletest" doctor --format json 2>/dev/null |
		jq -e '.probes[] | select(.name == "eBPF observer").state == "ok"' ||
		skip "no eBPF for us here"
	"$E2E/server" clean >"$BATS_TEST_TMPDIR/said" 3>&- &
	server=$!
	until [ -s "$BATS_TEST_TMPDIR/said" ]; do
		tries=$((tries - 1))
		[ $tries != 0 ] || fail "no server"
		sleep 0.1
	done
	run --separate-stderr timeout 60 "$BUILD/mapled" attach --detach \
		--no-daemon --db "$db" --max-time 1000s "$server"
	ended_with 0
	[ "$output" = 1 ]
	[ "$(known attached)" = "$server" ]
	[ "$(known 'program[0]')" = "$E2E/server" ]
	until_not runs 0
	mapletest attach --detach "$server"
	ended_with 125
	says "attached to process $server already"
	run --separate-stderr timeout 60 "$BUILD/mapled" detach "$server"
	ended_with 0
	mapletest jobs --wait 1
	[ "$(known state)" != running ]
	kill -0 "$server"
}
