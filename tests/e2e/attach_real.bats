#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Servers of others are joined by the agent and left again under load: no request
# fails, orders are forced, and their threads are as they were. A server of ours:
# attach_agent.bats.
#
# MAPLE_FULL  each is joined 200 times

load common
load joined.bash

# Has asks.py ask it.
ask() { # KIND
	: >"$BATS_TEST_TMPDIR/answers"
	python3 "$BATS_TEST_DIRNAME/asks.py" "$1" "$BATS_TEST_TMPDIR/socket" \
		"$BATS_TEST_TMPDIR/answers" 3>&- 2>"$BATS_TEST_TMPDIR/asking" &
	ours="$ours $!"
	eventually_answers 2000
}

eventually_answers() { # MORE
	for try in {1..1200}; do
			[ "$(answered 1)0" -lt "${1}0" ] || return 0
		sleep 0.1
	done
	fail "it does not answer: $(cat "$BATS_TEST_TMPDIR/asking")"
}

socket_is_there() {
	for try in {1..300}; do
		[ ! -S "$BATS_TEST_TMPDIR/socket" ] || return 0
		sleep 0.1
	done
	fail "it does not listen"
}

# It is joined and left often; memory of its own it may have more of.
is_undisturbed() {
	local before often=${MAPLE_FULL:+200}

	before=$(threads_of "$server")
	join_often "${often:-6}"
	holds '.runs.profile >= 1 and .runs.enforced >= 1'
	holds '[.coverage.exposed[]] | add > 0'
	! grep maple "/proc/$server/maps" || fail "something is left"
	for try in {1..600}; do
		[ "$(threads_of "$server")" != "$before" ] || break
		sleep 0.1
	done
	[ "$(threads_of "$server")" = "$before" ] ||
		fail "$(diff <(echo "$before") <(threads_of "$server"))"
	serves
	[ "$(answered 2)" = 0 ] || fail "$(answered 2) requests failed"
}

@test "memcached answers as ever, and takes orders" {
	[ -n "${MAPLE_FULL-}" ] ||
		skip "with MAPLE_FULL: its 80,000 sites take minutes to predict from"
	cd "$BATS_TEST_TMPDIR"
	serve sh -c "echo \$\$; exec memcached -u '$(id -un)' -t 4 -s socket \
		>memcached.log 2>&1"
	socket_is_there
	ask memcached
	is_undisturbed
}

# One process, whose pool of threads reads the file.
@test "nginx with a pool of threads answers as ever, and takes orders" {
	cd "$BATS_TEST_TMPDIR"
	mkdir html
	for i in {1..4096}; do printf 0123456789abcdef; done >html/file
	cat >nginx.conf <<-END
		user $(id -un) $(id -gn);
		daemon off;
		master_process off;
		pid pid;
		error_log error;
		thread_pool readers threads=4;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path temp;
			proxy_temp_path temp;
			fastcgi_temp_path temp;
			uwsgi_temp_path temp;
			scgi_temp_path temp;
			keepalive_requests 1000000000;
			server {
				listen unix:$BATS_TEST_TMPDIR/socket;
				root html;
				aio threads=readers;
			}
		}
	END
	serve sh -c 'echo $$; exec nginx -p "$PWD" -c nginx.conf >nginx.log 2>&1'
	socket_is_there
	ask http
	is_undisturbed
}
