// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function by whose name kernels are known that sleep when they set
 * priorities: maple.ko must not be loaded where it is.
 */
#include <linux/module.h>

void cpuset_read_lock(void);

void cpuset_read_lock(void)
{
}

static int __init sleepy_init(void)
{
	cpuset_read_lock();
	return 0;
}

static void __exit sleepy_exit(void)
{
}

module_init(sleepy_init);
module_exit(sleepy_exit);
MODULE_DESCRIPTION("Has a function of kernels that maple.ko cannot be used on");
MODULE_LICENSE("GPL");
