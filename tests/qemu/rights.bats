#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# In a guest: who may have a session on which process, by maple.ko itself and by
# mapled, and that it ends when the process gets other rights: the table of
# mapled(8), by tests/qemu/programs/rights.c.

load common.bash

script='
. "$1/tests/e2e/mapled.bash"
open_folder
echo "group = 54399" >"$conf"
start_mapled || exit 110
mkdir "$dir/programs"
chmod 755 "$dir/programs"
"$BUILD/tests/qemu/rights" "$dir/programs" "$socket"
status=$?
end_mapled
exit $status'

@test "each row of the table of who may do what to which process" {
	guest -t 300 -- bash -c "$script" rights "$ROOT"
	[[ $output != *"not ok"* ]] || fail "not each"
	status_is 0
	[[ ${lines[-1]} =~ ^([0-9]+)\ rows,\ 0\ bad$ ]] || fail "not all"
	[ "${BASH_REMATCH[1]}" -ge 50 ] || fail "only ${BASH_REMATCH[1]} rows"
}
