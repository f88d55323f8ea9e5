/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * From what the eBPF observer says to events. Internal to lib/backend/kernel;
 * the contracts stand at the definitions in events.c.
 */
#ifndef MAPLE_BACKEND_KERNEL_EVENTS_H
#define MAPLE_BACKEND_KERNEL_EVENTS_H

#include "../../../../bpf/observe.h"
#include "backend/backend.h"
#include "backend/kernel/kernel.h"

#define MAPLE_KERNEL_SPINS 256

struct maple_kernel_call; /* number of a call site, by return address */

struct maple_kernel_thread {
	char name[MAPLE_PLAN_NAME];
	uint32_t parent, born;
	int tid;
	uint64_t pthread;
	uint32_t clock;
	uint32_t joining; /* whom; or MAPLE_THREAD_NONE */
	uint64_t once;	  /* the control it may be running */
};

struct maple_kernel_events {
	struct maple_registry *registry;
	const struct maple_mappings *mappings;
	const struct maple_uapi_probe *probe;
	uint32_t nprobes;
	bool pinned;	      /* else the order of records proves nothing */
	unsigned int nbefore; /* threads that there were before us, */
	const pid_t *before;  /* ... main first, in order of creation */
	const struct maple_run_sink *sink;

	struct maple_event held; /* an access; what comes next tells of it */
	bool holding;
	bool renewed; /* a new thread has renewed the budgets */
	bool loaded;  /* the set of images may have changed */
	uint32_t nthreads;
	uint64_t bad;
	unsigned int nspins;
	uint64_t spin[MAPLE_KERNEL_SPINS]; /* locks of that kind that are held */
	struct maple_kernel_call *calls;
	struct maple_kernel_thread thread[MAPLE_THREADS];
};

void maple_kernel_events_start(struct maple_kernel_events *e);
void maple_kernel_events_take(struct maple_kernel_events *e,
			      const struct maple_observe_record *record);
void maple_kernel_events_moved(struct maple_kernel_events *e);
void maple_kernel_events_end(struct maple_kernel_events *e);
void maple_kernel_events_deinit(struct maple_kernel_events *e);

/* calls.c: what the functions of functions.c come to */
void maple_kernel_call_entry(struct maple_kernel_events *e,
			     const struct maple_function *f,
			     const struct maple_observe_record *r);
void maple_kernel_call_return(struct maple_kernel_events *e,
			      const struct maple_function *f,
			      const struct maple_observe_record *r);
void maple_kernel_say(struct maple_kernel_events *e, struct maple_event event);
uint32_t maple_kernel_call_site(struct maple_kernel_events *e, uint64_t caller);
void maple_kernel_function(const struct maple_function *f,
			   struct maple_observe_function *out);

#endif
