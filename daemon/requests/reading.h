/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_READING_H
#define MAPLE_DAEMON_READING_H

#include <stdio.h>
#include "../client.h"
#include "../limits/limits.h"

/*
 * A request that reads, and what it says: not yet to its client, since it may
 * be done in another thread.
 */
struct maple_reply {
	struct maple_memo *memo;
	struct maple_wire_buffer out; /* frames */
	uint32_t serial;
	uint64_t most; /* bytes of out */
	uint64_t over; /* bytes that there was no room for, with out; or 0 */
	FILE *file;    /* DUMP's */
};

int maple_reply_say(struct maple_reply *reply, unsigned int type,
		    const void *message);

/* As maple_handler, and MAPLE_ANSWERED when nothing is to be said any more. */
typedef int (*maple_reader)(struct maple_reply *reply,
			    const union maple_wire_message *message,
			    int64_t *number, struct maple_error *err);

void maple_reading_init(const struct maple_server *server);
int maple_reading_begin(struct maple_client *client, maple_reader read,
			unsigned int type, const void *data, size_t size,
			struct maple_error *err);
void maple_reading_cancel(struct maple_client *client);

/* pour.c */
FILE *maple_pour_open(int pipe, int (*stop)(void *ctx), void *ctx);

#endif
