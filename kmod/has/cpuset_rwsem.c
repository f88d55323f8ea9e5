// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpuset.h>

void probe(void)
{
	cpuset_read_lock();
}
