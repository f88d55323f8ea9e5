/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_PROCESS_H
#define MAPLE_BACKEND_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a thread is doing, as the kernel sees it. */
enum maple_wait {
	MAPLE_WAIT_RUNS,    /* running or runnable */
	MAPLE_WAIT_FOREVER, /* on a futex, without a timeout */
	MAPLE_WAIT_OTHER,   /* in a wait that something else may end */
	MAPLE_WAIT_GONE,
};

#define MAPLE_PROCESS_CHILDREN 512 /* room for as many as are seen at a time */

enum maple_wait maple_process_wait(pid_t pid, pid_t tid, uint64_t *futex);
unsigned int maple_process_children(pid_t pid, pid_t tid, pid_t *pids,
				    unsigned int max);
uint64_t maple_process_auxiliary(pid_t pid, uint64_t type);
bool maple_process_runs(pid_t pid, const char *glob);
pid_t maple_process_find(pid_t root, const char *glob);
bool maple_process_has(pid_t pid, pid_t tid);
int maple_process_threads(pid_t pid, pid_t *tids, int max);
bool maple_process_cpu(pid_t pid, pid_t tid, uint64_t *ns, char *state);
uint64_t maple_process_since(pid_t pid);
uint64_t maple_process_used(pid_t pid);
bool maple_process_wants_cpu(pid_t pid);
bool maple_process_held(pid_t pid);
pid_t maple_process_tracer(pid_t pid);
bool maple_process_stuck(pid_t pid, uint64_t *stamp);
bool maple_process_cycle(pid_t pid, uint64_t *stamp);

#endif
