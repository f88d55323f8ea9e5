#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR MIT
# A suite's cases, divided among the tasks of a Slurm array:
#	export MAPLE_MEMO=postgresql://maple@db.example/maple
#	sbatch --array=1-16 slurm.sh [OPTION...] -- ./tests [ARG...]
# A task that lost its node comes again, and goes on from what the memo knows.
#SBATCH --job-name=maple --output=maple-%A_%a.log --open-mode=append
#SBATCH --ntasks=1 --cpus-per-task=2 --hint=nomultithread
#SBATCH --time=02:00:00 --requeue
set -u
: "${MAPLE_MEMO:?is the memo, as postgresql://maple@db.example/maple}"
# A tenth of the time is for what comes after: a --teardown, the report.
# One task's number as a job is the array's as well, so it is named by both.
task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
end=$(date -d "$(squeue -h -j "$task" -o %e)" +%s) || exit 125
mapletest run --db "$MAPLE_MEMO" --share "$SLURM_ARRAY_TASK_COUNT" --each-test \
	--max-time "$(((end - $(date +%s)) * 9 / 10))s" "$@"
status=$?
echo "maple: task $task at $SLURMD_NODENAME: status $status"
# A finding is in the memo: the task has done its work, and the node is sound.
[ $status = 66 ] || exit $status
