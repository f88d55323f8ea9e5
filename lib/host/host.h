/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* The way to mapled; internal to lib. */
#ifndef MAPLE_HOST_HOST_H
#define MAPLE_HOST_HOST_H

#include <sched.h>
#include <maple/host.h>
#include <maple/wire.h>
#include "base/patience.h"
#include "host/calls.h"

#define MAPLE_HOST_SPARED 1024

struct maple_host {
	char *path;
	int sock;  /* -1: gone */
	bool away; /* it was waited for, and did not come back */
	uint32_t serial;
	struct maple_host_info info;

	struct maple_wire_buffer out, in;
	size_t taken; /* of in */
	int fds[2 * MAPLE_WIRE_FDS];
	unsigned int nfds;

	struct maple_error full; /* why the memo keeps no more of ours */

	/* What to take up after a reconnection. */
	int64_t campaign;
	struct maple_memo_job job;
	char name[40];
	int cpu, lock; /* lent; -1: none */
	int target[MAPLE_WIRE_FDS];
	unsigned int ntargets;
	int joined; /* pidfd of what we have joined; -1: none */
	uint32_t spared[MAPLE_HOST_SPARED]; /* threads that stay as they are */
	unsigned int nspared;
	int64_t sessions;     /* with maple.ko, that there have been */
	bool is_job;	      /* as mapled knows */
	unsigned int returns; /* how often mapled was gone, and came back */
};

/* An answer; points into the host until the next call. */
struct maple_host_answer {
	struct maple_wire_head head;
	union maple_wire_message message;
	int fd; /* that came with it, the caller's; -1: none */
};

/* connection.c */
struct maple_wire_joined maple_host_says(const struct maple_host *host);
int maple_host_connect(struct maple_host *host, struct maple_error *err);
int maple_host_receive(struct maple_host *host, int timeout_ms,
		       struct maple_host_answer *answer,
		       struct maple_error *err);
int maple_host_listen(struct maple_host *host, double seconds,
		      struct maple_error *err);
int maple_host_send(struct maple_host *host, unsigned int type,
		    const void *message, const int *fds, unsigned int nfds,
		    struct maple_error *err);
void maple_host_disconnect(struct maple_host *host);

/* ask.c */
typedef int (*maple_host_take)(void *ctx, const struct maple_host_answer *answer,
			       struct maple_error *err);
int maple_host_return(struct maple_host *host, struct maple_error *err);
int maple_host_ask(struct maple_host *host, unsigned int type,
		   const void *message, unsigned int expected,
		   struct maple_host_answer *answer, struct maple_error *err);
int maple_host_number(struct maple_host *host, unsigned int type,
		      const void *message, int64_t *number,
		      struct maple_error *err);
int maple_host_ask_with(struct maple_host *host, unsigned int type,
			const void *message, const int *fds, unsigned int nfds,
			unsigned int expected, struct maple_host_answer *answer,
			struct maple_error *err);
int maple_host_last(struct maple_host *host, unsigned int expected,
		    struct maple_host_answer *answer, struct maple_error *err);
int maple_host_ask_all(struct maple_host *host, unsigned int type,
		       const void *message, unsigned int expected,
		       maple_host_take take, void *ctx, struct maple_error *err);

/* lend.c */
int maple_host_realtime(struct maple_host *host, struct maple_error *err);
int maple_host_lease(struct maple_host *host, const cpu_set_t *cpus,
		     const struct maple_patience *patience, int *cpu,
		     struct maple_error *err);
void maple_host_give_back(struct maple_host *host);
int maple_host_target(struct maple_host *host, const pid_t *pids,
		      unsigned int n, struct maple_error *err);
int maple_host_joined(struct maple_host *host, int pidfd, const uint32_t *spared,
		      unsigned int n, struct maple_error *err);

/* module.c */
int64_t maple_host_session(struct maple_host *host);
int maple_host_module(struct maple_host *host, int64_t session,
		      unsigned int command, const void *attributes, size_t size,
		      int fd, struct maple_host_answer *answer,
		      struct maple_error *err);

/* memo.c */
bool maple_host_is_full(struct maple_host *host, int e,
			const struct maple_error *why);
int maple_host_keep(struct maple_host *host, unsigned int type,
		    const void *message, int64_t of, int64_t *number,
		    struct maple_error *err);

/* memo.c, learn.c, read.c: as in maple/memo.h */
#define MAPLE_HOST_CALL(name, arguments, names)        \
	int maple_host_##name(struct maple_host *host, \
			      MAPLE_MEMO_ARGUMENTS arguments);
MAPLE_MEMO_CALLS(MAPLE_HOST_CALL)
int maple_host_findings(struct maple_host *host, int64_t program, bool known,
			struct maple_finding ***findings, size_t *n,
			struct maple_error *err);

#endif
