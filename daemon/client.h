/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_CLIENT_H
#define MAPLE_DAEMON_CLIENT_H

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <maple/wire.h>
#include "limits/lease.h"
#include "requests/lines.h"
#include "server.h"

#define MAPLE_SESSIONS 4 /* with maple.ko, of a client */
#define MAPLE_RAISED   3 /* limits of a client that REALTIME raises */

/* Of a process, besides its ids: what ptrace(2) looks at. */
struct maple_access_marks {
	uint64_t capabilities; /* permitted */
	uint64_t user_ns;
	bool dumpable;
};

struct maple_client {
	struct maple_server *server;
	struct maple_client *next, *before; /* of all */
	int sock;
	sd_event_source *source;
	sd_event_source *silence; /* our patience with it; places.c */

	struct ucred peer;
	struct maple_account *account; /* of its user */
	uint64_t held[MAPLE_LIMITS];   /* of what that counts */
	bool may_use, is_root, greeted;
	struct maple_access_marks marks; /* at HELLO */
	bool closing;			 /* as soon as all is said */
	int process;			 /* a pidfd; -1 before HELLO */

	struct maple_wire_buffer in, out;
	size_t done;	 /* of in: requests that were carried out */
	size_t said;	 /* of out */
	uint32_t events; /* that have come, for its next turn */
	bool ready;	 /* and waits for it; turns.c */
	struct maple_client *next_ready;
	struct maple_reading *reading; /* that its request is; reading.c */
	int in_fds[2 * MAPLE_WIRE_FDS];
	unsigned int nin_fds;
	int out_fd; /* goes with byte out_fd_at of out; -1: none */
	size_t out_fd_at;
	struct maple_error unsaid; /* why an answer could not be said */
	uint32_t serial;	   /* of the request at hand */
	int fds[MAPLE_WIRE_FDS];   /* ... and what came with it */
	unsigned int nfds;

	int64_t campaign, program; /* 0: none */
	struct maple_memo_job job; /* as its user calls the campaign */
	struct maple_lines lines;  /* of it */

	/* queue.c */
	struct maple_client *next_waiting;
	bool waits;
	cpu_set_t wanted;
	uint32_t lease_serial; /* of the request */
	unsigned int place;    /* as it was told */
	struct maple_lease lease;

	/* lending.c */
	bool raised; /* its limits, which were: */
	struct rlimit own[MAPLE_RAISED];

	/* target.c */
	int target[MAPLE_WIRE_FDS];
	unsigned int ntargets;

	/* parting.c */
	struct maple_joined_process {
		int pidfd;	  /* -1: none */
		uint32_t *spared; /* threads that had the flag before */
		unsigned int nspared;
	} joined;

	/* module.c */
	struct maple_module_command *command; /* NULL: there was none yet */
	bool asks;			      /* one is under way */
	struct maple_client_session {
		int64_t name;
		struct maple_module *module; /* NULL: free */
		uint32_t sites;
	} session[MAPLE_SESSIONS];
};

void maple_client_create(struct maple_server *server, int sock);
void maple_client_destroy(struct maple_client *client);
void maple_client_turn(struct maple_client *client);
void maple_client_wake(struct maple_client *client);
bool maple_client_is_halfway(const struct maple_client *client);
bool maple_client_is_served(const struct maple_client *client);
int maple_client_say(struct maple_client *client, unsigned int type,
		     const void *message, uint32_t serial, int fd);
void maple_client_refuse(struct maple_client *client, uint32_t serial, int e,
			 const char *text);

#endif
