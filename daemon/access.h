/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_ACCESS_H
#define MAPLE_DAEMON_ACCESS_H

#include "client.h"

int maple_access_peer(struct maple_client *client, struct maple_error *err);
int maple_access_self(struct maple_client *client, int pidfd,
		      struct maple_error *err);
/* What is to be done with a process. */
enum maple_access_use {
	MAPLE_ACCESS_END,    /* it is killed when its client has vanished */
	MAPLE_ACCESS_LIMITS, /* it gets real-time limits */
	MAPLE_ACCESS_TRACE,  /* it is observed and scheduled */
};

int maple_access_process(const struct maple_client *client, int pidfd,
			 enum maple_access_use use, struct maple_error *err);

#endif
