// SPDX-License-Identifier: GPL-2.0-only
/*
 * maple.ko: forces orders of memory accesses on the threads of a process, by
 * priorities on one CPU. The enforcing half of the kernel backend.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <maple/version.h>
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

/* Below the kernel's interrupt threads, where it has them for all interrupts. */
unsigned int maple_top_prio = IS_ENABLED(CONFIG_PREEMPT_RT) ? 49
							    : MAPLE_PRIO_HOOK;
module_param_named(top_prio, maple_top_prio, uint, 0444);
MODULE_PARM_DESC(top_prio,
		 "the highest real-time priority of a target's thread, 10 to 85");

unsigned int maple_user_sessions = 64;
module_param_named(user_sessions, maple_user_sessions, uint, 0644);
MODULE_PARM_DESC(user_sessions,
		 "sessions on processes of one user, but for those of root's");

struct workqueue_struct *maple_workers;

static bool selftest;
module_param(selftest, bool, 0444);
MODULE_PARM_DESC(selftest, "test itself when loaded, and fail if that does");

static int __init maple_init(void)
{
	int err;

	if (maple_top_prio < 10 || maple_top_prio > MAPLE_PRIO_HOOK) {
		pr_err("not loaded: top_prio is a priority from 10 to %d\n",
		       MAPLE_PRIO_HOOK);
		return -EINVAL;
	}
	err = maple_work_init();
	if (err)
		return err;
	if (selftest) {
		err = maple_selftest();
		if (err)
			return err;
	}
	maple_workers = alloc_workqueue("maple", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!maple_workers)
		return -ENOMEM;
	err = maple_watchdog_init();
	if (err)
		goto workers;
	err = maple_life_init();
	if (err)
		goto watchdog;
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
	pr_info("loaded, " MAPLE_VERSION ", ABI %u\n", MAPLE_GENL_VERSION);
	return 0;
step:
	maple_step_exit();
crash:
	maple_crash_exit();
life:
	maple_life_exit();
watchdog:
	maple_watchdog_exit();
workers:
	destroy_workqueue(maple_workers);
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
	maple_points_exit();
	maple_step_exit();
	maple_crash_exit();
	maple_life_exit();
	maple_watchdog_exit();
	destroy_workqueue(maple_workers);
	WARN_ON_ONCE(!list_empty(&maple_sessions));
	synchronize_rcu_tasks();
	pr_info("unloaded, %d created, %d destroyed\n",
		atomic_read(&maple_created), atomic_read(&maple_destroyed));
}

module_init(maple_init);
module_exit(maple_exit);
MODULE_DESCRIPTION("Forces orders of memory accesses by priorities");
MODULE_VERSION(MAPLE_VERSION);
MODULE_LICENSE("GPL");
