/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_PARTING_H
#define MAPLE_DAEMON_PARTING_H

#include "client.h"

int maple_parting_take(struct maple_client *client,
		       const struct maple_wire_bytes *spared,
		       struct maple_error *err);
void maple_parting_leave(struct maple_client *client);
void maple_parting_close(struct maple_server *server);

#endif
