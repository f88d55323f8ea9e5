/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_QUOTA_H
#define MAPLE_DAEMON_QUOTA_H

#include "../client.h"

int maple_quota_check(const struct maple_client *client, unsigned int type,
		      size_t size, struct maple_error *err);
uint64_t maple_quota_cost(unsigned int type, size_t size);

#endif
