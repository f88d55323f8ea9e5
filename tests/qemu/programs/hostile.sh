#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What tests/e2e/mapled_enemy.bats does; in a guest, with maple.ko as well:
#
#   hostile.sh rage SECONDS SEED [SLOW]    a member does its worst (hostile.c)
#   hostile.sh kills WHAT COUNT SEED [SLOW]
#                                          ... while mapled, mapletest or its
#                                          target is killed so often
#
# where all takes SLOW times as long. What is another member's or root's is
# then as it was.
set -u
exec 3>&- # that of bats
trap 'kill -KILL $(jobs -p) 2>/dev/null' EXIT
here=$(cd "$(dirname "$0")" && pwd)
export BUILD=${BUILD:-$here/../../../build}
. "$here/../../e2e/mapled.bash"
member=54331
enemy=54332
tester=54333 # whose campaigns are killed
target=$BUILD/tests/targets/bank_account
backend=agent
[ ! -e /sys/module/maple ] || backend=agent+module

fail()
{
	echo "FAIL: $*"
	tail -n 20 "$dir"/{log,out,said}
	pkill -KILL -u $enemy,$member,$tester
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
	local pid tries

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
	# Where there are sessions, more than one of the enemy's has probes.
	printf 'group = 54399\n' >"$conf"
	[ $backend = agent ] || echo "cpus = 0-1" >>"$conf"
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

# Threads of these users' programs that are real-time.
realtime()
{
	ps -eLo ruid=,pid=,cls=,comm= |
		awk -v low=$member -v high=$tester \
			'$1 >= low && $1 <= high && ($3 == "FF" || $3 == "RR")'
}

sessions()
{
	cat /sys/kernel/debug/maple/sessions 2>/dev/null
}

# How many probes are left of sessions that are over.
lingering()
{
	cat /sys/kernel/debug/maple/lingering 2>/dev/null || echo 0
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
	for ((tries = 0; tries < 300 && $(lingering); tries++)); do
		sleep 0.1
	done
	[ "$(lingering)" = 0 ] || fail "$(lingering) probes linger"
	! dmesg | grep "leaking uprobe" || fail "the kernel has lost a probe"
	[ -z "$(realtime)" ] || fail "real-time: $(realtime)"
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
	limit=$(($1 * 11 * ${3:-1} + 100)) as $enemy "$dir/hostile/hostile" \
		"$socket" "$1" "$2" "${3:-1}" \
		1 "$(<"$dir/pid")" "$onlooker" "$sleeper" ||
		fail "status $?"
	grep -q free "$dir/hostile/book" || fail "no set-user-id program ran"
}

# ---- kills ----

client=
announced=0

# How much the campaign has announced: as it ran, or at the end.
found()
{
	local n

	n=$(grep -o '"findings":[0-9]\+' "$dir/events" | tail -n 1)
	n=${n#*:}
	[ "${n:-0}" != 0 ] || ! grep -q '"verdict":"finding"' "$dir/events" ||
		n=1
	echo "${n:-0}"
}

# What the campaign that is over has announced is in the memo.
settle()
{
	local found

	[ -n "$client" ] || return
	wait "$client" 2>/dev/null
	client=
	for ((tries = 0; tries < 300; tries++)); do
		pgrep -u $tester >/dev/null || break
		sleep 0.1
	done
	pgrep -a -u $tester && fail "left behind"
	found=$(found)
	[ "$found" -le "$(sqlite3 -cmd '.timeout 20000' "$memo" \
		"SELECT count(*) FROM findings WHERE owner = $tester")" ] ||
		fail "$found were found"
	announced=$((announced + found))
}

# There is a campaign of the tester's.
test_on()
{
	[ -z "$client" ] || ! kill -0 "$client" 2>/dev/null || return
	settle
	setpriv --reuid $tester --regid $tester --groups 54399 \
		--inh-caps=-all env HOME="$dir" "$BUILD/mapletest" run \
		--socket "$socket" --backend $backend --fresh --keep-going \
		--max-time 120 --format jsonl -- "$target" \
		>"$dir/events" 2>"$dir/out" &
	client=$!
}

# Whoever is to be killed, if it is there: false if not.
kill_one() # WHAT
{
	local pid tries

	case $1 in
	mapled)
		end_mapled KILL
		for ((tries = 0; tries < 300; tries++)); do
			[ -n "$(sessions)" ] || break
			sleep 0.1
		done
		[ -z "$(sessions)" ] || fail "sessions: $(sessions)"
		start_mapled || fail "no mapled after a kill" ;;
	mapletest)
		kill -KILL "$client" 2>/dev/null || return
		settle ;;
	target)
		pid=$(pgrep -n -u $tester -x "${target##*/}") &&
			kill -KILL "$pid" 2>/dev/null ;;
	esac
}

# Until the campaign has found something, if it does.
await_finding()
{
	local tries

	for ((tries = 0; tries < 1800; tries++)); do
		[ "$(found)" = 0 ] || return 0
		kill -0 "$client" 2>/dev/null || return 0
		sleep 0.1
	done
}

kills() # WHAT COUNT SEED [SLOW]
{
	local killed=0 most=30 rager every=$(($2 / 20))

	RANDOM=$3
	[ "$1" = mapletest ] || most=10
	[ $every -ge 3 ] || every=3
	limit=10000 as $enemy nice "$dir/hostile/hostile" "$socket" 0 "$3" \
		"${4:-1}" 1 "$onlooker" "$sleeper" >"$dir/said" 2>&1 &
	rager=$!
	until grep -q seed "$dir/said"; do sleep 0.1; done
	while [ $killed -lt "$2" ]; do
		test_on
		[ $((killed % every)) != 2 ] || await_finding
		sleep $((RANDOM % most / 10)).$((RANDOM % 10))
		kill -0 $rager 2>/dev/null || fail "the enemy has ended"
		! kill_one "$1" || killed=$((killed + 1))
	done
	test_on
	await_finding # so it can still be done
	kill -TERM "$client" 2>/dev/null
	settle
	echo "$1: $killed killed, $announced findings announced"
	pkill -TERM -o -u $enemy -x hostile
	wait $rager || fail "the enemy's status is $?"
	tail -n 1 "$dir/said"
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
