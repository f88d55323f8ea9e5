# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the tests in guests share. $BUILD is the build folder; tests/check runs
# each file once per kernel, named in $MAPLE_QEMU_KERNEL, but for the tests that say
# which one is enough: what they are about is decided by code of ours that is the
# same on all, or needs of the kernel what another test has it do on each.

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
export BUILD=${BUILD:-$ROOT/build}
export MAPLE_QEMU_KERNEL=${MAPLE_QEMU_KERNEL:-6.1}
export TMPDIR=$BATS_RUN_TMPDIR

# A kernel that watches itself takes so many times the time for the same: tests
# do so much less there, and wait so much longer. kmod.h has one, too.
SLOW=1
case $MAPLE_QEMU_KERNEL in
debug | kcsan) SLOW=10 ;;
esac

# So often, on a slow kernel less, but once at least.
times() { # COUNT
	echo $((($1 + SLOW - 1) / SLOW))
}

# So many seconds for a campaign, on a slow kernel more: a run takes longer.
longer() { # SECONDS
	echo $(($1 * (SLOW > 1 ? 5 : 1)))
}

# So often with MAPLE_FULL=1, else half as often.
halved() { # COUNT
	times $((${MAPLE_FULL:+2 *} $1 / 2))
}

# So many of COUNT runs, one in fifty, may miss their order: a busy host may take
# the guest's CPU away for longer than a hold lasts.
misses() { # COUNT
	[ -n "${MAPLE_FULL:-}" ] && echo 0 || echo $(($1 / 50))
}

# Runs tests/qemu/guest; afterwards as after bats's own run: $status, $output,
# $stderr. The commands of a file share a guest as long as each leaves it as it was;
# whoever changes what guest does not put back, such as /proc/sys, says --alone.
guest() {
	local kept=(--kept "$BATS_FILE_TMPDIR/guest")

	if [ "$1" = --alone ]; then
		kept=()
		shift
	fi
	run --separate-stderr "$ROOT/tests/qemu/guest" "${kept[@]}" "$@"
}

teardown_file() {
	"$ROOT/tests/qemu/guest" --end "$BATS_FILE_TMPDIR/guest"
}

# The status that guest must have ended with
status_is() {
	[ "$status" = "$1" ] || fail "not $1"
}

says() { # REGEX
	[[ $stderr =~ $1 ]] || fail "stderr does not say '$1'"
}

fail() {
	echo "$*"
	echo "status: ${status-}"
	echo "stdout: ${output-}"
	echo "stderr: ${stderr-}"
	return 1
}
