/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A function on its way from entry to end: between flow.c and values.c. */
#ifndef MAPLE_STATIC_FLOW_H
#define MAPLE_STATIC_FLOW_H

#include "static.h"

#define RSP    4
#define RBP    5
#define NO_REG 0xff

struct maple_static_flow {
	struct maple_static *s;
	const struct maple_static_code *code;
	const struct maple_effect *e;
	size_t n;
	struct maple_static_function *f;
	struct maple_state now;
	struct maple_state *joined;
	size_t first[18]; /* of the function's variables in each register */
	struct maple_value sp, bp; /* as they were last, by address */
	bool changed, emit, returned;
};

/* values.c */
void maple_static_flow_begin(struct maple_static_flow *w);
struct maple_value maple_static_flow_value(const struct maple_static_flow *w,
					   unsigned int reg, uint32_t pc);
int64_t maple_static_flow_added(const struct maple_static_flow *w,
				unsigned int reg);
void maple_static_flow_count_on(struct maple_static_flow *w, unsigned int reg,
				int64_t by);
void maple_static_flow_store(struct maple_static_flow *w,
			     const struct maple_effect *e);
struct maple_value maple_static_flow_load(struct maple_static_flow *w,
					  const struct maple_effect *e);
void maple_static_flow_move_on(struct maple_static_flow *w,
			       struct maple_value *v, int64_t by);
struct maple_value maple_static_flow_address(struct maple_static_flow *w,
					     const struct maple_effect *e);
struct maple_value maple_static_flow_sum(struct maple_static_flow *w,
					 const struct maple_effect *e);
void maple_static_flow_set(struct maple_static_flow *w, unsigned int reg,
			   struct maple_value v);
void maple_static_flow_shift(struct maple_static_flow *w, int64_t by);

#endif
