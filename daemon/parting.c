// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What clients have joined, and leave running. Who gives a thread a real-time
 * priority says SCHED_RESET_ON_FORK, so that nothing inherits it, and may give
 * the priority back, but not take the flag away again without CAP_SYS_NICE. So
 * we do, when the client has gone, whichever way it went: its joiner may then
 * still be at giving the priorities back, which is waited for.
 *
 * The flag has no effect on a thread without a real-time priority but for what
 * it takes later, by its own limits. Which threads had it before is the
 * client's word: what it could gain it may have by REALTIME as well.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "access.h"
#include "parting.h"

#define AGAIN_US 200000
#define LEAST	 25   /* looks: a killed client's agent may set some still */
#define MOST	 300  /* ... for as long as a joiner may need */
#define EACH	 16   /* of a user at once */
#define THREADS	 1024 /* of a process; a run has no more */

struct maple_parting {
	struct maple_parting *next;
	struct maple_client whose; /* who it was, no more */
	sd_event_source *timer;
	struct maple_joined_process process;
	unsigned int looks;
};

static void forget(struct maple_joined_process *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process->spared);
	*process = (struct maple_joined_process){ .pidfd = -1 };
}

/* maple_parting_take - the descriptor of the request at hand is what it joins */
int maple_parting_take(struct maple_client *client,
		       const struct maple_wire_bytes *spared,
		       struct maple_error *err)
{
	struct maple_joined_process *process = &client->joined;
	int e;

	if (client->nfds != 1 || spared->size % sizeof(*process->spared))
		return maple_error_set(err, EINVAL, "a process and its threads");
	e = maple_access_process(client, client->fds[0], MAPLE_ACCESS_TRACE,
				 err);
	if (e)
		return e;
	forget(process);
	process->pidfd = fcntl(client->fds[0], F_DUPFD_CLOEXEC, 3);
	process->spared = malloc(spared->size + 1);
	if (process->pidfd < 0 || !process->spared) {
		forget(process);
		return maple_error_set(err, ENOMEM, "no copy of it");
	}
	memcpy(process->spared, spared->data, spared->size);
	process->nspared = spared->size / sizeof(*process->spared);
	return 0;
}

static bool is_spared(const struct maple_joined_process *process, uint32_t tid)
{
	for (unsigned int i = 0; i < process->nspared; i++)
		if (process->spared[i] == tid)
			return true;
	return false;
}

/* Whether the thread is as it was; not as long as it has a priority of ours. */
static bool settle(pid_t tid)
{
	const struct sched_param none = { 0 };
	int policy = sched_getscheduler(tid);

	if (policy < 0 || !(policy & SCHED_RESET_ON_FORK))
		return true;
	policy &= ~SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return false;
	if (policy == SCHED_OTHER || policy == SCHED_BATCH ||
	    policy == SCHED_IDLE)
		sched_setscheduler(tid, policy, &none);
	return true;
}

/* Whether there is nothing left to be done; also where nothing may be. */
static bool settle_all(struct maple_parting *p)
{
	struct maple_error err = { "" };
	struct dirent *entry;
	unsigned int n = 0;
	bool done = true;
	char path[48];
	DIR *dir;

	if (maple_access_process(&p->whose, p->process.pidfd,
				 MAPLE_ACCESS_TRACE, &err))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task",
		 maple_wire_process(p->process.pidfd));
	dir = opendir(path);
	while (dir && n < THREADS && (entry = readdir(dir))) {
		int tid = atoi(entry->d_name);

		n += tid > 0;
		if (tid > 0 && !is_spared(&p->process, (uint32_t)tid))
			done &= settle(tid);
	}
	if (dir)
		closedir(dir);
	return done;
}

static void end(struct maple_parting *p)
{
	struct maple_parting **at = &p->whose.server->partings;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	sd_event_source_disable_unref(p->timer);
	forget(&p->process);
	free(p);
}

static int on_time(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct maple_parting *p = ctx;

	if (++p->looks >= (settle_all(p) ? LEAST : MOST)) {
		end(p);
		return 0;
	}
	sd_event_source_set_time_relative(source, AGAIN_US);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* Who comes and goes all the time has no more of us than others. */
static void make_room(const struct maple_server *server, uid_t uid)
{
	struct maple_parting *oldest = NULL;
	unsigned int n = 0;

	for (struct maple_parting *p = server->partings; p; p = p->next)
		if (p->whose.peer.uid == uid) {
			oldest = p;
			n++;
		}
	if (n >= EACH)
		end(oldest);
}

/* maple_parting_leave - @client is gone, and what it had joined runs on */
void maple_parting_leave(struct maple_client *client)
{
	struct maple_server *server = client->server;
	struct maple_parting *p;

	make_room(server, client->peer.uid);
	p = client->joined.pidfd < 0 ? NULL : calloc(1, sizeof(*p));
	if (!p) {
		forget(&client->joined);
		return;
	}
	p->whose.peer = client->peer;
	p->whose.is_root = client->is_root;
	p->whose.marks = client->marks;
	p->whose.server = server;
	p->process = client->joined;
	client->joined = (struct maple_joined_process){ .pidfd = -1 };
	p->next = server->partings;
	server->partings = p;
	/* What has been given back by now is settled at once. */
	settle_all(p);
	if (sd_event_add_time_relative(server->event, &p->timer, CLOCK_MONOTONIC,
				       AGAIN_US, 0, on_time, p) < 0)
		end(p);
}

/* maple_parting_close - who is joined at our end stays so: it is told anew */
void maple_parting_close(struct maple_server *server)
{
	while (server->partings)
		end(server->partings);
}
