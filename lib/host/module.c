// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* maple.ko by way of mapled, which may talk to it where we may not. */
#include <errno.h>
#include "host/host.h"

/* maple_host_session - a number for a session with maple.ko, ours alone */
int64_t maple_host_session(struct maple_host *host)
{
	return ++host->sessions;
}

/*
 * maple_host_module - one command, and its answer
 * @command: of <maple/uapi.h>; 0 ends the session
 * @attributes: netlink attributes; of a PIDFD or FD the number is mapled's
 * @fd: what that attribute is about, or -1
 *
 * A session does not outlive mapled: then the answer is -ENOTCONN, as the
 * module knows of none.
 */
int maple_host_module(struct maple_host *host, int64_t session,
		      unsigned int command, const void *attributes, size_t size,
		      int fd, struct maple_host_answer *answer,
		      struct maple_error *err)
{
	const struct maple_wire_module module = {
		.command = command,
		.session = session,
		.attributes = { attributes, (uint32_t)size },
	};

	return maple_host_ask_with(host, MAPLE_WIRE_MODULE, &module, &fd,
				   fd >= 0, MAPLE_WIRE_ANSWER, answer, err);
}
