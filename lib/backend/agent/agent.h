/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The campaign's side of libmaple-agent.so; internal to this folder. */
#ifndef MAPLE_BACKEND_AGENT_H
#define MAPLE_BACKEND_AGENT_H

#include "abi/shm.h"
#include "../../trace/trace.h"
#include "../backend.h"
#include "backend/guard/launch.h"
#include "backend/join/join.h"

/* A thread that may be spinning: CPU used since its last event. */
struct maple_spinner {
	uint64_t cpu; /* ns when last seen with a new event */
	uint64_t events;
	double until; /* demoted until then; 0: not demoted */
};

/* A process that runs are forked from; stem.c. */
struct maple_agent_stem {
	struct maple_launch launch;
	bool up;
};

/* A process that was executed for a run to come; ahead.c. */
struct maple_agent_ahead {
	struct maple_launch launch;
	bool up, own_group;
};

struct maple_agent_backend {
	struct maple_backend base;
	int shm_fd, tables_fd;
	struct maple_shm *shm;
	uint64_t tables_size;
	struct maple_trace_ring ring;

	/* By index of the shared image. */
	uint32_t registered[MAPLE_SHM_IMAGES]; /* in the registry, or NONE */
	bool wanted[MAPLE_SHM_IMAGES];
	struct maple_table *table[MAPLE_SHM_IMAGES]; /* copies of ours */
	uint32_t *call;	 /* numbers in the registry, by the agent's own */
	uint32_t ncalls; /* ... of which are known */
	bool context[MAPLE_SHM_CONTEXTS]; /* the registry knows it */

	struct maple_spinner *spinner; /* by thread number */
	double looked;		       /* for spinners, last time */
	uint64_t used;		       /* CPU time of the run, then */
	uint64_t spins;
	bool released; /* no level any more: the run took too long */
	bool crash_seen;
	char *preload, *asan, *path; /* of the environment */
	char *users[2];		     /* ... the user's own of the first two */
	char *path_ahead; /* ... of a process that is executed ahead */

	struct maple_agent_stem stem[MAPLE_SHM_STEMS];
	unsigned int wasted; /* controlled runs whose stem has too many sites */

	/* Sites that this run leaves alone: by number, and those beyond. */
	const uint8_t *alone;
	uint32_t nalone;
	bool alone_rest;
	uint8_t *alone_own; /* what alone is, if it is ours */
	unsigned int stems_lost;
	unsigned int forked; /* runs since the last executed one */
	bool never_fork;

	struct maple_agent_ahead ahead[2]; /* of this run, of the next */
	unsigned int turn;
	bool on_time;		    /* nothing is executed ahead */
	bool came_up;		    /* the agent did, in the last run */
	bool shadowed;		    /* the program has AddressSanitizer in it */
	struct maple_joiner joiner; /* of a process that ran before */
	int said; /* what processes say that have no run yet, or -1 */
};

/* share.c */
int maple_agent_share_create(struct maple_agent_backend *a,
			     struct maple_error *err);
void maple_agent_share_destroy(struct maple_agent_backend *a);
bool maple_agent_share(struct maple_agent_backend *a,
		       const struct maple_run_order *order);

/* control.c */
bool maple_agent_control_share(struct maple_agent_backend *a,
			       const struct maple_run_order *order);
bool maple_agent_control_has_sites(const struct maple_agent_backend *a);
void maple_agent_control_finish(struct maple_agent_backend *a,
				struct maple_run *run);

/* preload.c */
char *maple_agent_preload(const struct maple_backend_options *options);
char *maple_agent_asan(void);

/* tables.c */
void maple_agent_tables_answer(struct maple_agent_backend *a);
void maple_agent_tables_contexts(struct maple_agent_backend *a);
void maple_agent_tables_calls(struct maple_agent_backend *a);
void maple_agent_tables_alone(struct maple_agent_backend *a,
			      const struct maple_run_order *order);
void maple_agent_tables_keep(struct maple_agent_backend *a);
bool maple_agent_tables_kept(struct maple_agent_backend *a, bool *many_more);
uint32_t maple_agent_tables_number(struct maple_agent_backend *a, uint32_t site);
uint32_t maple_agent_tables_inside(struct maple_agent_backend *a,
				   uint32_t number);

/* joined.c */
int maple_agent_joined_attach(struct maple_backend *b, pid_t pid,
			      struct maple_error *err);
void maple_agent_joined_leave(struct maple_agent_backend *a);
bool maple_agent_joined_done(struct maple_backend *b);

/* stem.c */
struct maple_launch *maple_agent_fork(struct maple_backend *b,
				      const struct maple_launch_order *start);
void maple_agent_stems_end(struct maple_agent_backend *a);

/* ahead.c */
struct maple_launch *maple_agent_ahead(struct maple_agent_backend *a,
				       const struct maple_launch_order *start);
void maple_agent_ahead_end(struct maple_agent_backend *a);

/* spin.c */
void maple_agent_spin_look(struct maple_agent_backend *a, double now);
void maple_agent_spin_release(struct maple_agent_backend *a);
void maple_agent_spin_reset(struct maple_agent_backend *a);

#endif
