/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Requests: a handler each. It returns 0 with @number, which is then the
 * answer; MAPLE_ANSWERED when it has said all itself; or -errno with the
 * reason in @err. Internal to the files that have handlers.
 */
#ifndef MAPLE_DAEMON_REQUEST_H
#define MAPLE_DAEMON_REQUEST_H

#include "../client.h"
#include "reading.h"

#define MAPLE_ANSWERED 1

typedef int (*maple_handler)(struct maple_client *client,
			     const union maple_wire_message *message,
			     int64_t *number, struct maple_error *err);

int maple_request(struct maple_client *client, unsigned int type,
		  const void *data, size_t size, struct maple_error *err);

/* The handlers, by MAPLE_WIRE_NAME in lower case. */
#define MAPLE_HANDLER(name)                                              \
	int maple_handle_##name(struct maple_client *client,             \
				const union maple_wire_message *message, \
				int64_t *number, struct maple_error *err)

/* request.c, lending.c */
MAPLE_HANDLER(hello);
MAPLE_HANDLER(realtime);
MAPLE_HANDLER(lease);
MAPLE_HANDLER(give_back);
MAPLE_HANDLER(job);
MAPLE_HANDLER(target);
MAPLE_HANDLER(joined);
void maple_lending_end(struct maple_client *client);

/* module.c */
MAPLE_HANDLER(module);
void maple_module_end(struct maple_client *client,
		      void (*then)(struct maple_client *client));
void maple_module_deinit(struct maple_client *client);

/* memo.c */
MAPLE_HANDLER(campaign);
MAPLE_HANDLER(resume);
MAPLE_HANDLER(end);
MAPLE_HANDLER(program);
MAPLE_HANDLER(mark);
MAPLE_HANDLER(run);
MAPLE_HANDLER(run_end);
MAPLE_HANDLER(sample);
MAPLE_HANDLER(store);
MAPLE_HANDLER(keep);
MAPLE_HANDLER(recall);
MAPLE_HANDLER(forget);
MAPLE_HANDLER(forget_finding);
MAPLE_HANDLER(forget_all);

/* learn.c */
MAPLE_HANDLER(learn);
MAPLE_HANDLER(older);
MAPLE_HANDLER(carry);

/* read.c: what is done aside */
#define MAPLE_READER(name)                                             \
	int maple_read_##name(struct maple_reply *reply,               \
			      const union maple_wire_message *message, \
			      int64_t *number, struct maple_error *err)

MAPLE_READER(programs);
MAPLE_READER(machines);
MAPLE_READER(hours);
MAPLE_READER(findings);
MAPLE_READER(load);
MAPLE_READER(samples);
MAPLE_READER(coverage);
MAPLE_READER(reached);
MAPLE_READER(success);
MAPLE_READER(check);
MAPLE_READER(dump);

#endif
