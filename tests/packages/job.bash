# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A member of the group attaches to a server of the member's own, at a terminal
# that then goes, and leaves it later: the checks of this, in their order. With
# checks.bash, and process.bash of tests/e2e; server is on PATH, member has never
# had a job. The server is tests/e2e/server.c's 'wrong', which lives on when its
# bug has come, so that it can be compared with itself.

home=/home/member

# What is asked of the server after each stretch. What it has said is taken away, so
# that it says it anew. Sets server, and before, what it is like.
job_serve()
{
	cat >/usr/local/bin/healthy <<-END
		#!/bin/sh
		! grep -q wrong $home/said || { : >$home/said; exit 1; }
	END
	chmod 755 /usr/local/bin/healthy
	su - member -c 'exec chrt --reset-on-fork --other 0 \
		/usr/local/bin/server wrong >>said' </dev/null &
	until server=$(grep -xsE '[0-9]+' $home/said); do sleep 0.2; done
	# It has its priorities by the group's limits alone, and one of its threads
	# a flag that all of those have which are forced.
	before=$(state_of "$server")
}

jobs_of_member() # FIELD
{
	as member 'mapletest jobs --format json' | jq -r ".jobs[0].$1"
}

until_job() # FIELD JQ-CONDITION
{
	local try

	for ((try = 0; try < 600; try++)); do
		as member 'mapletest jobs --format json' |
			jq -e ".jobs[0].$1 | $2" >/dev/null && return
		sleep 1
	done
	as member 'mapletest jobs 1'
	cat $home/.local/state/maple/jobs/1/log
	return 1
}

# One command, by a shell that leads a terminal's session; then that is gone.
job_begins()
{
	local terminal shell worker

	su - member -c 'script -qfc "mapletest attach --detach --keep-going \
		--timeout 500ms --max-time 1h --oracle healthy '"$server"';
		sleep 1000" typescript' </dev/null >/dev/null &
	until_job state '. != null' # any
	terminal=$(pgrep -u member -x script)
	shell=$(pgrep -P "$terminal")
	worker=$(jobs_of_member pid)
	[ "$(ps -o tty= -p "$shell" | tr -d ' ')" != '?' ]
	kill -KILL "$terminal"
	while [ -e "/proc/$shell" ]; do sleep 0.2; done
	cat $home/typescript
	grep 'goes on without this terminal' $home/typescript
	[ "$(jobs_of_member state)" = running ]
	[ "$(jobs_of_member attached)" = "$server" ]
	[ "$(ps -o user=,tty= -p "$worker" | tr -s ' ')" = 'member ?' ]
}

job_finds()
{
	until_job findings '. > 0'
	[ "$(jobs_of_member state)" = running ]
	kill -0 "$server"
}

# With fields, by mapled and by the job; and to the member as far as a member may
# read the journal.
job_is_told()
{
	local member=$(id -u member)

	journalctl --sync
	journalctl -o json --no-pager MAPLE_JOB=1 >/run/entries
	as member 'mapletest log --job 1' >/run/told
	usermod -aG systemd-journal member
	as member 'mapletest log --job 1' >/run/told-all
	gpasswd -d member systemd-journal
	cat /run/told /run/told-all
	jq -es "map(select(._SYSTEMD_UNIT == \"mapled.service\" and
		.MAPLE_UID == \"$member\" and (.MAPLE_PID | tonumber) > 1)) |
		(.[0] | (.MESSAGE | test(\"^campaign [0-9]+: process .* tests \")) and
			.MAPLE_PROGRAM == \"/usr/local/bin/server\") and
		any(.[]; .MAPLE_FINDING and (.MAPLE_IROOT | test(\"server.c:\")))" \
		/run/entries
	jq -es "map(select(.SYSLOG_IDENTIFIER == \"mapletest\" and
		._UID == \"$member\")) |
		all(.[]; .MAPLE_PROGRAM == \"/usr/local/bin/server\") and
		(.[0].MESSAGE | test(\"^job 1: begins, process $server: \")) and
		any(.[]; .MAPLE_FINDING)" /run/entries
	grep "maple: job 1: begins, process $server: /usr/local/bin/server" /run/told
	grep 'maple: BUG: maple: ' /run/told
	grep 'maple: campaign .*: finding ' /run/told-all
	grep 'maple: BUG: maple: ' /run/told-all
}

# Its page, and those of the job and of the finding.
job_is_shown()
{
	local base token finding

	su - member -c 'exec mapletest serve --http 0' </dev/null >/run/address &
	until base=$(grep -s http: /run/address); do sleep 0.2; done
	token=${base#*token=} base=${base%%\?*}
	curl -sf -H "Authorization: Bearer $token" "$base" >/run/page
	grep '>job 1</a>' /run/page
	finding=$(grep -o 'href="/finding/[^"]*"' /run/page | cut -d'"' -f2 | head -n 1)
	curl -sf -H "Authorization: Bearer $token" "${base%/}$finding" >/run/page
	grep 'use_or_tell' /run/page
	curl -sf -H "Authorization: Bearer $token" "${base}job/1" >/run/page
	grep '<title>Job 1: running</title>' /run/page
	grep '<polyline' /run/page
	kill "$(pgrep -u member -xf 'mapletest serve --http 0')"
}

# How often its threads have gone to sleep.
job_slept()
{
	awk '/^voluntary/ { n += $2 } END { print n }' /proc/"$server"/task/*/status
}

job_is_as_before()
{
	local slept try

	for ((try = 0; try < 60; try++)); do
		[ "$(state_of "$server")" != "$before" ] || break
		sleep 1
	done
	diff <(echo "$before") <(state_of "$server")
	slept=$(job_slept)
	while [ "$(job_slept)" -lt $((slept + 100)) ]; do sleep 0.2; done
}

job_leaves()
{
	grep -c SCHED_RESET_ON_FORK <<<"$before" | grep -x 1
	ends 0 as member "/usr/sbin/mapled detach $server"
	ends 66 as member 'mapletest jobs --wait --quiet 1'
	job_is_as_before
	ends 125 as member "/usr/sbin/mapled detach $server"
	as member 'mapletest log --job 1' | tail -n 1 | grep 'job 1: finding'
}

# While it forces an order.
job_is_killed()
{
	as member "mapletest attach --detach --keep-going --fresh --timeout 500ms \
		--max-time 1h $server"
	until grep SCHED_FIFO <(threads_of "$server"); do sleep 0.1; done
	kill -KILL "$(as member 'mapletest jobs --format json' |
		jq '.jobs[] | select(.number == 2).pid')"
	job_is_as_before
	as member 'mapletest jobs' | grep '^ *2  cut off'
	kill "$server"
	rm /usr/local/bin/healthy
}

check_job()
{
	job_serve
	check job_begins job_begins
	check job_finds job_finds
	check job_is_told job_is_told
	check job_is_shown job_is_shown
	check job_leaves job_leaves
	check job_is_killed job_is_killed
}
