/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_JOURNAL_H
#define MAPLE_DAEMON_JOURNAL_H

#include <syslog.h>

struct maple_client;
struct maple_error;
struct maple_server;

/* About a client, or NULL. */
__attribute__((format(printf, 3, 4))) void
maple_journal(int priority, const struct maple_client *client, const char *fmt,
	      ...);

/* About a client, or NULL, with what is to be found by. */
struct maple_journal_field {
	const char *name, *value;
};

__attribute__((format(printf, 4, 5))) void
maple_journal_with(int priority, const struct maple_client *client,
		   const struct maple_journal_field *fields, const char *fmt,
		   ...);

int maple_journal_init(struct maple_server *server, struct maple_error *err);
void maple_journal_deinit(struct maple_server *server);

#endif
