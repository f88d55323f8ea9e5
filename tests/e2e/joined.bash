# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A server that is joined by the agent, and what is to be as it was before; for
# the tests of this folder. The files of a test lie in $BATS_TEST_TMPDIR.

load serving

# How the server's threads are scheduled, who traces it, what it has mapped and
# opened.
state_of() {
	for task in /proc/"$1"/task/*; do
		echo "${task##*/} $(chrt -p "${task##*/}")" \
			"$(grep -E '^(State:.[TtZ]|TracerPid|Cpus_allowed:|Sig(Blk|Ign|Cgt):)' \
				"$task/status")"
	done
	# But for what libc has to allocate from: a thread that had not done so
	# before has an arena from then on, at 64 MiB, with a rest that is not
	# used yet.
	awk '
		/\[heap\]/ { next }
		NF == 5 && $1 ~ /^[0-9a-f]+[048c]000000-/ { next }
		NF == 5 && $2 == "---p" { next }
		{ print $1, $2, $3, $4, $5, $6 }' "/proc/$1/maps"
	ls "/proc/$1/fd"
	grep 'realtime priority' "/proc/$1/limits"
}

# Waits until the server is as it was before: $before.
is_as_before() {
	for try in {1..600}; do
		[ "$(state_of "$server")" != "$before" ] || return 0
		sleep 0.1
	done
	diff <(echo "$before") <(state_of "$server")
	fail "it is not as it was"
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
