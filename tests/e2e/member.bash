# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the tests of mapled's limits share: a mapled for each, and who asks of it.

setup() {
	[ "$(id -u)" = 0 ] || skip "becoming another user takes root"
	open_folder
	echo "group = 54399" >"$conf"
}

teardown() {
	end_mapled KILL
	rm -rf "$dir"
}

# Python as a member of the group, with $socket as "path".
member() {
	run --separate-stderr timeout -s KILL 100 python3 - "$socket" <<-END
		import sys
		sys.path.insert(0, "$BATS_TEST_DIRNAME")
		from member import *
		path = sys.argv[1]
		$1
	END
	[ "$status" = 0 ] || fail "status $status: $stderr $(tail -5 "$dir/log")"
}
