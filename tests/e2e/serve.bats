#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# mapletest serve: pages of the memo database, for those who know the token.

load common

setup_file() {
	export DB=$BATS_FILE_TMPDIR/memo.db

	"$BUILD/mapletest" run --db "$DB" --seed 1 --max-runs 60 --confirm 1 --quiet \
		-- "$BUILD/tests/targets/bank_account" >/dev/null 2>&1 3>&- ||
		[ $? = 66 ]
}

# Serves at any port with these options; its address is in $base, its token in
# $token, its pid in $server.
serve() {
	local try

	out=$BATS_TEST_TMPDIR/out
	"$BUILD/mapletest" serve --db "$DB" --http 0 "$@" >"$out" \
		2>"$BATS_TEST_TMPDIR/err" 3>&- &
	server=$!
	for ((try = 0; try < 600; try++)); do
		[ ! -s "$out" ] || break
		sleep 0.05
	done
	base=$(cat "$out")
	token=${base#*token=}
	base=${base%%\?*}
	[ -n "$base" ] || fail "$(cat "$BATS_TEST_TMPDIR/err")"
}

teardown() {
	"$BUILD/mapletest" jobs --format json 2>/dev/null |
		jq -r '.jobs[] | select(.state == "running").number' |
		xargs -r "$BUILD/mapletest" jobs --stop >/dev/null 2>&1 || true
	[ -z "${server-}" ] || kill "$server" 2>/dev/null || true
}

# The body of PATH into $page, and its status into $code.
get() { # PATH [CURL-OPTION...]
	page=$BATS_TEST_TMPDIR/page
	code=$(curl -s -o "$page" -w '%{http_code}' "${@:2}" "$base$1")
}

known() { # PATH
	get "$1" -H "Authorization: Bearer $token"
}

# bats test_tags=beside:guests
@test "the list leads to each finding, and both are well-formed" {
	local finding

	serve
	known ''
	[ "$code" = 200 ]
	xmllint --noout "$page"
	grep -q 'http-equiv="refresh"' "$page"
	grep -q 'id="f1"' "$page" && fail "all of it in the list"
	finding=$(grep -o 'href="/finding/[^"]*"' "$page" | cut -d'"' -f2)
	[[ $finding =~ ^/finding/$(id -u):[0-9a-f]{12}$ ]] || fail "'$finding'"
	known "${finding#/}"
	[ "$code" = 200 ]
	xmllint --noout "$page"
	grep -q 'id="f1"' "$page"
	grep -q 'href="/"' "$page"
	! grep -q 'http-equiv="refresh"' "$page" || fail "it looks again"
}

# bats test_tags=beside:guests
@test "the same as JSON, as report says it" {
	local id

	serve
	known findings.json
	"$BUILD/mapletest" report --db "$DB" --format json >"$BATS_TEST_TMPDIR/said"
	id=$(jq -r '.findings[0].id' "$page")
	[ "$id" = "$(jq -r '.findings[0].id' "$BATS_TEST_TMPDIR/said")" ]
	known "finding/$id.json"
	[ "$(jq -r '.findings[0].id' "$page")" = "$id" ]
	known programs.json
	[ "$(jq '.programs[0].findings' "$page")" = 1 ]
}

@test "what comes while it serves is there the next time" {
	cp "$DB" "$BATS_TEST_TMPDIR/grows.db"
	DB=$BATS_TEST_TMPDIR/grows.db
	serve
	known programs.json
	[ "$(jq '.programs | length' "$page")" = 1 ]
	"$BUILD/mapletest" run --db "$DB" --strategy native --max-runs 2 --quiet -- \
		"$BUILD/tests/targets/clean/mutex_counter" >/dev/null 2>&1 3>&- || true
	known programs.json
	[ "$(jq '.programs | length' "$page")" = 2 ]
}

# A campaign that lasts, without a terminal; its number is in $number. Random
# schedules are never all tried.
lasting() {
	number=$("$BUILD/mapletest" run --detach --quiet --db "$DB" --keep-going \
		--strategy pos --max-time 1000s -- "$BUILD/tests/targets/bank_account" "$@" \
		2>/dev/null 3>&-)
	[[ $number =~ ^[1-9][0-9]*$ ]] || fail "no number: '$number'"
}

# Until the page of a job shows this.
shown() { # NUMBER REGEX
	local tries=600

	until known "job/$1" && grep -Eq "$2" "$page"; do
		tries=$((tries - 1))
		[ $tries != 0 ] || fail "no '$2': $(cat "$page")"
		sleep 0.2
	done
}

@test "a job is seen while it runs, and after its end" {
	local runs title

	serve
	known ''
	! grep -q '>Jobs<' "$page" || fail "jobs, and there are none"
	lasting 'a<b>&"c'
	# Its curve is there once a run has ended.
	shown "$number" '<polyline'
	xmllint --noout "$page"
	grep -q 'http-equiv="refresh"' "$page"
	grep -q '<title>Job 1: running</title>' "$page"
	grep -q 'a&lt;b&gt;&amp;&quot;c' "$page"
	! grep -q '<script' "$page" || fail "it has a script"
	runs=$(grep -oE '[0-9]+ runs?, ' "$page" | head -n 1 | cut -d' ' -f1)
	shown "$number" "[^0-9]$((runs + 1)) runs|[^0-9]$((runs + 2)) runs|[0-9]{2,} runs"
	known ''
	xmllint --noout "$page"
	grep -q '<a href="/job/1">job 1</a>' "$page"
	grep -q 'badge runs">running<' "$page"
	known jobs.json
	[ "$(jq -r '.jobs[0].state' "$page")" = running ]
	jq -e '.jobs[0].curve | length > 0 and ([.[].runs] | . == unique) and
		.[-1].runs > 0' "$page"
	"$BUILD/mapletest" jobs --stop 1 >/dev/null 2>&1 || true
	known job/1
	xmllint --noout "$page"
	! grep -q 'http-equiv="refresh"' "$page" || fail "it looks again"
	! grep -q '>running<' "$page" || fail "it runs"
	grep -q 'Last lines of its log' "$page"
	known ''
	grep -q '>job 1</a>' "$page"
	for title in job/2 job/0 job/01 job/-1 job/1x job/ job/1/../1 \
		job/99999999999999999999; do
		get "$title" --path-as-is -H "Authorization: Bearer $token"
		[ "$code" = 404 ] || fail "$title: $code"
	done
	get job/1
	[ "$code" = 403 ]
}

@test "what is cut off is said so; many that ended leave room for one that runs" {
	local i place=$XDG_STATE_HOME/maple/jobs

	lasting
	kill -KILL "$("$BUILD/mapletest" jobs --format json | jq '.jobs[0].pid')"
	"$BUILD/mapletest" jobs --wait 1 >/dev/null 2>&1 || true
	for ((i = 2; i < 30; i++)); do
		cp -a "$place/1" "$place/$i"
	done
	mv "$place/1" "$place/1000"
	serve
	known job/1000
	grep -q '<title>Job 1000: cut off</title>' "$page"
	grep -q 'What it had learned is in the memo' "$page"
	printf '\033[31m\000</pre>\377' >"$place/1000/log"
	printf '{"program":["\\u0001</a>"]}' >"$place/2/about.json"
	known job/1000
	xmllint --noout "$page"
	known ''
	xmllint --noout "$page"
	[ "$(grep -c '/job/' "$page")" = 20 ]
	grep -q '9 older jobs: mapletest jobs lists them' "$page"
	known job/2
	xmllint --noout "$page"
	lasting
	known ''
	[ "$(grep -o '/job/[0-9]*' "$page" | head -n 1)" = "/job/$number" ]
	"$BUILD/mapletest" jobs --stop "$number" >/dev/null 2>&1 || true
}

# bats test_tags=beside:guests
@test "nobody reads without the token" {
	local path wrong

	serve
	for path in '' findings.json programs.json "finding/0:1" "?token=" \
		"?token=${token%?}" "?token=${token}0"; do
		get "$path"
		[ "$code" = 403 ] || fail "'$path': $code"
		! grep -qi 'html\|bank' "$page" || fail "'$path': $(cat "$page")"
	done
	for wrong in "Bearer x$token" "Bearer " "Basic $token" "$token"; do
		get findings.json -H "Authorization: $wrong"
		[ "$code" = 403 ] || fail "'$wrong': $code"
	done
	get findings.json -H "Cookie: maple-0=$token"
	[ "$code" = 403 ]
}

# bats test_tags=beside:guests
@test "the token leaves the address for a cookie" {
	local jar=$BATS_TEST_TMPDIR/jar

	serve
	get "?token=$token" -c "$jar"
	[ "$code" = 303 ]
	grep -q '^#HttpOnly_' "$jar"
	get '' -b "$jar"
	[ "$code" = 200 ]
	! grep -q "$token" "$page" || fail "the token is in the page"
	# Nor does it lead anywhere else.
	run -0 curl -s -o /dev/null -w '%{redirect_url}' \
		"$base/evil.example/?token=$token"
	[ "$output" = "$base" ] || fail "$output"
}

# bats test_tags=beside:guests
@test "it can only be read, and what is not there is said" {
	serve
	for method in POST PUT DELETE PATCH; do
		get '' -X $method -d all -H "Authorization: Bearer $token"
		[ "$code" = 405 ] || fail "$method: $code"
	done
	for path in nothing finding/ finding/nothing finding/-1:00 finding/1:2:3 \
		"finding/$(printf '%0200d' 0)" ../etc/passwd; do
		get "$path" --path-as-is -H "Authorization: Bearer $token"
		[ "$code" = 404 ] || fail "$path: $code"
	done
	"$BUILD/mapletest" report --db "$DB" --quiet >"$BATS_TEST_TMPDIR/said" || true
	grep -q bank "$BATS_TEST_TMPDIR/said"
}

# bats test_tags=beside:guests
@test "requests that are none, and many at a time, end nothing" {
	local port n pids=()

	serve
	port=${base%/} port=${port##*:}
	head -c 100000 /dev/urandom | timeout 5 nc -N 127.0.0.1 "$port" >/dev/null || true
	printf 'GET / HTTP/1.1\r\nHost: x\r\n' | timeout 2 nc 127.0.0.1 "$port" \
		>/dev/null || true
	for ((n = 0; n < 40; n++)); do
		curl -s -o /dev/null --retry 20 --retry-all-errors --retry-delay 0 \
			-H "Authorization: Bearer $token" "$base" & pids+=($!)
	done
	wait "${pids[@]}"
	known ''
	[ "$code" = 200 ]
}

# bats test_tags=beside:guests
@test "a token of one's own is not printed; one that is none is refused" {
	local file=$BATS_TEST_TMPDIR/token

	echo "a-token-of-26-characters_X" >"$file"
	serve --token "$file"
	! grep -q token "$out" || fail "$(cat "$out")"
	token=$(cat "$file")
	known ''
	[ "$code" = 200 ]
	for bad in short "blanks are no part of it"; do
		echo "$bad" >"$file"
		run -2 "$BUILD/mapletest" serve --db "$DB" --http 0 --token "$file"
		[[ $output = *"16 to 127 letters"* ]]
	done
	run -2 "$BUILD/mapletest" serve --db "$DB" --token /nowhere
	[[ $output = *"--token '/nowhere': No such file"* ]]
}

# bats test_tags=beside:guests
@test "where it cannot be, and what it cannot read, is said at once" {
	local address port

	for address in x 65536 -1 127.0.0.1: :80 ::1:80 "[::1:80" 1.2.3.4.5:80; do
		run -2 "$BUILD/mapletest" serve --db "$DB" --http "$address"
		[[ $output = *"'$address'"* ]] || fail "$output"
	done
	serve
	port=${base%/} port=${port##*:}
	run -125 "$BUILD/mapletest" serve --db "$DB" --http "$port"
	[[ $output = *"already in use; another port"* ]] || fail "$output"
	run -125 "$BUILD/mapletest" serve --db "$BATS_TEST_TMPDIR/none.db"
	[[ $output = *"there is no memo database"* ]]
	run -2 "$BUILD/mapletest" serve --db "$DB" something
}

# bats test_tags=beside:guests
@test "Ctrl-C ends it with 0; a database that went away is said, and is back" {
	cp "$DB" "$BATS_TEST_TMPDIR/goes.db"
	DB=$BATS_TEST_TMPDIR/goes.db
	serve
	mv "$DB" "$DB.away"
	known ''
	[ "$code" = 503 ]
	grep -q 'there is no memo database' "$BATS_TEST_TMPDIR/err"
	mv "$DB.away" "$DB"
	known ''
	[ "$code" = 200 ]
	kill -TERM "$server"
	status=0
	wait "$server" || status=$?
	server=
	[ "$status" = 0 ]
}
