// SPDX-License-Identifier: GPL-2.0-only
/* Works that a thread of the target does itself, on its way to user space. */
#include <linux/kprobes.h>
#include "kmod.h"

typedef int (*work_add_t)(struct task_struct *, struct callback_head *,
			  enum task_work_notify_mode);
static work_add_t work_add;

/*
 * maple_work_add - @fn runs in @task before that is next in user space
 * @bit: of the work, which is in flight at most once; it is in @t
 *
 * Returns -EBUSY if it is in flight, -ESRCH if @task will run no more works.
 * Context: any but NMI.
 */
int maple_work_add(struct maple_thread *t, struct task_struct *task,
		   struct callback_head *work, task_work_func_t fn,
		   unsigned int bit)
{
	if (test_and_set_bit(bit, &t->queued))
		return -EBUSY;
	kref_get(&t->session->refs);
	init_task_work(work, fn);
	if (work_add(task, work, TWA_RESUME)) {
		maple_work_done(t, bit);
		return -ESRCH;
	}
	return 0;
}

/* maple_work_done - the last thing a work does */
void maple_work_done(struct maple_thread *t, unsigned int bit)
{
	struct maple_session *s = t->session;

	clear_bit(bit, &t->queued);
	maple_session_put(s);
}

/*
 * task_work_add() is there for modules in Debian's kernels only. Where calls
 * through pointers must land on ENDBR, a kprobe's address lies behind it.
 */
static work_add_t find_work_add(void)
{
	struct kprobe probe = { .symbol_name = "task_work_add" };
	u8 *at;

	if (register_kprobe(&probe))
		return NULL;
	at = (u8 *)probe.addr;
	unregister_kprobe(&probe);
	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT) &&
	    *(u32 *)(at - 4) == 0xfa1e0ff3) /* ENDBR64 */
		at -= 4;
	return (work_add_t)at;
}

/* maple_work_init - works can be added from here on */
int __init maple_work_init(void)
{
	work_add = find_work_add();
	if (work_add)
		return 0;
	pr_err("this kernel does not let task_work_add() be found\n");
	return -ENOENT;
}
