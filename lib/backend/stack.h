/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_STACK_H
#define MAPLE_BACKEND_STACK_H

#include <sys/types.h>
#include <maple/finding.h>

int maple_stack_collect(pid_t pid, struct maple_stack **stacks,
			unsigned int *nstacks, struct maple_error *err);
void maple_stack_destroy(struct maple_stack *stacks, unsigned int n);

#endif
