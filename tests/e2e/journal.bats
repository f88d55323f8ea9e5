#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What mapled and jobs tell the journal, and mapletest log of it, with a
# systemd-journald of the test's own in a mount namespace.

load common.bash
load mapled.bash

JOURNALD=/lib/systemd/systemd-journald

setup() {
	[ "$(id -u)" = 0 ] || skip "takes root"
	[ -x $JOURNALD ] && command -v journalctl >/dev/null ||
		skip "there is no systemd-journald"
	open_folder
	export XDG_STATE_HOME=$dir/state
	unset MAPLE_OPTIONS MAPLE_NO_DAEMON
	json=$dir/result.json
	limit=250
}

teardown() {
	[ -z "${dir-}" ] || rm -rf "$dir"
}

# Runs the lines of standard input where nobody's journal is.
with_journal() {
	{
		cat <<-END
			set -e
			for at in /run/systemd /run/log /var/log; do
				mkdir -p \$at
				mount -t tmpfs none \$at
			done
			mkdir -p /run/log/journal
			ours=
			trap 'kill \$ours; wait' EXIT
			# Inherited files would keep the test from its end.
			$JOURNALD >'$dir/journald' 2>&1 3>&- &
			ours=\$!
			until [ -S /run/systemd/journal/socket ]; do sleep 0.1; done
			JOURNAL_STREAM=1:1 '$BUILD/mapled' --socket '$socket' \
				--db '$memo' --config '$conf' >'$dir/log' 2>&1 3>&- &
			ours="\$ours \$!"
			until [ -S '$socket' ]; do sleep 0.1; done
		END
		cat
	} >"$dir/script"
	run --separate-stderr timeout -s KILL "$limit" \
		unshare -m bash "$dir/script" 3>&-
	[ "$status" = 0 ] || fail "$output"
}

@test "a campaign's lines have fields, and log --job shows those of a job" {
	with_journal <<-END
		'$BUILD/mapletest' run --detach --wait --quiet --socket '$socket' \
			-- '$TARGETS/bank_account' || [ \$? = 66 ]
		# Another one, which is no job.
		'$BUILD/mapletest' run --quiet --socket '$socket' --max-runs 3 \
			-- '$TARGETS/clean/mutex_counter' || [ \$? = 125 ]
		# What calls itself mapled, or is another user's job of this number.
		for name in mapled mapletest; do
			printf '%s\n' MESSAGE=forged SYSLOG_IDENTIFIER=\$name \
				MAPLE_JOB=1 MAPLE_UID=0 |
				setpriv --reuid 54321 --regid 54321 --clear-groups \
				logger --journald
		done
		printf '%s\n' MESSAGE=another SYSLOG_IDENTIFIER=mapled MAPLE_JOB=1 \
			MAPLE_UID=54321 | logger --journald
		journalctl --sync
		journalctl -o json --no-pager >'$dir/entries'
		'$BUILD/mapletest' log --job 1 >'$dir/of_job'
		'$BUILD/mapletest' log >'$dir/all'
		TERM=xterm script -qc "'$BUILD/mapletest' log --job 1" /dev/null \
			>'$dir/colour' </dev/null
		'$BUILD/mapletest' log --job 2 >'$dir/none'
	END
	echo "$(<"$dir/of_job")"
	jq -s '[.[] | select(.SYSLOG_IDENTIFIER == "mapled" and .MAPLE_JOB == "1" and
		._UID == "0" and .MAPLE_UID == "0")]' "$dir/entries" >"$json"
	holds 'all(.[]; .MAPLE_CAMPAIGN == "1" and (.MAPLE_PID | tonumber) > 1)'
	holds '.[0] | .MESSAGE | test("^campaign 1: process .* tests .*, strategy ")'
	holds '.[0].MAPLE_PROGRAM | endswith("/bank_account")'
	holds '[.[].MAPLE_FINDING | strings] | unique | length == 1'
	holds '[.[] | select(.MAPLE_FINDING).MAPLE_IROOT] | all(.[];
		test("^(idiom [1-6], )?.*[RW] bank_account.c:[0-9]+ "))'
	holds '.[-1] | .MAPLE_OUTCOME == "finding" and
		(.MESSAGE | test("campaign 1: finding, [1-9][0-9]* candidates, "))'
	# The lines in their order, nobody else's, and plain where it is no terminal.
	grep -q 'maple: job 1: begins, .*bank_account' <(head -n 1 "$dir/of_job")
	grep -q 'maple: job 1: finding, ' <(tail -n 1 "$dir/of_job")
	grep -q 'maple: BUG: maple: SIGABRT' "$dir/of_job"
	! grep -q 'campaign 2\|forged\|another\|'$'\033' "$dir/of_job" ||
		fail "$(cat "$dir/of_job")"
	grep -q 'campaign 2' "$dir/all"
	! grep -q forged "$dir/all" || fail "$(cat "$dir/all")"
	[ ! -s "$dir/none" ]
	grep -q $'^\033\\[32m\\[.*\\]\033\\[0m maple: \033\\[1;31mBUG: ' "$dir/colour"
}

# What root begins is root's job, though it is carried out as the process's user, who
# has a job of that number as well.
@test "log --job shows a job that is attached, also root's to a user's process" {
	local uid=54321
	local user="setpriv --reuid $uid --regid $uid --clear-groups"

	$user test -x "$BUILD/mapletest" ||
		skip "$BUILD cannot be seen by another user"
	echo "group = $uid" >"$conf"
	mkdir "$dir/home"
	chown $uid:$uid "$dir/home"
	{
		cat /etc/passwd
		echo "joined:x:$uid:$uid::$dir/home:/bin/sh"
	} >"$dir/passwd"
	with_journal <<-END
		mount --bind '$dir/passwd' /etc/passwd
		$user '$E2E/server' clean >'$dir/said' 3>&- &
		until server=\$(grep . '$dir/said'); do sleep 0.1; done
		ours="\$ours \$server"
		attach() { # COMMAND...
			"\$@" '$BUILD/mapletest' attach --detach --wait --quiet \
				--socket '$socket' --backend agent --seed 1 \
				--max-time 3s \$server >'$dir/report' 2>&1 ||
				[ \$? = 125 ] || { cat '$dir/report'; false; }
		}
		export XDG_CACHE_HOME='$dir/home'
		attach env
		attach env XDG_STATE_HOME='$dir/home' $user
		journalctl --sync
		chmod -R a+rX /run/log/journal
		'$BUILD/mapletest' log --job 1 >'$dir/of_1'
		XDG_STATE_HOME='$dir/home' $user '$BUILD/mapletest' log --job 1 \
			>'$dir/of_2'
		journalctl -o json --no-pager >'$dir/entries'
	END
	cat "$dir"/of_*
	for number in 1 2; do
		grep "maple: job 1: begins, process .*: $E2E/server$" \
			<(head -n 1 "$dir/of_$number")
		grep "maple: campaign $number: process .* tests $E2E/server" \
			"$dir/of_$number"
		grep "maple: campaign $number: [a-z]*, [0-9]* candidates" \
			"$dir/of_$number"
		grep "maple: job 1: [cf][a-z]*, process" \
			<(tail -n 1 "$dir/of_$number")
		[ "$(grep -c 'job 1: begins' "$dir/of_$number")" = 1 ]
		! grep "campaign $((3 - number))" "$dir/of_$number" ||
			fail "that is another job"
	done
	jq -s '[.[] | select(.MAPLE_JOB)]' "$dir/entries" >"$json"
	for by in '._UID' .MAPLE_UID; do
		holds "[.[] | select($by == \"$uid\").MAPLE_JOB_USER] |
			unique == [\"0\", \"$uid\"]"
	done
	holds 'all(.[]; .MAPLE_PROGRAM == null or .MAPLE_PROGRAM == "'"$E2E/server"'")'
}

@test "where there is no journal, log --job says where the job's own log is" {
	run --separate-stderr unshare -m sh -c "
		for at in /run/log /var/log; do
			mkdir -p \$at; mount -t tmpfs none \$at
		done
		'$BUILD/mapletest' log --job 3"
	ended_with 125
	says "no journal that we may read: 'mapletest jobs 3 --follow'"
}
