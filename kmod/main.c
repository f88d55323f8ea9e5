// SPDX-License-Identifier: GPL-2.0-only
/*
 * maple.ko: forces orders of memory accesses on the threads of a process, by
 * priorities on one CPU. The enforcing half of the kernel backend.
 */
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

static int __init maple_init(void)
{
	int err;

	err = maple_work_init();
	if (err)
		return err;
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
