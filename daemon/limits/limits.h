/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How much of everything one user may have; limits.c has the table. */
#ifndef MAPLE_DAEMON_LIMITS_H
#define MAPLE_DAEMON_LIMITS_H

#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_client;
struct maple_server;

enum maple_limit {
	MAPLE_LIMIT_CLIENTS,
	MAPLE_LIMIT_JOBS,
	MAPLE_LIMIT_SESSIONS,
	MAPLE_LIMIT_SITES,
	MAPLE_LIMIT_IN,
	MAPLE_LIMIT_OUT,
	MAPLE_LIMIT_LEASE,
	MAPLE_LIMIT_DEADLINE,
	MAPLE_LIMIT_REALTIME,
	MAPLE_LIMIT_MEMO,
	MAPLE_LIMIT_ALL_MEMO, /* of all users, root too */
	MAPLE_LIMITS
};

/* What a user's clients hold together; there while they do or it owes. */
struct maple_account {
	struct maple_account *next;
	uid_t uid;
	unsigned int clients;
	uint64_t used[MAPLE_LIMITS];

	/* turns.c */
	struct maple_account *next_ready;
	struct maple_client *first, *last; /* of its clients, who are ready */
	uint64_t owed, paid_at, served_at; /* microseconds */

	struct maple_aside *aside; /* its thread, or NULL */
};

void maple_limits_init(uint64_t limit[MAPLE_LIMITS]);
int maple_limits_set(uint64_t limit[MAPLE_LIMITS], const char *name,
		     const char *value, const char **expected);

int maple_limits_join(struct maple_client *client, struct maple_error *err);
void maple_limits_part(struct maple_client *client);
void maple_limits_close(struct maple_server *server);
uint64_t maple_limit_of(const struct maple_server *server,
			enum maple_limit which);
int maple_limit_hold(struct maple_client *client, enum maple_limit which,
		     uint64_t n, struct maple_error *err);
void maple_limit_keep(struct maple_client *client, enum maple_limit which,
		      uint64_t n);
int maple_limit_check(const struct maple_client *client, enum maple_limit which,
		      uint64_t n, struct maple_error *err);

#endif
