// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Requests for priorities, CPUs, and an eye on targets. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include "../access.h"
#include "../journal.h"
#include "../limits/queue.h"
#include "request.h"
#include "../parting.h"
#include "../target.h"

static const int raised[MAPLE_RAISED] = { RLIMIT_RTPRIO, RLIMIT_NICE,
					  RLIMIT_RTTIME };

static int set_limit(pid_t pid, int resource, const struct rlimit *limit,
		     struct rlimit *before, struct maple_error *err)
{
	if (!prlimit(pid, resource, limit, before))
		return 0;
	return maple_error_set(
		err, errno,
		"mapled cannot raise the limits of process %d: %s; it takes "
		"root's rights, or CAP_SYS_RESOURCE",
		pid, strerror(errno));
}

/*
 * What the client starts inherits its limits. A thread that never sleeps gets
 * SIGXCPU in the end: it cannot have a CPU for ever.
 */
MAPLE_HANDLER(realtime)
{
	rlim_t us = client->is_root ? RLIM_INFINITY
				    : maple_limit_of(client->server,
						     MAPLE_LIMIT_REALTIME) *
					      1000000;
	const struct rlimit limits[MAPLE_RAISED] = {
		{ MAPLE_WIRE_RTPRIO, MAPLE_WIRE_RTPRIO },
		{ 40, 40 },
		{ us, us },
	};
	int e = maple_access_process(client, client->process,
				     MAPLE_ACCESS_LIMITS, err);

	if (client->raised)
		return e;
	for (int i = 0; !e && i < MAPLE_RAISED; i++) {
		e = set_limit(client->peer.pid, raised[i], &limits[i],
			      &client->own[i], err);
		client->raised |= !e;
	}
	/* It has been alive all the time, so the number was its own. */
	if (!e && !maple_wire_process(client->process))
		e = maple_error_set(err, ESRCH, "the process is gone");
	return e;
}

/* maple_lending_end - the limits of @client are its own again */
void maple_lending_end(struct maple_client *client)
{
	for (int i = 0; client->raised && i < MAPLE_RAISED; i++)
		if (maple_wire_process(client->process) == client->peer.pid)
			prlimit(client->peer.pid, raised[i], &client->own[i],
				NULL);
	client->raised = false;
}

MAPLE_HANDLER(lease)
{
	const struct maple_wire_lease *lease = &message->lease;
	const struct maple_wire_leased leased = { (uint32_t)lease->held };
	int e;

	if (lease->held < 0) {
		e = maple_queue_join(client, lease->cpus.data, lease->cpus.size,
				     err);
		return e ? e : MAPLE_ANSWERED;
	}
	if (client->nfds != 1 || lease->held >= CPU_SETSIZE)
		return maple_error_set(err, EINVAL, "a CPU and its claim");
	e = maple_queue_hold(client, (int)lease->held, client->fds[0], err);
	if (e)
		return e;
	maple_client_say(client, MAPLE_WIRE_LEASED, &leased, client->serial, -1);
	return MAPLE_ANSWERED;
}

static void give_back(struct maple_client *client)
{
	const struct maple_wire_number done = { 0 };

	maple_target_leave(client);
	maple_queue_leave(client);
	maple_client_say(client, MAPLE_WIRE_NUMBER, &done, client->serial, -1);
	maple_client_wake(client);
}

MAPLE_HANDLER(give_back)
{
	/* Nothing of it runs there when the next one comes. */
	maple_module_end(client, give_back);
	return MAPLE_ANSWERED;
}

/*
 * Jobs of a mapled before us come back, and are not refused, since they run:
 * but they count.
 */
MAPLE_HANDLER(job)
{
	if (message->job.again && maple_lease_may_return(client->server)) {
		maple_limit_keep(client, MAPLE_LIMIT_JOBS, 1);
		return 0;
	}
	return maple_limit_hold(client, MAPLE_LIMIT_JOBS, 1, err);
}

MAPLE_HANDLER(target)
{
	return maple_target_take(client, err);
}

MAPLE_HANDLER(joined)
{
	return maple_parting_take(client, &message->joined.spared, err);
}
