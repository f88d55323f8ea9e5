#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Campaigns by way of a mapled that the test has started by hand.
#
# MAPLE_TEST_CLIENTS, MAPLE_TEST_CAMPAIGNS  how many clients at once, and how
# many campaigns in all, instead of 8 and 16

load common.bash
load mapled.bash

setup() {
	[ -x "$BUILD/mapled" ] || fail "$BUILD/mapled is not there"
	open_folder
	export XDG_STATE_HOME=$dir/state
	unset MAPLE_OPTIONS MAPLE_NO_DAEMON
	json=$dir/result.json
	# Others may have the CPU for a while.
	limit=250
}

teardown() {
	end_mapled KILL
	rm -rf "$dir"
}

# As in common.bash, but in mapled's memo.
campaign() {
	rm -f "$json"
	mapletest run --socket "$socket" --format json --output "$json" "$@"
}

uses() { # COMMAND...
	mapletest "$@" --socket "$socket"
	ended_with 0
}

@test "a campaign finds its bug, and all of it is in mapled's memo" {
	start_mapled
	campaign -- "$TARGETS/bank_account"
	ended_with 66
	holds '.verdict == "finding" and (.findings | length == 1)'
	id=$(jq -r '.findings[0].id' "$json")
	[ "$(sql "SELECT count(*) FROM findings WHERE id = '$id'")" = 1 ]
	[ "$(sql 'SELECT owner FROM campaigns')" = "$(id -u)" ]
	[ ! -e "$XDG_STATE_HOME" ]
	[ "$(sql 'SELECT count(*) FROM runs')" = "$(jq '[.runs[]] | add' "$json")" ]
	memo_is_whole
	grep -q "campaign 1: finding $id" "$dir/log"
	end_mapled
	grep -qv "outlived" "$dir/log"
}

@test "pages for a browser show it, also when mapled has come back" {
	local token

	start_mapled
	campaign -- "$TARGETS/bank_account"
	ended_with 66
	"$BUILD/mapletest" serve --socket "$socket" --http 0 >"$dir/address" \
		2>"$dir/said" 3>&- &
	server=$!
	for ((try = 0; try < 600; try++)); do
		[ ! -s "$dir/address" ] || break
		sleep 0.05
	done
	token=$(sed 's/.*token=//' "$dir/address")
	for ((try = 0; try < 2; try++)); do
		curl -sf -H "Authorization: Bearer $token" -o "$json" \
			"$(sed 's/?.*//' "$dir/address")findings.json"
		holds '.findings | length == 1'
		end_mapled
		start_mapled
	done
	kill "$server"
	wait "$server"
}

@test "reports, coverage, export and replay read it" {
	start_mapled
	campaign -- "$TARGETS/bank_account"
	ended_with 66
	id=$(jq -r '.findings[0].id' "$json")
	uses report
	grep -q "^$id " <<<"$output"
	uses report "$id"
	grep -q 'BUG: maple: SIGABRT' <<<"$output"
	uses report --html "$dir/page.html"
	xmllint --noout "$dir/page.html"
	uses coverage
	grep -qE '^ +class +predicted' <<<"$output"
	uses coverage --format json --output "$json"
	holds '[.coverage.predicted[]] | add > 0'
	holds '(.samples | length) >= 1'
	uses memo list
	grep -q "$TARGETS/bank_account" <<<"$output"
	uses memo export --output "$json"
	holds '(.campaigns | length == 1) and (.runs | length > 5)'
	# The same as who reads the file gets.
	mapletest memo export --no-daemon --db "$memo" --output "$dir/direct"
	ended_with 0
	cmp "$json" "$dir/direct"
	uses replay "$id"
}

@test "what is known stays known: the second campaign starts where one ended" {
	start_mapled
	campaign --max-runs 6 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	before=$(sql 'SELECT count(*) FROM goals')
	[ "$before" -gt 0 ]
	campaign --max-runs 6 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	[ "$(sql 'SELECT max(attempts) FROM memo')" -ge 1 ]
	campaign --fresh --max-runs 2 -- "$TARGETS/clean/mutex_counter"
	ended_with 0
	[ "$(sql 'SELECT count(*) FROM campaigns')" = 1 ]
	memo_is_whole
}

@test "with --db the memo is that file, the rest is mapled's" {
	start_mapled
	campaign --db "$dir/mine.db" -- "$TARGETS/bank_account"
	ended_with 66
	[ "$(sql 'SELECT count(*) FROM campaigns')" = 0 ]
	[ "$(sqlite3 "$dir/mine.db" 'SELECT count(*) FROM campaigns')" = 1 ]
	grep -q 'is lent to process' "$dir/log"
}

@test "doctor says that it answers, and what is missing if not" {
	start_mapled
	mapletest doctor --socket "$socket"
	grep -q "mapled: answers at $socket" <<<"$output"
	end_mapled
	mapletest doctor --socket "$socket"
	ended_with 125
	grep -q "mapled: no mapled at $socket" <<<"$output"
	grep -q 'systemctl enable --now mapled.socket' <<<"$output"
	mapletest run --socket "$socket" -- "$TARGETS/bank_account"
	ended_with 125
	says "no mapled at $socket"
}

# ---- several at once ----

# Campaign $1 of all, in the background; its status goes to a file. Whoever
# comes while there is no mapled, comes again.
one_of_many() {
	local status tries

	for tries in 1 2 3 4 5 6; do
		status=0
		"$BUILD/mapletest" run --socket "$socket" --quiet --confirm 0 \
			--max-runs 2 --input "key $1" --seed "$1" \
			--format json --output "$dir/many/$1.json" \
			-- "$TARGETS/bank_account" \
			>"$dir/many/$1.out" 2>&1 3>&- || status=$?
		grep -q '^mapletest: no mapled at' "$dir/many/$1.out" || break
		sleep 1
	done
	echo $status >"$dir/many/$1.status"
}

# Client $1 runs every $clients-th campaign.
one_client() {
	for ((i = $1; i <= campaigns; i += clients)); do
		one_of_many "$i"
	done
}

@test "many clients: no campaign is lost, none is mixed up with another" {
	clients=${MAPLE_TEST_CLIENTS:-8}
	campaigns=${MAPLE_TEST_CAMPAIGNS:-16}
	start_mapled
	mkdir "$dir/many"
	pids=()
	for ((k = 1; k <= clients; k++)); do
		one_client "$k" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for ((i = 1; i <= campaigns; i++)); do
		grep -qxE '66|0' "$dir/many/$i.status" ||
			fail "campaign $i: $(<"$dir/many/$i.status"): $(<"$dir/many/$i.out")"
		runs=$(jq '[.runs[]] | add' "$dir/many/$i.json")
		kept=$(sql "SELECT count(*) FROM runs r JOIN campaigns c
			ON c.id = r.campaign WHERE c.input = 'key $i'")
		[ "$runs" = "$kept" ] || fail "campaign $i: $runs runs, $kept kept"
	done
	[ "$(sql 'SELECT count(*) FROM campaigns')" = "$campaigns" ]
	[ "$(sql 'SELECT count(DISTINCT seed) FROM campaigns')" = "$campaigns" ]
	[ "$(sql 'SELECT count(*) FROM campaigns c JOIN programs p
		ON p.id = c.program WHERE p.input IS NOT c.input')" = 0 ]
	[ "$(sql 'SELECT count(DISTINCT program) FROM campaigns')" = "$campaigns" ]
	memo_is_whole
	none_left "$TARGETS/bank_account"
}

@test "kill -9 of mapled in the middle: its clients go on with the next" {
	clients=${MAPLE_TEST_KILLED:-6}
	campaigns=$clients
	start_mapled
	mkdir "$dir/many"
	pids=()
	for ((k = 1; k <= clients; k++)); do
		one_client "$k" &
		pids+=($!)
	done
	for round in 1 2 3; do
		sleep 0.7
		end_mapled KILL
		start_mapled
	done
	wait "${pids[@]}"
	for ((i = 1; i <= campaigns; i++)); do
		grep -qxE '66|0' "$dir/many/$i.status" ||
			fail "campaign $i: $(<"$dir/many/$i.status"): $(<"$dir/many/$i.out")"
		runs=$(jq '[.runs[]] | add' "$dir/many/$i.json")
		kept=$(sql "SELECT count(*) FROM runs r JOIN campaigns c
			ON c.id = r.campaign WHERE c.input = 'key $i'")
		[ "$runs" = "$kept" ] || fail "campaign $i: $runs runs, $kept kept"
	done
	[ "$(sql 'SELECT count(*) FROM campaigns')" = "$campaigns" ]
	[ "$(grep -c 'mapled: ready' "$dir/log")" = 4 ]
	memo_is_whole
	none_left "$TARGETS/bank_account"
}

@test "a mapled that does not come back ends the campaign with a reason" {
	start_mapled
	"$BUILD/mapletest" run --socket "$socket" --quiet --max-time 600 \
		-- "$E2E/own_alarms" slowly >"$dir/out" 2>&1 3>&- &
	client=$!
	until grep -q 'campaign 1:' "$dir/log"; do
		kill -0 "$client" || fail "$(<"$dir/out")"
		sleep 0.1
	done
	end_mapled KILL
	status=0
	wait "$client" || status=$?
	ended_with 125
	grep -q 'mapled has gone and did not come back' "$dir/out"
	none_left "$E2E/own_alarms"
	[ "$(sql 'PRAGMA integrity_check')" = ok ]
}

@test "who comes second waits for the CPU, hears its place, and gets it" {
	last=$(($(nproc) - 1))
	echo "cpus = $last" >"$conf"
	start_mapled
	"$BUILD/mapletest" run --socket "$socket" --quiet --keep-going --fresh \
		--max-time 60 -- "$TARGETS/clean/spin_wait" >"$dir/out" 2>&1 3>&- &
	client=$!
	until grep -q "CPU $last is lent to process $client" "$dir/log"; do
		kill -0 "$client" || break
		sleep 0.1
	done
	"$BUILD/mapletest" run --socket "$socket" --confirm 0 --max-runs 2 \
		-- "$TARGETS/bank_account" >"$dir/second" 2>&1 3>&- &
	second=$!
	until grep -q "we are next in mapled's queue, after process $client of user .*: $BUILD/mapletest run" "$dir/second"; do
		kill -0 "$second" || fail "$(<"$dir/second")"
		sleep 0.1
	done
	# A limit in time is one on this as well.
	mapletest run --quiet --socket "$socket" --max-time 1 -- "$TARGETS/bank_account"
	ended_with 125
	says 'the time was over before mapled had a CPU for us'
	# The first one vanishes, and what it ran with it.
	kill -KILL "$client"
	status=0
	wait "$client" || true
	wait "$second" || status=$?
	ended_with 66 0
	none_left "$TARGETS/clean/spin_wait"
}

# ---- who may ----

# As a user that nothing else runs as ($user, if set), in the group given, with
# the capabilities in $caps.
as_user() { # GROUP COMMAND...
	local group=$1

	shift
	run --separate-stderr timeout -s KILL 60 setpriv \
		--reuid "${user:-54321}" --regid "${user:-54321}" \
		--inh-caps "${caps:--all}" --ambient-caps "${caps:--all}" \
		--groups "$group" env HOME="$dir" "$@"
}

needs_root() {
	[ "$(id -u)" = 0 ] || skip "becoming another user takes root"
}

# bats test_tags=beside:guests
@test "a user in the group may use it, another is told how to become one" {
	needs_root
	echo "group = 54399" >"$conf"
	start_mapled
	as_user 54399 "$BUILD/mapletest" memo list --socket "$socket"
	ended_with 0
	as_user 54399 "$BUILD/mapletest" memo forget --all --socket "$socket"
	ended_with 125
	says 'takes root'
	as_user 54398 "$BUILD/mapletest" memo list --socket "$socket"
	ended_with 125
	says 'not for you: sudo usermod -aG 54399 user-54321'
	# Where everybody may connect, mapled itself looks at the peer.
	chmod 666 "$socket"
	as_user 54398 "$BUILD/mapletest" memo list --socket "$socket"
	ended_with 125
	says 'group 54399'
}

@test "a user in the group, with no rights of its own, finds the bug" {
	needs_root
	# Bit 24 is CAP_SYS_RESOURCE, without which no limit can be raised.
	caps=$((0x$(sed -n 's/^CapEff:\t//p' /proc/self/status)))
	[ $((caps >> 24 & 1)) = 1 ] || skip "no CAP_SYS_RESOURCE here"
	echo "group = 54399" >"$conf"
	start_mapled
	as_user 54399 "$BUILD/mapletest" run --socket "$socket" \
		-- "$TARGETS/bank_account"
	ended_with 66
	[ "$(sql 'SELECT owner FROM campaigns')" = 54321 ]
	memo_is_whole
}

@test "a finding is its finder's: nobody else's replay runs it unasked" {
	needs_root
	echo "group = 54399" >"$conf"
	start_mapled
	for user in 54321 54322; do
		mkdir -m 755 "$dir/$user"
		cd "$dir/$user"
		caps=+sys_nice as_user 54399 "$BUILD/mapletest" run \
			--socket "$socket" --confirm 1 \
			-- "$TARGETS/bank_account"
		ended_with 66
	done
	cd "$dir"
	# The same bug, with the same id, found twice.
	[ "$(sql 'SELECT count(DISTINCT id) FROM findings')" = 1 ]
	[ "$(sql 'SELECT group_concat(owner) FROM findings')" = 54321,54322 ]
	id=$(sql 'SELECT DISTINCT id FROM findings')
	for user in 54321 54322; do
		[ "$(sql "SELECT json FROM findings WHERE owner = $user" |
			jq -r .cwd)" = "$dir/$user" ]
		as_user 54399 "$BUILD/mapletest" report --socket "$socket" \
			--format json "$id"
		ended_with 0
		[ "$(jq -r '.findings[0].cwd' <<<"$output")" = "$dir/$user" ]
		jq -r '.findings[0].replay' <<<"$output" | grep -q "replay $id "
	done
	# Whoever runs another's command line says so, root too.
	mapletest replay --socket "$socket" "$id"
	ended_with 125
	says "several users have finding '$id'"
	mapletest replay --socket "$socket" "54321:$id"
	ended_with 125
	says "of user 54321: a replay would run his '$TARGETS/bank_account'"
	mapletest report --socket "$socket" --format json "54321:$id"
	line=$(jq -r '.findings[0].replay' <<<"$output")
	grep -q "replay --foreign 54321:$id --socket $socket" <<<"$line"
	run --separate-stderr timeout 60 sh -c "$line"
	ended_with 0 1
	user=54323
	as_user 54399 "$BUILD/mapletest" replay --socket "$socket" "54322:$id"
	ended_with 125
	says "mapletest replay --foreign 54322:$id"
	# One forgets one's own alone.
	user=54321
	as_user 54399 "$BUILD/mapletest" memo forget --socket "$socket" "54322:$id"
	ended_with 125
	says "the finding is another user's"
	as_user 54399 "$BUILD/mapletest" memo forget --socket "$socket" "$id"
	ended_with 0
	[ "$(sql 'SELECT owner FROM findings')" = 54322 ]
}

# A client of user 54321's that vanishes, and leaves a process which was its own
# when it was named and is root's by then; its number is in $dir/became.
become_another() {
	local suid=$dir/setpriv

	cp "$(command -v setpriv)" "$suid"
	chmod 4755 "$suid"
	: >"$dir/became"
	chmod 666 "$dir/became"
	timeout -s KILL 60 python3 - "$socket" "$suid" "$dir/became" \
		"$("$BUILD/mapled" --version | sed 's/.* //')" 3>&- <<-'END'
		import os, socket, struct, subprocess, sys, time
		os.setgroups([54399])
		os.setresgid(54321, 54321, 54321)
		os.setresuid(54321, 54321, 54321)
		left = subprocess.Popen(
		    ["sh", "-c", "read go; exec \"$0\" --reuid 0 --regid 0 "
		     "--clear-groups sleep 300", sys.argv[2]],
		    stdin=subprocess.PIPE, start_new_session=True)
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		def ask(kind, body, pid):
		    head = struct.pack("<IHHII", len(body), kind, 1, kind, 0)
		    socket.send_fds(s, [head + body], [os.pidfd_open(pid)])
		    answer = s.recv(4096)
		    kind = struct.unpack_from("<IH", answer)[1]
		    assert b"not" not in answer, answer
		ask(1, struct.pack("<II2s", int(sys.argv[4]), 2, b"x"), os.getpid())
		ask(5, struct.pack("<I", 1), left.pid)
		left.stdin.write(b"go\n")
		left.stdin.flush()
		while "Uid:\t0\t0\t0" not in open(f"/proc/{left.pid}/status").read():
		    assert left.poll() is None
		    time.sleep(0.05)
		open(sys.argv[3], "w").write(str(left.pid))
	END
}

# bats test_tags=beside:guests
@test "what has become another user's is left alone when its client vanishes" {
	needs_root
	echo "group = 54399" >"$conf"
	start_mapled
	become_another
	left=$(<"$dir/became")
	for try in {1..50}; do
		grep -q "outlived" "$dir/log" && break
		sleep 0.1
	done
	cat "$dir/log"
	kill -0 "$left" || fail "it was killed"
	kill -KILL "$left"
	grep -q "outlived its campaign, and is left alone" "$dir/log"
}

@test "mapled runs on no CPU that it lends" {
	start_mapled
	[ "$(nproc)" -gt 1 ] || skip "one CPU for all"
	! grep -E "^Cpus_allowed_list:.*\b$(($(nproc) - 1))\b" \
		"/proc/$mapled/status" || fail "it may run on it"
}

# ---- places ----

# NUMBER connections that stay, silent, or greeted, by a user in group 54399.
stay() { # NUMBER SILENT|GREETED
	python3 - "$socket" "$@" "$("$BUILD/mapled" --version | sed 's/.* //')" \
		>"$dir/stay" 3>&- <<-'END' &
		import os, socket, struct, sys, time
		kept = []
		if sys.argv[3] == "GREETED":
		    os.setgroups([54399])
		    os.setresgid(54321, 54321, 54321)
		    os.setresuid(54321, 54321, 54321)
		for i in range(int(sys.argv[2])):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    if sys.argv[3] == "GREETED":
		        hello = struct.pack("<II2s", int(sys.argv[4]), 2, b"x")
		        head = struct.pack("<IHHII", len(hello), 1, 1, 7, 0)
		        try:
		            socket.send_fds(s, [head + hello], [os.pidfd_open(os.getpid())])
		        except BrokenPipeError:
		            pass # sent away before
		        print(s.recv(4096).decode("latin-1"), flush=True)
		    kept.append(s)
		print("done", flush=True)
		time.sleep(60)
	END
	quiet=$!
	until grep -aq done "$dir/stay"; do
		kill -0 $quiet || fail "they did not come"
		sleep 0.1
	done
}

@test "silent connections keep nobody out, whoever has them" {
	echo "max-clients = 4" >"$conf"
	start_mapled
	stay 4 SILENT
	answers
	campaign --confirm 0 --max-runs 2 -- "$TARGETS/bank_account"
	ended_with 66 0
	kill $quiet
}

# bats test_tags=beside:guests
@test "one user's connections leave places for another's" {
	needs_root
	printf 'max-clients = 8\ngroup = 54399\n' >"$conf"
	start_mapled
	stay 5 GREETED
	# Somebody who has just asked whether it answers may still have one.
	grep -aq "[34] of the 8 connections that there may be are user 54321's" \
		"$dir/stay"
	answers
	kill $quiet
}

# ---- the other side is not what it should be ----

# A frame: type, number of descriptors, and the message in hexadecimal.
frame() { # TYPE FDS HEX
	local head

	head=$(printf '%08x%04x%04x' $((${#3} / 2)) "$1" "$2" |
		sed -E 's/(..)(..)(..)(..)(..)(..)(..)(..)/\4\3\2\1\6\5\8\7/')
	# Behind it, the serial number and what is reserved.
	printf '%b' "$(sed 's/../\\x&/g' <<<"${head}0700000000000000$3")"
}

hears() { # STRING: what mapled answers to standard input
	timeout 5 nc -U -q 1 "$socket" >"$dir/answer" || true
	grep -aq "$1" "$dir/answer" ||
		fail "no '$1' in: $(tr -c '[:print:]' . <"$dir/answer")"
}

# bats test_tags=beside:guests
@test "a client of another version is told both versions" {
	start_mapled
	# u32 99, text "9.9"
	frame 1 0 6300000004000000392e3900 | hears 'speaks version 14'
	grep -aq '9.9 version 99' "$dir/answer"
	answers
}

@test "what is no protocol is refused, and others are served meanwhile" {
	start_mapled
	head -c 100000 /dev/urandom | timeout 5 nc -U -q 1 "$socket" >/dev/null || true
	frame 999 0 '' | hears 'there is no message 999'
	frame 1 9 '' | hears '9 file descriptors'
	frame 2 0 '' | hears 'before HELLO'
	frame 1 0 01 | hears 'cut off'
	# Longer than any message; half a head; a head and nothing behind it.
	printf '\xff\xff\xff\x7f\x01\0\0\0\0\0\0\0\0\0\0\0' | hears 'the most'
	printf '\x08\0\0' | timeout 5 nc -U -q 1 "$socket" || true
	printf '\x08\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0' |
		timeout 5 nc -U -q 1 "$socket" || true
	answers
	campaign --confirm 0 --max-runs 2 -- "$TARGETS/bank_account"
	ended_with 66 0
	kill -0 "$(<"$dir/pid")"
}

# ---- mapled's own ----

# bats test_tags=beside:guests
@test "--check-config names file and line of what is wrong" {
	run -0 "$BUILD/mapled" --check-config --config "$conf"
	printf '# good\n\ncpus = 0,0-0 # one\nmax-clients=20\n' >"$conf"
	printf 'group = %s\nsocket = /run/x\ndatabase = /x/y.db\n' "$(id -gn)" >>"$conf"
	run -0 "$BUILD/mapled" --check-config --config "$conf"
	echo 'group = 54399' >"$conf" # by number, it needs no name
	run -0 "$BUILD/mapled" --check-config --config "$conf"
	for bad in 'cpus = 5-3' 'cpus =' 'cpus = 1,' 'max-clients = 0' \
		'max-clients = many' 'socket = here' 'colour = blue' 'nothing' \
		"cpus = $(getconf _NPROCESSORS_CONF)" 'group = no-such-group'; do
		printf '\n%s\n' "$bad" >"$conf"
		run -2 "$BUILD/mapled" --check-config --config "$conf"
		[[ $output == *"$conf:2: "* ]] || fail "'$bad': $output"
	done
	run -125 "$BUILD/mapled" --check-config --config "$dir/none"
	[[ $output == *"$dir/none"* ]]
}

# bats test_tags=beside:guests
@test "options: help, version, and what is none" {
	run -0 "$BUILD/mapled" --help
	[[ $output == *--check-config* ]]
	run -0 "$BUILD/mapled" --version
	[[ $output =~ ^mapled\ [0-9.]+,\ protocol\ [0-9]+$ ]]
	run -2 "$BUILD/mapled" --nonsense
	run -2 "$BUILD/mapled" word
	run -2 "$BUILD/mapled" --config
}

# What was sent may be read a moment later.
is_notified() { # TEXT
	for try in {1..100}; do
		! grep -aq "$1" "$dir/notified" || return 0
		sleep 0.1
	done
	fail "no $1"
}

# bats test_tags=beside:guests
@test "systemd's socket wakes it, and is told when it is ready" {
	NOTIFY_SOCKET=$dir/notify timeout 100 nc -lkuU "$dir/notify" \
		>"$dir/notified" 3>&- &
	notified=$!
	until [ -S "$dir/notify" ]; do sleep 0.1; done
	systemd-socket-activate -l "$socket" -E NOTIFY_SOCKET="$dir/notify" \
		"$BUILD/mapled" --db "$memo" --config "$conf" >"$dir/log" 2>&1 3>&- &
	echo $! >"$dir/pid"
	until [ -S "$socket" ]; do sleep 0.1; done
	! grep -q ready "$dir/log" || fail "$(cat "$dir/log")"
	uses memo list
	grep -q 'mapled: ready' "$dir/log"
	is_notified 'READY=1'
	end_mapled
	is_notified 'STOPPING=1'
	kill "$notified"
}

# bats test_tags=beside:guests
@test "two do not listen at one place" {
	start_mapled
	run -125 timeout 10 "$BUILD/mapled" --socket "$socket" --db "$dir/other.db" \
		--config "$conf"
	[[ $output == *"another mapled listens at $socket"* ]]
	answers
}

# bats test_tags=beside:guests
@test "at its end the socket goes, but not that of its successor" {
	start_mapled
	[ -S "$socket" ]
	end_mapled
	[ ! -e "$socket" ]
	start_mapled
	first=$mapled
	rm "$socket"
	start_mapled
	kill "$first"
	wait "$first"
	[ -S "$socket" ]
	answers
	end_mapled
	[ ! -e "$socket" ]
}

# bats test_tags=beside:guests
@test "what it keeps is nobody else's to read" {
	start_mapled
	answers
	[ "$(stat -c %a "$memo")" = 600 ]
	[ "$(stat -c %a "$memo-wal")" = 600 ]
}
