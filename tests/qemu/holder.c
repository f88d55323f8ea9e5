// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds the lock of a process' memory for as long as it is loaded: whoever puts
 * a probe into that process, or takes one away, waits.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "of the process");

static struct task_struct *thread;
static DECLARE_COMPLETION(held);

static int hold(void *data)
{
	struct mm_struct *mm = data;

	mmap_read_lock(mm);
	complete(&held);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ / 100);
	mmap_read_unlock(mm);
	mmput(mm);
	return 0;
}

static int __init holder_init(void)
{
	struct pid *of = find_get_pid(pid);
	struct task_struct *task = get_pid_task(of, PIDTYPE_TGID);
	struct mm_struct *mm = task ? get_task_mm(task) : NULL;

	put_pid(of);
	if (task)
		put_task_struct(task);
	if (!mm)
		return -ESRCH;
	thread = kthread_run(hold, mm, "holder");
	if (IS_ERR(thread)) {
		mmput(mm);
		return PTR_ERR(thread);
	}
	wait_for_completion(&held);
	return 0;
}

static void __exit holder_exit(void)
{
	kthread_stop(thread);
}

module_init(holder_init);
module_exit(holder_exit);
MODULE_DESCRIPTION("Holds the lock of a process' memory");
MODULE_LICENSE("GPL");
