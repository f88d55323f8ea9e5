// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Requests for priorities, CPUs, and an eye on targets. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include "access.h"
#include "journal.h"
#include "queue.h"
#include "request.h"
#include "target.h"

/* What the client starts inherits its limits. */
MAPLE_HANDLER(realtime)
{
	static const struct {
		int resource;
		struct rlimit limit;
	} limits[] = {
		{ RLIMIT_RTPRIO, { 99, 99 } },
		{ RLIMIT_NICE, { 40, 40 } },
		{ RLIMIT_RTTIME, { RLIM_INFINITY, RLIM_INFINITY } },
	};
	int e = maple_access_process(client, client->process, false, err);

	for (size_t i = 0; !e && i < sizeof(limits) / sizeof(*limits); i++)
		if (prlimit(client->peer.pid, limits[i].resource,
			    &limits[i].limit, NULL))
			e = maple_error_set(
				err, errno,
				"mapled cannot raise the limits of process %d: "
				"%s; it takes root's rights, or CAP_SYS_RESOURCE",
				client->peer.pid, strerror(errno));
	/* It has been alive all the time, so the number was its own. */
	if (!e && !maple_access_pid(client->process))
		e = maple_error_set(err, ESRCH, "the process is gone");
	return e;
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

MAPLE_HANDLER(give_back)
{
	maple_queue_leave(client);
	return 0;
}

MAPLE_HANDLER(target)
{
	return maple_target_take(client, err);
}
