/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Between the files of the eBPF backend: load.c has the program and its maps,
 * which a session (observing.h) works with; place.c puts it into the images of
 * a process, sites.c at their sites, and observe.c carries out runs, all three
 * by asking such a session. The contracts stand at the definitions.
 */
#ifndef MAPLE_BACKEND_KERNEL_EBPF_H
#define MAPLE_BACKEND_KERNEL_EBPF_H

#include <pthread.h>
#include <semaphore.h>
#include "attach.h"
#include "events.h"
#include "observing.h"

struct observe_bpf;
struct bpf_link;
struct ring_buffer;

/* The program in the kernel, and its maps as memory. */
struct maple_bpf {
	struct observe_bpf *bpf;
	struct bpf_link *link[3]; /* of threads: fork, exit, exec */
	bool multi;
	int access, entry, back; /* programs */
	struct maple_observe_session *session;
	struct maple_observe_end *end;
	struct maple_uapi_probe *probe;
	const struct maple_observe_count *count; /* by index of a probe */
	struct ring_buffer *ring;
};

/* Places of an image that are changed together. */
struct maple_batch {
	unsigned int first, n; /* of the places */
	uint32_t generation;
	struct maple_probed sites;
};

/* An image of the run that has been looked at. */
struct maple_placed {
	uint32_t index; /* in the registry, or MAPLE_REGISTRY_NONE */
	struct maple_mapped mapped;
	uint32_t first, nprobes; /* of the observer's probes */
	unsigned int nstretches; /* of code that is linked in and left out */
	const struct maple_stretch *stretch;
	unsigned int nplaces;	/* of which several can be at one place */
	uint64_t *offset;	/* of each place */
	uint32_t *at;		/* ... its first probe */
	bool *refused, *silent; /* ... no probe can be there, or is now */
	unsigned int nbatches;
	struct maple_batch *batch;
};

struct maple_ebpf {
	struct maple_backend base;
	struct maple_probing observer;
	struct maple_probing_hearing hearing; /* of the run's process */
	uint32_t nprobes;
	struct maple_probed functions;
	struct maple_mappings mappings;
	struct maple_kernel_events events;
	struct maple_placed *placed;
	unsigned int nplaced;
	bool taken[MAPLE_OBSERVE_FUNCTIONS]; /* the agent has this one */
	struct maple_run_sink sink, watch;
	uint32_t hit[MAPLE_RUN_CHANGES];
	uint32_t changed;     /* change points that were reached */
	int lost;	      /* what the observer could not say any more */
	uint64_t unfit;	      /* sites that no probe can be made for */
	uint64_t apart;	      /* ... that have none since they are not shared */
	pthread_t keeper;     /* takes probes away and puts them back */
	bool kept;	      /* it is there */
	pthread_mutex_t lock; /* of placed, while it is */
	sem_t ask;	      /* ... for it to look, or to end: */
	bool renewed, ends;   /* atomic */
	bool limited;	      /* that there are too many was said */
	bool nameless;	      /* ... that there are no symbols */
	bool released;
	pid_t pid;
	pid_t before[MAPLE_THREADS]; /* joined: threads that were there */
	bool imported[MAPLE_OBSERVE_FUNCTIONS];
};

/* load.c */
int maple_bpf_open(struct maple_bpf *o,
		   int (*take)(void *ctx, void *record, size_t size), void *ctx,
		   struct maple_error *err);
void maple_bpf_forget(struct maple_bpf *o);
uint64_t maple_bpf_return(const struct maple_bpf *o, uint64_t slot);
void maple_bpf_read(struct maple_bpf *o);
void maple_bpf_close(struct maple_bpf *o);

/* place.c */
int maple_ebpf_place(struct maple_ebpf *o, struct maple_error *err);
void maple_ebpf_unplace(struct maple_ebpf *o);
const char *maple_ebpf_path(const struct maple_mapped *mapped);

/* sites.c */
int maple_ebpf_sites(struct maple_ebpf *o, struct maple_placed *placed,
		     struct maple_error *err);
int maple_ebpf_keep(struct maple_ebpf *o);
void maple_ebpf_renew(struct maple_ebpf *o);
void maple_ebpf_end_keeping(struct maple_ebpf *o);
void maple_ebpf_sites_sum(const struct maple_placed *placed,
			  struct maple_probed *sum);
void maple_ebpf_sites_deinit(struct maple_ebpf *o, struct maple_placed *placed);

#endif
