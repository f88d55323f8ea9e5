/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
#ifndef MAPLE_DAEMON_LEASE_H
#define MAPLE_DAEMON_LEASE_H

#include <stdint.h>
#include <sys/types.h>
#include <maple/error.h>

struct maple_server;

/* A CPU that is lent. */
struct maple_lease {
	int cpu;	/* -1: none */
	int lock;	/* open in the client as well */
	int sign;	/* for campaigns that go without us; -1: none */
	uint64_t since; /* seconds since boot */
};

#define MAPLE_LEASE_NONE \
	((struct maple_lease){ .cpu = -1, .lock = -1, .sign = -1 })

int maple_lease_init(struct maple_server *server, struct maple_error *err);
int maple_lease_take(struct maple_server *server, int cpu,
		     const struct ucred *whose, struct maple_lease *lease);
int maple_lease_prove(struct maple_server *server, int cpu, int lock,
		      const struct ucred *whose, struct maple_lease *lease,
		      struct maple_error *err);
void maple_lease_end(struct maple_server *server, struct maple_lease *lease);
uint64_t maple_lease_now(void);
bool maple_lease_may_return(const struct maple_server *server);

#endif
