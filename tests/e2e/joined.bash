# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A server that is joined by the agent, for the tests of this folder. The files of a
# test lie in $BATS_TEST_TMPDIR.

load serving
load process.bash

# Waits until the server is as it was before: $before.
is_as_before() {
	for try in {1..600}; do
		[ "$(state_of "$server")" != "$before" ] || return 0
		sleep 0.1
	done
	diff <(echo "$before") <(state_of "$server")
	fail "it is not as it was${how:+, round $round: $how}"
}

answered() { # FIELD
	awk "{ print \$$1 }" "$BATS_TEST_TMPDIR/answers"
}

# It answers on.
serves() {
	local then

	then=$(answered 1)
	for try in {1..600}; do
		[ "$(answered 1)" = "$then" ] || return 0
		sleep 0.1
	done
	fail "it does not answer any more"
}

attach() { # OPTIONS... PID
	rm -f "$json"
	mapletest attach --db "$db" --backend agent --format json \
		--output "$json" "$@"
}

# Attaches to it until it has been joined and left so often: once a run.
join_often() { # WANTED [OPTION...]
	local wanted=$1 joins=0 more busy=0 seconds=8

	shift
	status=
	until [ $joins -ge "$wanted" ] && [ "$status" = 0 ]; do
		limit=$((200 + seconds)) attach --timeout 200ms \
			--max-time ${seconds}s --keep-going --fresh "$@" $server
		more=$(jq '.runs.profile + .runs.enforced' "$json")
		joins=$((joins + more))
		# Beside other campaigns there may be too little time for this one,
		# some times in a row.
		if [ "$status" = 125 ] && [ $((busy += 1)) -le 40 ] &&
			grep -q 'another campaign' <<<"$stderr"; then
			continue
		fi
		# ... or where there is much to read, and to predict.
		if [ "$status" = 125 ] && [ $seconds -lt 120 ] &&
			jq -e '.undelivered | test("no order was forced")' "$json"; then
			seconds=$((seconds * 2))
			continue
		fi
		ended_with 0
		busy=0
		holds '.backends.observe == "agent" and
			.backends.enforce == "agent"'
		[ "$more" -ge 1 ] || fail "it was not joined"
	done
	echo "# joined and left $joins times"
}
