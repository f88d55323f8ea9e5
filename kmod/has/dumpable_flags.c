// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/coredump.h>

int probe(const struct mm_struct *mm)
{
	const unsigned long flags = mm->flags;

	return __get_dumpable(flags);
}
