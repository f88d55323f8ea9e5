/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_LAUNCH_H
#define MAPLE_BACKEND_LAUNCH_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/resource.h>
#include <maple/error.h>

struct maple_launch_order {
	const char *path; /* of the program; argv[0] is only what it is told */
	char *const *argv;
	char *const *envp;
	int in, out, err;      /* file descriptors to become 0, 1, 2 */
	bool own_group;	       /* a process group of its own */
	bool realtime;	       /* may use real-time priorities */
	bool linger;	       /* what it leaves behind lives until finish() */
	const cpu_set_t *cpus; /* its affinity; NULL: ours */
};

struct maple_launch {
	pid_t guard;
	pid_t pid;   /* the program itself */
	int control; /* closing it takes everything down */
	int news;    /* readable when the guard has something to say */
	bool ended;
	bool orphaned; /* the guard was killed: the tree has come to us */
	int status;    /* as from waitpid, once ended */
	struct rusage usage;
};

int maple_launch_start(struct maple_launch *launch,
		       const struct maple_launch_order *order,
		       struct maple_error *err);
bool maple_launch_ended(struct maple_launch *launch);
bool maple_launch_left(struct maple_launch *launch);
void maple_launch_finish(struct maple_launch *launch);

#endif
