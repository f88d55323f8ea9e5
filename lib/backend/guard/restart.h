/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_RESTART_H
#define MAPLE_BACKEND_RESTART_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

bool maple_restart(pid_t tid, const struct user_regs_struct *regs,
		   struct user_regs_struct *again);

#endif
