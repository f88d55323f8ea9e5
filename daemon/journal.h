/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_JOURNAL_H
#define MAPLE_DAEMON_JOURNAL_H

#include <syslog.h>

struct maple_client;

/* About a client, or NULL. */
__attribute__((format(printf, 3, 4))) void
maple_journal(int priority, const struct maple_client *client, const char *fmt,
	      ...);

#endif
