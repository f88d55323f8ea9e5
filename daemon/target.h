/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_TARGET_H
#define MAPLE_DAEMON_TARGET_H

#include "client.h"

int maple_target_take(struct maple_client *client, struct maple_error *err);
void maple_target_leave(struct maple_client *client);
void maple_target_close(struct maple_server *server);

#endif
