# SPDX-License-Identifier: GPL-2.0-only OR MIT
# What the scripts in the guest share.
lib='
serve() {
	: >/tmp/said
	$serve_as "$BUILD/tests/e2e/server" "$@" >/tmp/said &
	until [ -s /tmp/said ]; do sleep 0.1; done
	server=$(cat /tmp/said)
}
state() {
	local task

	for task in /proc/$server/task/*; do
		echo ${task##*/} $(ps -L -o cls=,rtprio=,ni= -q ${task##*/} |
			head -1) $(grep -E "^(State:.[TtZ]|TracerPid|Cpus_allowed:)" \
			$task/status) $(chrt -p ${task##*/})
	done
}
# The files of that name which this guest wrote, wherever. A find over /root would
# read all that the host has there: minutes, if that is much.
written() { # NAME FORMAT
	find /run/layers/upper -type f -name "$1" -printf "$2 /%P\n" |
		sed "s|/tmp.own/|/tmp/|"
}
attach() {
	timeout -s KILL 400 mapletest attach --db /tmp/memo.db --seed ${try:-1} "$@"
}
'
