/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_STACK_H
#define MAPLE_BACKEND_STACK_H

#include <sys/types.h>
#include <maple/finding.h>

/* Who knows the return addresses that uprobes have replaced. */
struct maple_stack_returns {
	void *ctx;
	/* which one stood at @slot; 0: not known */
	uint64_t (*find)(void *ctx, uint64_t slot);
};

int maple_stack_collect(pid_t pid, const struct maple_stack_returns *returns,
			struct maple_stack **stacks, unsigned int *nstacks,
			struct maple_error *err);
void maple_stack_destroy(struct maple_stack *stacks, unsigned int n);

#endif
