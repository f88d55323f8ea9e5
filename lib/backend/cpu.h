/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_BACKEND_CPU_H
#define MAPLE_BACKEND_CPU_H

#include <sched.h>
#include <stdbool.h>
#include <maple/error.h>
#include "base/patience.h"

struct maple_host;

/* The CPU that one target has to itself, as far as maple is concerned. */
struct maple_cpu {
	int number;
	int lock, file;		 /* held while it is ours */
	struct maple_host *host; /* it has lent it, and keeps the lock */
	bool shared;		 /* another campaign had them all */
	bool alone;	  /* no CPU is without a target: we run on it too */
	cpu_set_t before; /* our own affinity before */
	cpu_set_t rest;	  /* what targets leave of that */
};

int maple_cpu_take(struct maple_cpu *cpu, double patience,
		   void (*notice)(void *ctx, const char *text), void *ctx);
int maple_cpu_take_some(struct maple_cpu *cpus, unsigned int n,
			const struct maple_patience *patience);
int maple_cpu_lease_some(struct maple_cpu *cpus, struct maple_host *const *hosts,
			 unsigned int n, const struct maple_patience *patience,
			 struct maple_error *err);
int maple_cpu_count(void);
int maple_cpu_leave(struct maple_cpu *cpu,
		    void (*notice)(void *ctx, const char *text), void *ctx);
void maple_cpu_give_back(struct maple_cpu *cpu);

#endif
