// SPDX-License-Identifier: GPL-2.0-only
#include <linux/uprobes.h>

static int handler(struct uprobe_consumer *consumer, struct pt_regs *regs)
{
	return 0;
}

struct uprobe_consumer probe = { .handler = handler };
