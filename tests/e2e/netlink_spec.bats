#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# The netlink family is said three times: in <maple/uapi.h> for compilers, in
# kmod/maple.yaml for tools, in the policies of kmod/netlink/netlink.c for the kernel.
#
# It only reads and compiles.
# beside: guests

load common

spec=$ROOT/kmod/maple.yaml
header=$ROOT/lib/include/maple/uapi.h
source=$ROOT/kmod/netlink/netlink.c

from_spec() {
	awk -v list="$1" -f "$ROOT/tests/e2e/netlink_spec.awk" "${2:-$spec}"
}

compiles() {
	from_spec "" "$1" >"$BATS_TEST_TMPDIR/spec.c"
	cc -std=gnu11 -I"$ROOT/lib/include" -c -o "$BATS_TEST_TMPDIR/spec.o" \
		"$BATS_TEST_TMPDIR/spec.c"
}

# The policy of each command, as the kernel has it: command, attribute, type.
from_source() {
	awk '
	/^static const struct nla_policy / {
		table = $5
		sub(/\[.*/, "", table)
	}
	/^};/ { table = "" }
	table && match($0, /\[MAPLE_A_[A-Z_]*\]/) {
		attr = substr($0, RSTART + 1, RLENGTH - 2)
		type = /NLA_U32/ ? "u32" : /NLA_S32/ ? "s32" : /NLA_U64/ ? "u64" : \
			/NLA_BINARY|EXACT_LEN/ ? "binary" : \
			/NLA_FLAG/ ? "flag" : "?"
		held[table, ++count[table]] = attr " " type
	}
	match($0, /\.cmd = MAPLE_CMD_[A-Z]*/) {
		cmd = substr($0, RSTART + 7, RLENGTH - 7)
		if (!match($0, /WITH\([a-z_]*\)/))
			next
		table = substr($0, RSTART + 5, RLENGTH - 6)
		for (i = 1; i <= count[table]; i++)
			print cmd, held[table, i]
		table = ""
	}' "$source"
}

@test "the header has the values, sizes and offsets of the spec" {
	compiles "$spec"
	[ "$(grep -c static_assert "$BATS_TEST_TMPDIR/spec.c")" -gt 150 ]
}

@test "... and a spec that differs does not pass" {
	for change in 's/name: disp, type: s64/name: disp, type: u64/' \
		's/name: alive, type: u32/name: alive, type: u16/' \
		's/name: mayfail/name: zero/' \
		's/- { name: from, type: u32 }//' 's/name: resume/name: stop/'; do
		sed "$change" "$spec" >"$BATS_TEST_TMPDIR/other.yaml"
		! cmp -s "$spec" "$BATS_TEST_TMPDIR/other.yaml" ||
			fail "nothing was changed"
		run compiles "$BATS_TEST_TMPDIR/other.yaml"
		[ "$status" != 0 ] || fail "passed: $change"
	done
}

@test "the spec leaves out nothing of the header" {
	names=$(from_spec names | sort)
	in_header=$(sed 's,/\*.*\*/,,' "$header" | grep -oE \
		'^\sMAPLE_(A|CMD|FEATURE|UAPI|SESSION|PROBE)_[A-Z_]+' |
		tr -d '\t' | grep -v UNSPEC | sort)
	[ "$(wc -l <<<"$names")" -gt 50 ]
	diff <(echo "$names") <(echo "$in_header")
}

@test "the policies take what the spec says, and nothing else" {
	[ "$(from_source | wc -l)" = 15 ]
	diff <(from_spec policies | sort) <(from_source | sort)
}
