#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A suite's cases, divided among tasks that GNU parallel starts on some hosts:
#	export MAPLE_MEMO=postgresql://maple@db.example/maple
#	parallel.sh TASKS HOST,HOST... [OPTION...] -- ./tests [ARG...]
# Each host needs mapletest, this folder and a ~/.pgpass. ':' is this machine.
set -u
tasks=${1:?is how many tasks there are} hosts=${2:?is the hosts, as host1,host2}
shift 2
: "${MAPLE_MEMO:?is the memo, as postgresql://maple@db.example/maple}"
# MAPLE_JOBLOG, if it is an earlier one, says which tasks have had their turn.
log=${MAPLE_JOBLOG:-maple-$(date +%Y%m%d-%H%M%S).joblog}
# A finding is in the memo: the task has done its work.
line="mapletest run --db ${MAPLE_MEMO@Q} --share $tasks --each-test \
${*@Q}; status=\$?; [ \$status = 66 ] || exit \$status"
# A task has two CPUs. Lines of input, not a command: {} stays what it is.
for ((task = 1; task <= tasks; task++)); do echo "$line"; done |
	parallel --sshlogin "$hosts" --jobs 50% --workdir "$PWD" \
		--joblog "$log" --resume-failed --tagstring 'task {#}'
