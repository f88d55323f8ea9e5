#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapled observer: a user who may not load eBPF has programs of its own observed by
# the service, which has CAP_BPF and CAP_PERFMON and no other capability. What it
# refuses: test_observer.c. Here campaigns use it, a job in its sandbox as well, and
# service, campaign and target are killed at many moments: then nobody is probed
# any more.
#
# MAPLE_TEST_KILLS  how often each is killed, instead of 2; with MAPLE_FULL 200
#
# It takes root, to be two other users, and a kernel whose links have many uprobes;
# else the tests are skipped, and say so.

load common
load serving

service_uid=65533

needs_service() {
	[ "$(id -u)" = 0 ] || skip "it takes root to be other users"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel does not say its types"
	in_public "$E2E/server" "$TARGETS/bank_account"
	chmod 755 "$public"/*
	chmod 777 "$public/state"
	socket=$public/state/observer.sock
	start_service
	"$BUILD/mapletest" doctor --format json 2>/dev/null | jq -e '.probes[] |
		select(.name == "eBPF observer") |
		.text | test("all sites at once")' >/dev/null ||
		skip "this kernel's links have one uprobe each"
}

# With two capabilities, in a bounding set that has no others.
start_service() {
	local caps=-all,+bpf,+perfmon

	rm -f "$socket"
	setpriv --reuid=$service_uid --regid=$service_uid --clear-groups \
		--inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps \
		--no-new-privs -- "$BUILD/mapled" observer --socket "$socket" \
		>>"$BATS_TEST_TMPDIR/service" 2>&1 3>&- &
	service=$!
	ours="$ours $service"
	for try in {1..300}; do
		[ ! -S "$socket" ] || break
		sleep 0.1
	done
	chmod 666 "$socket"
	[ "$(awk '/^CapPrm/ { print $2 }' /proc/$service/status)" = \
		000000c000000000 ]
}

# A user without any capability.
user=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all
	--ambient-caps=-all --bounding-set=-all --)

# A server of that user's; it is $server.
serve_user() {
	serve "${user[@]}" "$public/server" clean
}

with_service() { # COMMAND...
	run --separate-stderr timeout -s KILL "$((${limit:-60} + 120))" \
		env MAPLE_OBSERVER="$socket" XDG_STATE_HOME="$public/state" \
		XDG_CACHE_HOME="$public/state" "${user[@]}" "$@"
	[ "$status" != 137 ] || fail "killed, or not done in time"
}

attach_behind() {
	MAPLE_OBSERVER=$socket XDG_STATE_HOME=$public/state \
		XDG_CACHE_HOME=$public/state "${user[@]}" "$public/mapletest" \
		attach --backend kernel --db :memory: --max-time 60s --timeout 2s \
		$server >"$BATS_TEST_TMPDIR/live" 2>&1 3>&- &
	attached=$!
	ours="$ours $attached"
}

is_probed() { [ "$(probes)" != "0 0" ]; }
probes() { "$E2E/probed" $server; }

# Links go one after the other, each when nobody can be in a probe any more.
is_unprobed() {
	for try in {1..600}; do
		[ "$(probes)" != "0 0" ] || return 0
		sleep 0.1
	done
	fail "probes are left ($how): $(probes)"
}

# Sessions are the service's children; none may be left of one that was killed.
no_session() { # PARENT
	for try in {1..600}; do
		pgrep -P "$1" >/dev/null || return 0
		sleep 0.1
	done
	fail "sessions are left ($how): $(pgrep -aP "$1")"
}

@test "doctor says whether the service observes for us" {
	needs_service
	with_service "$public/mapletest" doctor --format json
	jq -e '.probes[] | select(.name == "eBPF observer") | .state == "ok" and
		(.text | test("by the service at .*observer.sock"))' <<<"$output"
	kill -KILL $service
	with_service "$public/mapletest" doctor --format json
	jq -e '.probes[] | select(.name == "eBPF observer") | .state != "ok" and
		(.text | test("CAP_BPF and CAP_PERFMON.*no observer at")) and
		(.mend | test("mapled-observer.socket.*group maple"))' <<<"$output"
}

# A campaign of runs takes real-time priorities, by whatever way.
@test "a program of a user who may not load eBPF is observed by the service" {
	local caps=-all,+sys_nice

	needs_service
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups
		--inh-caps=$caps --ambient-caps=$caps --bounding-set=$caps --)
	with_service "$public/mapletest" run --format json --db :memory: \
		--backend ebpf+agent --strategy maple --max-runs 3 --confirm 0 \
		--keep-going -- "$public/bank_account"
	json=$BATS_TEST_TMPDIR/result.json
	echo "$output" >"$json"
	holds '.backends.observe == "ebpf" and .runs.profile >= 1'
	holds '[.coverage.exposed[], .coverage.predicted[]] | add > 0'
	holds '.delivery.hits.trap > 0 and .delivery.undelivered_runs == 0'
	# Without the service the same user has no eBPF.
	kill -KILL $service
	with_service "$public/mapletest" run --db :memory: \
		--backend ebpf+agent --max-runs 3 -- "$public/bank_account"
	ended_with 125
	says "CAP_BPF and CAP_PERFMON.*no observer at"
}

@test "a server is observed as root would observe it, and left" {
	needs_service
	serve_user
	with_service "$public/mapletest" attach --format json --db :memory: \
		--backend kernel --max-time 5s $server
	echo "$output" >"$json"
	ended_with 0 125
	holds '.backends.observe == "ebpf" and .runs.profile >= 1'
	holds '[.coverage.predicted[]] | add > 0'
	holds '.delivery.hits.trap > 100'
	how="at its end" is_unprobed
	no_session $service
}

@test "a job in its sandbox is observed by the service" {
	local number

	needs_service
	serve_user
	with_service "$public/mapletest" attach --detach --no-daemon --quiet \
		--db "$public/state/memo.db" --backend kernel --max-time 6s $server
	ended_with 0
	number=$output
	how="its job ended"
	for try in {1..600}; do
		with_service "$public/mapletest" jobs --format json
		jq -e '.jobs[0].state != "running"' <<<"$output" || {
			sleep 0.5
			continue
		}
		break
	done
	jq -e ".jobs[0].number == $number and .jobs[0].runs >= 1" <<<"$output" ||
		fail "the job: $output $(cat "$public/state/maple/jobs/$number/log")"
	with_service "$public/mapletest" memo list --db "$public/state/memo.db"
	[[ $output == *server* ]]
	is_unprobed
}

@test "service, campaign and target are killed at many moments: no probe stays" {
	local kills=${MAPLE_TEST_KILLS:-${MAPLE_FULL:+200}} victim probed=0
	local began=0

	needs_service
	for ((round = 0; round < 3 * ${kills:=2}; round++)); do
		[ -d "/proc/$service" ] || start_service
		[ -n "$server" ] && [ -d "/proc/$server" ] || serve_user
		attach_behind
		case $((round % 3)) in
		0) how=service victim=$service ;;
		1) how=campaign victim=$attached ;;
		2) how=target victim=$server ;;
		esac
		# Two of three once it is probed, the third somewhere before.
		if [ $((round / 3 % 3)) != 2 ]; then
			for try in {1..600}; do
				! is_probed || break
				kill -0 $attached 2>/dev/null || fail "it has \
ended: $(cat "$BATS_TEST_TMPDIR/live")"
				sleep 0.1
			done
			is_probed || fail "it is not probed"
			probed=$((probed + 1))
		fi
		sleep 0.$((RANDOM % 10))$((RANDOM % 10))
		kill -KILL $victim
		began=$((began + 1))
		[ $how = target ] || is_unprobed
		[ $how = service ] || [ $how = target ] || no_session $service
		kill -KILL $attached 2>/dev/null || true
		wait $attached $victim 2>/dev/null || true
		[ $how != target ] || server=
		[ $how = service ] || no_session $service
	done
	[ $began = $((3 * kills)) ] && [ $probed -ge 1 ]
	echo "# $began kills, $probed of them while probes were in place"
}
