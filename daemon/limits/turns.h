/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_TURNS_H
#define MAPLE_DAEMON_TURNS_H

#include "../client.h"
#include "limits.h"

int maple_turns_init(struct maple_server *server, struct maple_error *err);
void maple_turns_ask(struct maple_client *client);
void maple_turns_leave(struct maple_client *client);
bool maple_turns_settled(struct maple_account *account);

#endif
