#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What tests/e2e/mapled_enemy.bats does; in a guest, with maple.ko as well:
#
#   hostile.sh rage SECONDS SEED    a member does its worst (hostile.c)
#
# What is another member's or root's is then as it was.
set -u
exec 3>&- # that of bats
trap 'kill -KILL $(jobs -p) 2>/dev/null' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export BUILD=${BUILD:-$here/../../../build}
. "$here/../../e2e/mapled.bash"
member=54331
enemy=54332
target=$BUILD/tests/targets/bank_account
backend=agent
[ ! -e /sys/module/maple ] || backend=agent+module

fail()
{
	echo "FAIL: $*"
	tail -n 20 "$dir"/{log,out,said}
	pkill -KILL -u $enemy
	pkill -KILL -u $member
	end_mapled KILL
	exit 1
}

# Root's timeout, or the enemy, who kills all that it may, would end that first.
as() # UID COMMAND...
{
	local uid=$1

	shift
	timeout -s KILL "${limit:-3600}" setpriv --reuid "$uid" --regid "$uid" --groups 54399 --inh-caps=-all \
		env HOME="$dir" "$@"
}

# A campaign of the member's; its findings go to $dir/out.
campaign() # OPTION...
{
	limit=200 as $member "$BUILD/mapletest" run \
		--socket "$socket" --backend $backend "$@" \
		-- "$target" >"$dir/out" 2>&1
}

# Everything that the enemy must leave alone.
state()
{
	local pid

	find "$dir/theirs" -printf '%p %u %m %s %T@\n' | sort
	find "$dir/theirs" -type f -exec sha256sum {} + | sort
	for table in campaigns runs findings; do
		sql "SELECT * FROM mine_$table ORDER BY 1"
	done
	for pid in $onlooker $sleeper; do
		ps -L -o pid=,lwp=,cls=,rtprio=,ni= -q "$pid" | sort
		grep -H Cpus_allowed: /proc/"$pid"/task/*/status
	done
}

# The member's part of the memo, as it is before there is an enemy.
remember()
{
	local last

	last=$(sql 'SELECT max(id) FROM campaigns')
	sql "CREATE VIEW mine_campaigns AS SELECT * FROM campaigns
			WHERE id <= $last AND owner = $member;
		CREATE VIEW mine_runs AS SELECT * FROM runs
			WHERE campaign IN (SELECT id FROM mine_campaigns);
		CREATE VIEW mine_findings AS SELECT * FROM findings
			WHERE campaign IN (SELECT id FROM mine_campaigns)"
	[ "$(sql 'SELECT count(*) FROM mine_findings')" -ge 1 ] ||
		fail "the member has found nothing"
}

prepare()
{
	open_folder
	: >"$dir/said"
	: >"$dir/out"
	printf 'group = 54399\n' >"$conf"
	mkdir "$dir"/{hostile,theirs}
	mkdir -m 1777 "$dir/hostile/scratch"
	install -s -m 755 "$BUILD/tests/qemu/hostile" "$dir/hostile/hostile"
	install -m 4755 "$dir/hostile/hostile" "$dir/hostile/raised"
	install -m 600 /dev/null "$dir/hostile/book"
	echo "root's" >"$dir/theirs/root"
	echo "the member's" >"$dir/theirs/member"
	cp "$dir/hostile/hostile" "$dir/theirs/program"
	chown $member "$dir/theirs/member" "$dir/theirs/program"
	nice -n 3 taskset -c 0 sleep infinity &
	sleeper=$!
	start_mapled || fail "mapled does not start"
	as $member "$dir/hostile/hostile" finds "$socket" ||
		fail "the member has found nothing"
	as $member "$dir/hostile/hostile" onlook >"$dir/onlooker" 2>&1 &
	looker=$!
	until [ -s "$dir/onlooker" ]; do sleep 0.1; done
	onlooker=$(pgrep -u $member -x hostile)
	remember
	state >"$dir/before"
}

sessions()
{
	cat /sys/kernel/debug/maple/sessions 2>/dev/null
}

# Nothing is left of the enemy, and of nobody but the enemy anything is missing.
check()
{
	local tries

	pgrep -a -u $enemy && fail "the enemy has not ended"
	for ((tries = 0; tries < 300; tries++)); do
		[ -n "$(sessions)" ] || break
		sleep 0.1
	done
	[ -z "$(sessions)" ] || fail "sessions: $(sessions)"
	kill -0 "$(<"$dir/pid")" || fail "mapled is dead"
	state >"$dir/after"
	diff "$dir/before" "$dir/after" || fail "something has changed"
	! grep -q steered "$dir/hostile/book" ||
		fail "a set-user-id program was steered"
	kill -TERM "$onlooker"
	wait $looker
	grep -q '^looks ' "$dir/onlooker" || fail "$(<"$dir/onlooker")"
	[ "$(sql 'PRAGMA integrity_check')" = ok ] || fail "damaged"
}

rage()
{
	limit=$(($1 + 200)) as $enemy "$dir/hostile/hostile" \
		"$socket" "$1" "$2" 1 "$(<"$dir/pid")" "$onlooker" "$sleeper" ||
		fail "status $?"
	grep -q free "$dir/hostile/book" || fail "no set-user-id program ran"
}

prepare
"$@"
check
if [ -e /sys/module/maple ]; then
	campaign
	[ $? = 66 ] || fail "nobody can test any more"
fi
end_mapled
echo "as it was"
