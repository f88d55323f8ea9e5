/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_KERNEL_UPROBE_H
#define MAPLE_BACKEND_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int maple_uprobe_event(pid_t pid, const char *path, uint64_t offset,
		       bool at_return);
int maple_uprobe_try(void);

#endif
