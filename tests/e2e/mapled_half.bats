#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A request of which only half comes: half a minute in which nothing else is done.
#
# beside: guests

load common.bash
load mapled.bash
load member.bash

@test "half a request has its time, and whoever else is there is served" {
	start_mapled
	member '
become_member()
a, b = Member(path), Member(path)
b.sock.sendall(bytes(8))
assert b.read() is None
granted(a.ask("PROGRAMS"))
'
	grep -q 'sent half a request: it is sent away' "$dir/log"
}
