# SPDX-License-Identifier: GPL-2.0-only OR MIT
# How a script in the guest checks what the packages brought: each check says
# 'pass NAME' or 'fail NAME', and before that what it wrote.

check() # NAME FUNCTION
{
	local name=$1 from=$SECONDS status

	# in a condition, set -e would do nothing
	( set -e; $2 ) >/run/said 2>&1
	status=$?
	cat /run/said
	if [ $status = 0 ]; then
		echo "pass $name ($((SECONDS - from)) s)"
	else
		echo "fail $name"
	fi
}

# '! COMMAND' does not end what is under set -e
not() # COMMAND...
{
	if "$@"; then
		echo "not so: not $*"
		return 1
	fi
}

ends() # STATUS COMMAND...
{
	local wanted=$1 status=0

	shift
	"$@" || status=$?
	[ "$status" = "$wanted" ] && return
	echo "status $status, not $wanted: $*"
	return 1
}

as() # USER COMMAND
{
	su - "$1" -c "$2" </dev/null
}
