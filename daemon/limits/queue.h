/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_QUEUE_H
#define MAPLE_DAEMON_QUEUE_H

#include "../client.h"

int maple_queue_init(struct maple_server *server, struct maple_error *err);
int maple_queue_join(struct maple_client *client, const void *cpus, size_t size,
		     struct maple_error *err);
int maple_queue_hold(struct maple_client *client, int cpu, int lock,
		     struct maple_error *err);
void maple_queue_cancel(struct maple_client *client);
void maple_queue_leave(struct maple_client *client);
void maple_queue_serve(struct maple_server *server);

#endif
