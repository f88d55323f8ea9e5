// SPDX-License-Identifier: GPL-2.0-only
/*
 * maple.ko: the enforcing half of the kernel backend.
 */
#include <linux/module.h>
#include "../lib/plan/automaton_state.h"

static int __init maple_init(void)
{
	pr_info("maple: loaded, %lu bytes per automaton\n", maple_auto_size());
	return 0;
}

static void __exit maple_exit(void)
{
	pr_info("maple: unloaded, 0 created, 0 destroyed\n");
}

module_init(maple_init);
module_exit(maple_exit);
MODULE_DESCRIPTION("Forces orders of memory accesses by priorities");
MODULE_LICENSE("GPL");
