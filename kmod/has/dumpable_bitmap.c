// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/coredump.h>

int probe(struct mm_struct *mm)
{
	return __get_dumpable(__mm_flags_get_dumpable(mm));
}
