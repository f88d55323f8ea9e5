/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* A cone that an order is looked for in: solve.c asks, paper.c answers. */
#ifndef MAPLE_ORDER_SOLVE_H
#define MAPLE_ORDER_SOLVE_H

#include "model.h"
#include "words.h"

#define MAPLE_ORDER_ENDS 32 /* that a cone is made wider by */

struct maple_order_edge {
	uint32_t to, next;
};

/* a before b, or c before d; c NONE: nothing else. Numbers of nodes. */
struct maple_order_either {
	uint32_t a, b, c, d;
};

struct maple_solving {
	const struct maple_order_model *m;
	const struct maple_order_goal *goal;
	const struct maple_order_cone *cone;
	uint32_t n, nthreads;
	uint32_t *thread; /* dense numbers of the threads that are in it */
	uint32_t *first;  /* by dense number: its first node */
	uint32_t *event;  /* by node */
	uint32_t *before; /* node x dense thread: how many of its events */
	uint32_t *head;	  /* by node: what was told to come after it */
	struct maple_order_edge *edge;
	uint32_t nedges, edge_room;
	struct maple_order_either *either;
	uint32_t neither, either_room;
	uint32_t *slot, nslots; /* by hash: its number, plus 1 */
	uint32_t broken; /* the first of them that did not hold on paper */
	/* Scratch. */
	uint32_t *stack, *order, *next, *place;
	uint32_t *wrote; /* by word and byte */
	uint32_t branches, rounds;
	uint64_t work; /* events of all rounds */
	uint64_t states;
	bool gave_up;
	/* Ends of sections that the cone has not, and that might help. */
	uint32_t missing[MAPLE_ORDER_ENDS], nmissing;
};

static inline const struct maple_order_event *
maple_solving_event(const struct maple_solving *s, uint32_t node)
{
	return &s->m->event[s->event[node]];
}

static inline uint32_t maple_solving_thread(const struct maple_solving *s,
					    uint32_t node)
{
	return s->thread[maple_solving_event(s, node)->thread];
}

static inline uint32_t maple_solving_node(const struct maple_solving *s,
					  uint32_t e)
{
	const struct maple_order_event *event = &s->m->event[e];

	return event->index < s->cone->upto[event->thread]
		       ? s->first[s->thread[event->thread]] + event->index
		       : MAPLE_ORDER_NONE;
}

static inline uint32_t *maple_solving_row(const struct maple_solving *s,
					  uint32_t node)
{
	return &s->before[(size_t)node * s->nthreads];
}

/* paper.c */
void maple_paper_lay(struct maple_solving *s, bool stays);
bool maple_paper_carry_out(struct maple_solving *s, bool *possible);

#endif
