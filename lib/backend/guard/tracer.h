/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_TRACER_H
#define MAPLE_BACKEND_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "launch.h"

enum maple_tracer_phase {
	MAPLE_TRACER_OFF,
	MAPLE_TRACER_SEEKS,   /* the program under test was not executed yet */
	MAPLE_TRACER_LOADS,   /* it was; the loader is at work */
	MAPLE_TRACER_STANDS,  /* at its entry point */
	MAPLE_TRACER_RUNS,    /* threads are attached, for a crash to be kept */
	MAPLE_TRACER_FREEZES, /* a crash: its threads are about to stop */
	MAPLE_TRACER_FROZEN,
	MAPLE_TRACER_ASKS, /* all of the tree are, for a forbidden call */
	MAPLE_TRACER_LEFT, /* nobody of the program is attached any more */
};

/* The guard as a tracer. */
struct maple_tracer {
	const struct maple_launch_order *order;
	enum maple_tracer_phase phase;
	pid_t target;	/* the process under test */
	uint64_t entry; /* its entry point, */
	long text;	/* and the word that belongs there */
	unsigned int patience;
	int call; /* that somebody got SIGSYS for; -1: nobody */
	struct maple_crash crash;
};

int maple_tracer_begin(struct maple_tracer *t,
		       const struct maple_launch_order *order, pid_t pid);
void maple_tracer_stop(struct maple_tracer *t, pid_t tid, int status);
void maple_tracer_go(struct maple_tracer *t);
bool maple_tracer_froze(struct maple_tracer *t);
void maple_tracer_let_die(struct maple_tracer *t);

#endif
