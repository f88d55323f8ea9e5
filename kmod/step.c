// SPDX-License-Identifier: GPL-2.0-only
/*
 * When an access has happened. The kernel executes a probed instruction in a
 * place of its own and has the processor trap behind it; that trap tells us,
 * before anything else becomes of it. A probe on the next instruction would
 * say the same for twice the price, and nothing where this one is a jump.
 *
 * Instructions that the kernel emulates (jumps, calls, pushes of registers)
 * have no such trap. None of them is a site of its own. Where one stands AHEAD
 * of a site, there is a probe behind that.
 */
#include <linux/kdebug.h>
#include <linux/limits.h>
#include <linux/notifier.h>
#include <linux/ptrace.h>
#include "kmod.h"

/* Context: RCU, interrupts off; every trap and oops of the machine. */
static int on_trap(struct notifier_block *block, unsigned long what, void *data)
{
	const struct die_args *args = data;
	const struct uprobe_task *utask = current->utask;
	struct maple_session *s;
	struct maple_thread *t;

	if (what != DIE_DEBUG || !user_mode(args->regs) || !utask ||
	    !utask->active_uprobe)
		return NOTIFY_DONE;
	s = maple_session_of(current);
	t = s && !READ_ONCE(s->ended) ? maple_thread_find(s, current) : NULL;
	if (t && t->stepping)
		maple_hit_stepped(t, args->regs->ip == utask->xol_vaddr);
	return NOTIFY_DONE;
}

/* After who handles watchpoints, before who handles uprobes. */
static struct notifier_block block = {
	.notifier_call = on_trap,
	.priority = INT_MAX,
};

int maple_step_init(void)
{
	return register_die_notifier(&block);
}

void maple_step_exit(void)
{
	unregister_die_notifier(&block);
}
