// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/sched.h>

static void on_exit(void *data, struct task_struct *task)
{
}

int probe(void)
{
	return register_trace_sched_process_exit(on_exit, NULL);
}
