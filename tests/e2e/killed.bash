# SPDX-License-Identifier: GPL-2.0-only OR MIT
# Jobs that are killed at many moments, for the tests of this folder. $mark is in
# the environment of all that comes of one; $number is the job, $round and $how
# are the kill. Whose file is loaded says how its kinds of kills are called.
#
# MAPLE_TEST_KILLS  how often each kind is tried, instead of what the test says;
#                   with MAPLE_FULL 200
# MAPLE_TEST_KIND   this one alone

kills() { # NUMBER KIND...: sets $KILLS, the rounds there are, and ${kinds[]}
	local each=${MAPLE_TEST_KILLS:-${MAPLE_FULL:+200}}

	kinds=("${@:2}")
	[ -z "${MAPLE_TEST_KIND-}" ] || kinds=("$MAPLE_TEST_KIND")
	KILLS=$((${each:-$1} * ${#kinds[@]}))
}

# The processes that there are of jobs, whoever their parents are by now.
of_jobs() {
	grep -lzxFs -- "$mark" /proc/[0-9]*/environ | cut -d/ -f3
}

end_jobs() {
	local pid

	for pid in $(of_jobs); do
		kill -KILL "$pid" 2>/dev/null || true
	done
}

known() { # FIELD
	"$BUILD/mapletest" jobs --format json |
		jq -r ".jobs[] | select(.number == $number).$1"
}

# Until this command succeeds.
eventually() { # WHAT COMMAND...
	local tries=3000

	until "${@:2}"; do
		tries=$((tries - 1))
		[ $tries != 0 ] ||
			fail "round $round, job $number, $how: not $1:" \
				"$(tail -n 5 "$XDG_STATE_HOME/maple/jobs/$number/log")"
		sleep 0.1
	done
}

none_of_jobs() { [ -z "$(of_jobs)" ]; }
has_ended() { [ "$(known state)" != running ]; }
has_run() { [ "$(known runs)" -gt "$1" ] || has_ended; }

is_cut_off() {
	eventually "ended" has_ended
	[ "$(known state)/$(known status)" = "cut off/null" ] ||
		fail "round $round, $how: $(known state)"
}

is_whole() { # MEMO
	[ ! -e "$1" ] ||
		[ "$(sqlite3 -cmd '.timeout 10000' "$1" 'PRAGMA integrity_check')" = ok ] ||
		fail "round $round, $how: $1 is damaged"
}
