// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/task.h>

static void on_newtask(void *data, struct task_struct *task, unsigned long flags)
{
}

int probe(void)
{
	return register_trace_task_newtask(on_newtask, NULL);
}
