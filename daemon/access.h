/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_ACCESS_H
#define MAPLE_DAEMON_ACCESS_H

#include "client.h"

int maple_access_peer(struct maple_client *client, struct maple_error *err);
int maple_access_self(struct maple_client *client, int pidfd,
		      struct maple_error *err);
int maple_access_process(const struct maple_client *client, int pidfd,
			 bool started, struct maple_error *err);
int maple_access_pid(int pidfd);

#endif
