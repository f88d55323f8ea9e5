#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What tests/qemu/mapled.bats does in the guest.
#   mapled.sh SECONDS   of a campaign under which mapled is killed
set -u
here=$(cd "$(dirname "$0")" && pwd)
export BUILD=${BUILD:-$here/../../../build}
. "$here/../../e2e/mapled.bash"
target=$BUILD/tests/targets/bank_account

fail()
{
	echo "FAIL: $*"
	cat "$dir/log" "$dir/out"
	end_mapled KILL
	exit 1
}

pass()
{
	echo "pass: $*"
}

as_user() # COMMAND...; returns its status
{
	timeout -s KILL 100 setpriv --reuid 54321 --regid 54321 \
		--groups 54399 --inh-caps=-all env HOME="$dir" "$@" >"$dir/out" 2>&1
}

test_by() # BACKEND
{
	as_user "$BUILD/mapletest" run --socket "$socket" --backend "$1" \
		-- "$target"
	local status=$?

	[ $status = 66 ] || fail "$1: status $status"
	grep -q "BUG: maple: SIGABRT" "$dir/out" || fail "$1: no report"
	pass "found by $1"
}

open_folder
: >"$dir/out"
echo "group = 54399" >"$conf"
ulimit -Hr 0
as_user "$BUILD/mapletest" run --no-daemon --db :memory: --strategy maple \
	-- "$target"
[ $? = 125 ] || fail "without mapled it should not be able to"
grep -q 'real-time priorities are refused' "$dir/out" || fail "why not?"
pass "without mapled it is refused"

start_mapled || fail "mapled does not start"
test_by agent
test_by agent+module
[ "$(sql 'SELECT count(DISTINCT owner) FROM campaigns')" = 1 ] || fail "whose?"
[ "$(sql 'SELECT owner FROM campaigns LIMIT 1')" = 54321 ] || fail "whose?"
pass "the campaigns are the user's"

# Killed in the middle, it leaves nothing behind, real-time or otherwise.
setpriv --reuid 54321 --regid 54321 --groups 54399 env HOME="$dir" \
	"$BUILD/mapletest" run --socket "$socket" --backend agent+module \
	--max-time 60 -- "$BUILD/tests/targets/clean/spin_wait" \
	>"$dir/out" 2>&1 &
client=$!
for try in {1..100}; do
	pgrep -u 54321 -f clean/spin_wait$ >/dev/null && break
	sleep 0.1
done
sleep 3
pgrep -u 54321 >/dev/null || fail "it does not run"
kill -KILL "$client"
for try in {1..50}; do
	pgrep -u 54321 >/dev/null || break
	sleep 0.1
done
pgrep -a -u 54321 && fail "left behind"
pass "nothing outlives its client"

# The last one's number: --fresh forgets those before it.
campaigns()
{
	sql 'SELECT coalesce(max(id), 0) FROM campaigns'
}

# mapled killed again and again: before a session with maple.ko stands, in the
# middle of one, between two. Where the host starves the guest, a campaign may
# have no time left when it could begin, or for an order when mapled is back:
# then another one has more.
for seconds in "$1" $(($1 * 3)) $(($1 * 6)); do
	before=$(campaigns)
	as_user "$BUILD/mapletest" run --fresh --socket "$socket" \
		--backend agent+module --max-time "$seconds" \
		-- "$BUILD/tests/targets/clean/spin_wait" &
	client=$!
	until [ "$(campaigns)" -gt "$before" ]; do
		kill -0 $client 2>/dev/null || break
		sleep 0.1
	done
	for kill in {1..15}; do
		sleep 0.$((RANDOM % 10))
		kill -0 $client 2>/dev/null || break
		end_mapled KILL
		start_mapled || fail "no mapled after kill $kill"
	done
	wait $client
	status=$?
	[ $status = 125 ] || break
done
[ "$(campaigns)" -gt "$before" ] || fail "it did not begin"
[ $status = 0 ] || fail "after $kill kills: status $status"
grep -q 'goes on' "$dir/log" || fail "it was over before"
[ "$(sql 'PRAGMA integrity_check')" = ok ] || fail "damaged"
pass "a campaign outlives mapled"

pid=$(<"$dir/pid")
end_mapled
kill -0 "$pid" 2>/dev/null && fail "mapled is still there"
pass "mapled ends when it is told"
