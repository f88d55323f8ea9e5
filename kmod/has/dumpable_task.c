// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched.h>
#include <linux/sched/exec_state.h>

int probe(const struct task_struct *task)
{
	return rcu_dereference(task->exec_state)->dumpable ==
	       TASK_DUMPABLE_OWNER;
}
