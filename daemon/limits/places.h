/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_PLACES_H
#define MAPLE_DAEMON_PLACES_H

#include <maple/error.h>
#include "../client.h"

int maple_places_take(struct maple_client *client, struct maple_error *err);
int maple_places_begin(struct maple_client *client, struct maple_error *err);
void maple_places_watch(struct maple_client *client);

#endif
