/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The threads of a process, stopped, with their registers. */
#ifndef MAPLE_BACKEND_STOP_H
#define MAPLE_BACKEND_STOP_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>
#include <maple/event.h>

#define MAPLE_STOP_MOST MAPLE_THREADS

/* A stopped thread, and the signal that it was about to get. */
struct maple_stopped {
	pid_t tid;
	int signo;
	bool done;  /* stopped, or gone */
	bool known; /* its registers are */
	struct user_regs_struct regs;
};

int maple_stop_all(pid_t pid, struct maple_stopped *at);
void maple_stop_let_go(const struct maple_stopped *at, int n);

#endif
