/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_LAUNCH_H
#define MAPLE_BACKEND_LAUNCH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
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
	bool stop_at_entry;    /* until maple_launch_go() */
	const char *exe;       /* ... at that of the first that matches */
	bool keep_crashed;     /* stop_at_entry: a crash waits to be seen */
	bool ask_call;	       /* traced, for the call that SIGSYS is about */
	int cpu;	       /* realtime, keep_crashed: its own, or -1 */
	bool stem;	       /* it waits for maple_launch_fork(); linger */
	/* Of a stem, shared with it: what it has forked ahead, or NULL; shm.h */
	const int32_t *spare;
};

/* A fatal signal, about to be delivered. */
struct maple_crash {
	pid_t pid, tid;
	int signo;
	uint64_t address; /* si_addr */
	uint64_t pc;
};

struct maple_launch {
	struct maple_launch *next; /* of those that have a guard */
	pid_t guard;
	pid_t pid;     /* the program itself; a stem's run, 0: none */
	int control;   /* closing it takes everything down */
	int news;      /* readable when the guard has something to say */
	pid_t stopped; /* stands at its entry point; 0: not yet, or gone on */
	bool crashed;  /* stands before its death; cleared by let_die() */
	struct maple_crash crash;
	bool ended;
	bool cleared;  /* nothing is left of it, or of a stem's run */
	bool orphaned; /* the guard was killed: the tree has come to us */
	int status;    /* as from waitpid, once ended */
	struct rusage usage;
	int call;  /* ask_call: that SIGSYS was about; -1: none */
	double at; /* when it did; 0: not known */

	/* Of a stem; the rest is about the run that it was forked for. */
	pid_t stem;
	const int32_t *spare; /* of its order */
	int orders; /* its socket, or that of one started ahead; or -1 */
	bool gone;  /* it has ended */
	bool left;  /* something of a run that has ended */

	/* Of a guard that stays: what it starts, and whether it waits for it */
	char *key;
	size_t key_size;
	bool resting;
};

int maple_launch_start(struct maple_launch *launch,
		       const struct maple_launch_order *order,
		       struct maple_error *err);
bool maple_launch_ended(struct maple_launch *launch);
pid_t maple_launch_stopped(struct maple_launch *launch);
void maple_launch_go(struct maple_launch *launch);
bool maple_launch_crashed(struct maple_launch *launch,
			  struct maple_crash *crash);
void maple_launch_let_die(struct maple_launch *launch);
bool maple_launch_left(struct maple_launch *launch);
void maple_launch_finish(struct maple_launch *launch);
void maple_launch_dismiss(void);

int maple_launch_ahead(struct maple_launch *launch,
		       const struct maple_launch_order *order, int said,
		       struct maple_error *err);
bool maple_launch_take(struct maple_launch *launch,
		       const struct maple_launch_order *order);

bool maple_launch_answers(struct maple_launch *launch, double within,
			  int32_t *answer);
int maple_launch_fork(struct maple_launch *launch,
		      const struct maple_launch_order *order);
void maple_launch_clear(struct maple_launch *launch);

#endif
