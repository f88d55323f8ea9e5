#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapled watch: what mapled.conf names is joined by itself, for a stretch now and
# then, as its user; what that cost and taught is told; what cannot be joined,
# what is too much, and what is no more, is told or left alone; a restart of the
# watch forgets nothing.
#
# Nothing is forced, so no CPU is claimed.
# beside: guests

load common.bash
load joined.bash

prepare() {
	dir=$BATS_TEST_TMPDIR
	conf=$dir/mapled.conf
	state=$dir/watch
	# A name that nothing else on this machine has.
	cp "$E2E/answers" "$dir/answers_of_test"
}

watch() { # the words of its line
	echo "watch = $(id -un) $*" >"$conf"
	start_watch
}

start_watch() { # [COMMAND...]
	"$@" "$BUILD/mapled" watch --config "$conf" --state "$state" \
		>>"$dir/log" 2>&1 3>&- &
	watch=$!
	ours="$ours $watch"
}

told() {
	"$BUILD/mapled" watch --status --state "$state" 2>&1
}

# Until the status has this.
tells() { # PATTERN
	for try in {1..1800}; do
		! told | grep -qE -- "$1" || return 0
		kill -0 "$watch" || fail "the watch has ended: $(cat "$dir/log")"
		sleep 0.1
	done
	fail "it does not tell '$1' but: $(told; cat "$dir/log")"
}

stretches() {
	told | awk '/stretches, . of which|stretches, [0-9]+ of which/ {
		for (i = 2; i <= NF; i++) if ($i == "stretches,") print $(i - 1) }'
}

@test "a line that makes no sense is told with its number, cause and mend" {
	local line words

	prepare
	while read -r line words; do
		printf '\n%s\n' "${line//_/ }" >"$conf"
		run --separate-stderr "$BUILD/mapled" --config "$conf" --check-config
		ended_with 2
		says "mapled.conf:2: watch wants $words"
	done <<-'LINES'
		watch_=_/bin/true_root a user first
		watch_=_root behind the user the whole path of an executable
		watch_=_root_bin/true behind the user the whole path of an executable
		watch_=_root_/bin/true_share=0% share= from 0.01% to 100%
		watch_=_root_/bin/true_share=2 share= from 0.01% to 100%
		watch_=_root_/bin/true_stretch=1h stretch= from 1s to 600s
		watch_=_root_/bin/true_processes=65 processes= from 1 to 64
		watch_=_root_/bin/true_forced behind user and path no other words than
	LINES
	printf 'watch = root /bin/a\nwatch = root /bin/a force\n' >"$conf"
	run --separate-stderr "$BUILD/mapled" --config "$conf" --check-config
	ended_with 2
	says "mapled.conf:2: watch wants this user and path once"
	# Who is removed is told of, and all else holds.
	printf 'watch = %s /bin/true\n' gone-user root >"$conf"
	run --separate-stderr "$BUILD/mapled" --config "$conf" --check-config
	ended_with 0
	says "there is no user gone-user .*nothing is watched by the line"
	[[ $stderr != *"no user root"* ]] || fail "$stderr"
	# By itself it watches nothing, and says how it would.
	: >"$conf"
	run --separate-stderr "$BUILD/mapled" watch --config "$conf" --state "$state"
	ended_with 0
	says "nothing is watched: mapled.conf has no line"
}

@test "a server is watched, left as it was, and what was learned is told" {
	local before

	prepare
	serve "$dir/answers_of_test" "$dir/answers"
	serves
	before=$(state_of "$server")
	watch "$dir/answers_of_t*" share=50% stretch=2s
	tells 'observed only'
	tells 'process [0-9]+: ([2-9]|[0-9]{2,}) stretches$'
	tells 'learned: [1-9][0-9]* runs, [1-9][0-9]* iRoots predicted, [1-9]'
	tells 'cost: [0-9.]+ s of CPU in [0-9]+ s, [0-9.]+ %; .* 0 of which failed'
	# One watch keeps what it knows.
	run --separate-stderr "$BUILD/mapled" watch --config "$conf" --state "$state"
	ended_with 125
	says "another mapled watch"
	# It ends, and what it has begun does by itself.
	kill "$watch"
	wait "$watch"
	for job in $("$BUILD/mapletest" jobs --format json | jq '.jobs[].number'); do
		"$BUILD/mapletest" jobs --wait --quiet "$job"
	done
	is_as_before
	serves
	[ "$(answered 2)" = 0 ] || fail "$(answered 2) answers were wrong"
	# What was seen is in the user's memo; nothing was forced, nothing found.
	mapletest coverage answers_of_test
	ended_with 0
	[[ $output =~ all\ +[1-9][0-9]*\ +[1-9] ]] || fail "$output"
	mapletest report
	ended_with 0
	[[ $output == *"no findings"* ]] || fail "$output"
	[ "$(sqlite3 "$XDG_STATE_HOME/maple/memo.db" \
		"SELECT count(*) FROM runs WHERE kind LIKE '%enforce%'")" = 0 ]
}

@test "a watch that is killed goes on with the job that it began" {
	local number

	prepare
	serve "$dir/answers_of_test" "$dir/answers"
	watch "$dir/answers_of_test" share=100% stretch=8s
	tells 'now: job'
	number=$(told | awk '/now: job/ { print $3 }')
	kill -KILL "$watch"
	wait "$watch" || true
	[ "$("$BUILD/mapletest" jobs --format json | jq -r \
		".jobs[] | select(.number == $number).state")" = running ]
	start_watch
	tells "process $server: [1-9][0-9]* stretches"
	grep -q "job $number of .* was under way" "$dir/log" || fail "$(cat "$dir/log")"
	grep -q "job $number of .*, process $server: clean" "$dir/log" ||
		fail "$(cat "$dir/log")"
	# The target ends, another one comes.
	kill -KILL "$server"
	tells ' 0 processes match'
	serve "$dir/answers_of_test" "$dir/answers"
	tells "process $server: [1-9][0-9]* stretches"
}

@test "of many that match some are watched, a replaced one is not, both are told" {
	local first

	prepare
	serve "$dir/answers_of_test" "$dir/answers"
	first=$server
	serve "$dir/answers_of_test" "$dir/answers2"
	watch "$dir/answers_of_test" processes=1 share=100% stretch=1s
	tells '2 processes match, of which the 1 oldest are watched'
	tells "process $first: [1-9]"
	! told | grep -q "process $server:" || fail "$(told)"
	grep -q '2 processes match .* see processes= in mapled.conf' "$dir/log"
	# As a new build does it.
	cp "$E2E/answers" "$dir/new"
	mv "$dir/new" "$dir/answers_of_test"
	tells ' 0 processes match; 4 whose executable was replaced: start it again'
	kill -0 "$first" && kill -0 "$server"
}

@test "what its user could not join is not joined either, and it is told why" {
	prepare
	cp "$E2E/server" "$dir/server_of_test"
	serve "$dir/server_of_test" traced
	watch "$dir/server_of_test" share=100% stretch=1s
	tells "process $server: 0 stretches, the last one failed: .*traced by"
	tells 'tried again in [1-9][0-9]* s'
	! grep -q maple-agent "/proc/$server/maps" || fail "the agent is there"
}

# As a user who is not root, with a state of that user's own.
as_user() {
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		env XDG_STATE_HOME="$dir/own" "$@"
}

@test "who is not root watches what is one's own, and nothing else" {
	[ "$(id -u)" = 0 ] || skip "takes root to become another user"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$BUILD/mapletest" ||
		skip "$BUILD cannot be seen by another user"
	prepare
	chmod a+rx "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$dir"
	mkdir "$dir/own" && chown 65534:65534 "$dir/own"
	touch "$dir/answers" && chmod 666 "$dir/answers"
	# By themselves, not by a shell: it is they who are killed at the end.
	serve setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$dir/answers_of_test" "$dir/answers"
	printf 'watch = %s\n' "root $dir/answers_of_test share=100%" \
		"nobody $dir/answers_of_test share=100% stretch=1s" >"$conf"
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		env XDG_STATE_HOME="$dir/own" "$BUILD/mapled" watch \
		--config "$conf" >>"$dir/log" 2>&1 3>&- &
	watch=$!
	ours="$ours $watch"
	state=$dir/own/maple/watch
	tells "process $server: [1-9]"
	grep -q "the processes of root are root's to join" "$dir/log" ||
		fail "$(cat "$dir/log")"
	# Ahead of the jobs, for people; not in what programs read.
	as_user "$BUILD/mapled" jobs | grep -q '^watched: .*answers_of_test of nobody'
	as_user "$BUILD/mapled" jobs --format json | jq -e .jobs >/dev/null
	run --separate-stderr as_user "$BUILD/mapled" watch --status
	ended_with 0
	[[ $output == *"process $server"* ]] || fail "$output"
}

@test "root's watch is the user's own job, in the user's place" {
	local place=/var/lib/maple/nobody had=yes uid

	[ "$(id -u)" = 0 ] || skip "takes root to become another user"
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$BUILD/mapletest" ||
		skip "$BUILD cannot be seen by another user"
	prepare
	[ -e "$place" ] || had=
	chmod a+rx "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$dir"
	touch "$dir/answers" && chmod 666 "$dir/answers"
	serve setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$dir/answers_of_test" "$dir/answers"
	echo "watch = nobody $dir/answers_of_test share=100% stretch=2s" >"$conf"
	# With the capabilities of its unit, and no others.
	start_watch setpriv --no-new-privs --inh-caps=-all \
		--bounding-set=-all,+setuid,+setgid,+chown,+kill
	tells "process $server: [1-9]"
	uid=$(stat -c %u "$place/memo.db")
	kill "$watch"
	wait "$watch"
	[ -n "$had" ] || rm -rf "$place"
	[ "$uid" = 65534 ] || fail "the memo is $uid's"
	[ ! -e "$XDG_STATE_HOME/maple/jobs" ] || fail "root has a job"
}
