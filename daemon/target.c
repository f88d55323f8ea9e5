// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What clients run. When one vanishes, its guard takes its targets down by
 * itself; here that is looked after: what is still there a moment later is
 * killed, real-time, pinned or stopped as it may be, and the CPU is not lent
 * to anybody else before it is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "access.h"
#include "journal.h"
#include "limits/queue.h"
#include "target.h"

#define GRACE_US 1000000 /* for the guard */
#define AGAIN_US 200000

struct maple_leftover {
	struct maple_leftover *next;
	struct maple_server *server;
	struct maple_client whose; /* who it was, no more */
	sd_event_source *timer, *ended[MAPLE_WIRE_FDS];
	int process[MAPLE_WIRE_FDS];
	unsigned int n;
	struct maple_lease lease;
};

static bool is_alive(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 0;
}

static void forget(struct maple_client *client)
{
	while (client->ntargets)
		close(client->target[--client->ntargets]);
}

/* maple_target_take - the descriptors of the request at hand are its targets */
int maple_target_take(struct maple_client *client, struct maple_error *err)
{
	int e = 0;

	forget(client);
	for (unsigned int i = 0; i < client->nfds && !e; i++) {
		e = maple_access_process(client, client->fds[i],
					 MAPLE_ACCESS_END, err);
		if (e == -ESRCH) {
			e = 0; /* so much the better */
			continue;
		}
		if (e)
			break;
		client->target[client->ntargets] =
			fcntl(client->fds[i], F_DUPFD_CLOEXEC, 3);
		if (client->target[client->ntargets] < 0)
			return maple_error_set(err, errno, "no copy of it: %m");
		client->ntargets++;
	}
	return e;
}

static void end(struct maple_leftover *left)
{
	struct maple_leftover **at = &left->server->leftovers;

	while (*at != left)
		at = &(*at)->next;
	*at = left->next;
	sd_event_source_disable_unref(left->timer);
	for (unsigned int i = 0; i < left->n; i++) {
		sd_event_source_disable_unref(left->ended[i]);
		close(left->process[i]);
	}
	maple_lease_end(left->server, &left->lease);
	free(left);
}

/* Nobody waits longer for the CPU than the last of them is there. */
static int on_end(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct maple_leftover *left = ctx;
	struct maple_server *server = left->server;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	for (unsigned int i = 0; i < left->n; i++)
		if (is_alive(left->process[i]))
			return 0;
	end(left);
	maple_queue_serve(server);
	return 0;
}

/*
 * Ends process @i, if it is still the client's: by now it may have become
 * another user's, who would not have it killed. Whether it is one to wait for.
 */
static bool put_down(const struct maple_leftover *left, unsigned int i)
{
	struct maple_error err = { "" };
	int e;

	if (!is_alive(left->process[i]))
		return false;
	e = maple_access_process(&left->whose, left->process[i],
				 MAPLE_ACCESS_END, &err);
	if (e == -ESRCH)
		return false;
	if (e) {
		maple_journal(LOG_WARNING, &left->whose,
			      "it has outlived its campaign, and is left "
			      "alone: %s",
			      err.text);
		return false;
	}
	maple_journal(LOG_WARNING, &left->whose,
		      "process %d has outlived its campaign: killed",
		      maple_wire_process(left->process[i]));
	syscall(SYS_pidfd_send_signal, left->process[i], SIGKILL, NULL, 0);
	return true;
}

static int on_time(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct maple_leftover *left = ctx;
	struct maple_server *server = left->server;
	unsigned int alive = 0;

	for (unsigned int i = 0; i < left->n; i++)
		alive += put_down(left, i);
	if (alive) {
		sd_event_source_set_time(source, usec + AGAIN_US);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
		return 0;
	}
	end(left);
	maple_queue_serve(server);
	return 0;
}

/*
 * maple_target_leave - @client is gone: its targets, if any are left, and the
 * CPU they are on, are ours to look after
 */
void maple_target_leave(struct maple_client *client)
{
	struct maple_leftover *left;
	unsigned int i, alive = 0;
	uint64_t now = 0;

	for (i = 0; i < client->ntargets; i++)
		alive += is_alive(client->target[i]);
	left = alive ? calloc(1, sizeof(*left)) : NULL;
	if (!left) {
		forget(client);
		return;
	}
	left->server = client->server;
	left->whose.peer = client->peer;
	left->whose.is_root = client->is_root;
	left->whose.server = client->server;
	left->whose.campaign = client->campaign;
	left->whose.lease = client->lease;
	left->n = client->ntargets;
	memcpy(left->process, client->target, sizeof(left->process));
	client->ntargets = 0;
	left->lease = client->lease;
	client->lease = MAPLE_LEASE_NONE;
	left->next = client->server->leftovers;
	client->server->leftovers = left;
	sd_event_now(left->server->event, CLOCK_MONOTONIC, &now);
	if (sd_event_add_time(left->server->event, &left->timer, CLOCK_MONOTONIC,
			      now + GRACE_US, 0, on_time, left) < 0) {
		end(left);
		return;
	}
	for (i = 0; i < left->n; i++)
		sd_event_add_io(left->server->event, &left->ended[i],
				left->process[i], EPOLLIN, on_end, left);
}

/* maple_target_close - at our end, too, nobody's target is left */
void maple_target_close(struct maple_server *server)
{
	while (server->leftovers) {
		struct maple_leftover *left = server->leftovers;

		for (unsigned int i = 0; i < left->n; i++)
			put_down(left, i);
		end(left);
	}
}
