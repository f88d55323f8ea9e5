/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a victim tells whoever tests sessions on it, in memory that both share:
 * where its labels are, how each of its threads is natively scheduled, and
 * that it makes progress. See victim.c.
 */
#ifndef MAPLE_TESTS_VICTIM_H
#define MAPLE_TESTS_VICTIM_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VICTIM_THREADS 8192
#define VICTIM_BYTES   8

enum victim_label {
	VICTIM_STORE, /* movq $1,(%rdi) */
	VICTIM_LOAD,  /* movq (%rdi),%rax */
	VICTIM_LOCK,  /* lock incq (%rdi) */
	VICTIM_NEVER, /* a store that nobody comes to */
	VICTIM_LABELS,
};

/* How a thread is scheduled when nobody interferes. */
struct victim_native {
	int policy; /* with SCHED_RESET_ON_FORK */
	int priority, nice;
	unsigned long cpus; /* the first two */
};

struct victim_page {
	_Atomic int ready, quit;
	_Atomic int keep; /* what it forks stays until it is killed */
	_Atomic unsigned long progress;
	struct {
		uint64_t offset, next; /* in its file */
		unsigned char bytes[VICTIM_BYTES];
	} label[VICTIM_LABELS];
	_Atomic unsigned int n; /* threads and forked processes so far */
	struct {
		_Atomic int tid;
		bool process; /* one that it forked */
		struct victim_native native;
	} thread[VICTIM_THREADS];
};

#define VICTIM_NATIVES 5
static const struct victim_native victim_natives[VICTIM_NATIVES] = {
	{ SCHED_OTHER, 0, 0, 3 }, { SCHED_BATCH, 0, 7, 3 },
	{ SCHED_OTHER, 0, 3, 1 }, { SCHED_RR | SCHED_RESET_ON_FORK, 5, 0, 3 },
	{ SCHED_IDLE, 0, 5, 3 },
};

#endif
