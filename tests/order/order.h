/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Between the files of the oracle of orders: runs on paper, and what is true. */
#ifndef MAPLE_TESTS_ORDER_H
#define MAPLE_TESTS_ORDER_H

#include "order/model.h"
#include "order/order.h"

#define THREADS 4
#define OPS	24 /* of a thread */
#define EVENTS	(THREADS * (OPS + 2))
#define NONE	0xffffffffu

/* What one event of a run needs, as the machine knows it. Numbers of events. */
struct truth {
	uint32_t need;	    /* what must come before it; or NONE */
	uint32_t wait;	    /* WAKE: the WAIT that it ends */
	uint32_t end;	    /* LOCK: its UNLOCK; or NONE */
	uint32_t lock;	    /* UNLOCK: its LOCK */
	uint32_t writer[8]; /* of each byte that it reads; NONE: nobody */
	uint32_t in_model;  /* its number there; or NONE */
};

struct paper {
	struct maple_event event[EVENTS];
	struct truth truth[EVENTS];
	uint32_t n;
	uint32_t of_model[EVENTS]; /* by number in the model */
	uint32_t nmodel;
};

uint32_t dice(uint32_t n);
void dice_seed(uint64_t seed);

/* A program that is made up, and one run of it. */
void paper_run(struct paper *p);

static inline bool reads(const struct maple_event *e)
{
	return e->kind == MAPLE_EV_READ || e->kind == MAPLE_EV_UPDATE;
}

static inline bool writes(const struct maple_event *e)
{
	return e->kind == MAPLE_EV_WRITE || e->kind == MAPLE_EV_UPDATE;
}

static inline bool touches(const struct maple_event *e, uint64_t byte)
{
	return maple_event_is_memory(e->kind) && byte >= e->addr &&
	       byte < e->addr + e->size;
}

/* Whether @w touches a byte that both @a and @b do. */
bool paper_shares(const struct maple_event *w, const struct maple_event *a,
		  const struct maple_event *b);

/* A step of a goal, and the one that it depends on immediately. */
struct link {
	uint32_t from, to; /* numbers of steps */
	uint8_t from_kind, to_kind;
};

/* How many there are among the first @sure steps; those of one thread are not. */
unsigned int paper_links(const struct maple_order_goal *goal, unsigned int sure,
			 struct link link[MAPLE_PATTERN_STEPS]);

/* Whether @w, between @from's and @to's event, takes away what @link says. */
bool paper_breaks(const struct paper *p, const struct maple_order_goal *goal,
		  const struct link *link, uint32_t w);

/* What is wrong with @order, which is said to show @goal; NULL: nothing. */
const char *paper_replay(const struct paper *p,
			 const struct maple_order_goal *goal,
			 const struct maple_order_found *order,
			 uint32_t changed);

/* ---- Z3. ---- */

struct prover;

struct prover *prover_create(void);
void prover_destroy(struct prover *z);

/* What holds in all runs that do what @p did. */
void prover_begin(struct prover *z, const struct paper *p);
void prover_end(struct prover *z);

/*
 * Whether there is an order of some of the events in which the first @sure
 * steps of @goal come as they should, all reads but @changed read what they
 * did, and the other steps are not in it. 1, 0, or -1: it does not know.
 */
int prover_ask(struct prover *z, const struct maple_order_goal *goal,
	       unsigned int sure, uint32_t changed);

#endif
