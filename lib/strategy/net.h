/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Which variables the next controlled runs watch for accesses by code that has
 * no sites (algorithms.md 10, rule 19).
 */
#ifndef MAPLE_STRATEGY_NET_H
#define MAPLE_STRATEGY_NET_H

#include "expect.h"
#include "strategy.h"

struct maple_net_variable {
	uint32_t site; /* maple_registry_variable() */
	uint32_t threads, accesses;
	uint32_t tried; /* runs that watched it */
	bool told;	/* ... and saw something */
};

struct maple_net {
	uint32_t n, room;
	struct maple_net_variable *variable;
	uint32_t runs; /* controlled ones so far */
	uint32_t told; /* how many of them were */
};

void maple_net_order(struct maple_net *net, struct maple_job *job);
void maple_net_tell(struct maple_net *net, uint32_t site);
void maple_net_learn(struct maple_net *net, struct maple_registry *registry,
		     const struct maple_variables *v,
		     const struct maple_run *run);
void maple_net_deinit(struct maple_net *net);

#endif
