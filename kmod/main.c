// SPDX-License-Identifier: GPL-2.0-only
/*
 * maple.ko: forces orders of memory accesses on the threads of a process, by
 * priorities on one CPU. The enforcing half of the kernel backend.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include "kmod.h"
#define CREATE_TRACE_POINTS
#include "trace.h"

unsigned int maple_log_entries = MAPLE_SESSION_LOG;
module_param_named(log_entries, maple_log_entries, uint, 0644);
MODULE_PARM_DESC(log_entries, "room in the log of a session");

unsigned int maple_starve_ms = 10000;
module_param_named(starve_ms, maple_starve_ms, uint, 0644);
MODULE_PARM_DESC(starve_ms,
		 "a target that starves its CPU so long is released; 0: never");

unsigned int maple_spin_ms = 10;
module_param_named(spin_ms, maple_spin_ms, uint, 0644);
MODULE_PARM_DESC(spin_ms, "CPU time without an event that is spinning");

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "test itself when loaded, and fail if that does");

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

static int __init maple_init(void)
{
	int err;

	work_add = find_work_add();
	if (!work_add) {
		pr_err("this kernel does not let task_work_add() be found\n");
		return -ENOENT;
	}
	if (selftest) {
		err = maple_selftest();
		if (err)
			return err;
	}
	err = maple_life_init();
	if (err)
		return err;
	err = maple_crash_init();
	if (err)
		goto life;
	err = maple_step_init();
	if (err)
		goto crash;
	err = maple_netlink_init();
	if (err)
		goto step;
	maple_debug_init();
	pr_info("loaded, ABI %u\n", MAPLE_GENL_VERSION);
	return 0;
step:
	maple_step_exit();
crash:
	maple_crash_exit();
life:
	maple_life_exit();
	return err;
}

/*
 * Sessions hold the module, so there is none. Works hold sessions; who has
 * dropped the last one may still be on its way out of our code.
 */
static void __exit maple_exit(void)
{
	maple_debug_exit();
	maple_netlink_exit();
	maple_step_exit();
	maple_crash_exit();
	maple_life_exit();
	WARN_ON_ONCE(!list_empty(&maple_sessions));
	synchronize_rcu_tasks();
	pr_info("unloaded, %d created, %d destroyed\n",
		atomic_read(&maple_created), atomic_read(&maple_destroyed));
}

module_init(maple_init);
module_exit(maple_exit);
MODULE_DESCRIPTION("Forces orders of memory accesses by priorities");
MODULE_LICENSE("GPL");
