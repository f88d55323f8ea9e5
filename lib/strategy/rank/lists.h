/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Schedules that are still to be run: each is a run with the older, or the
 * younger, threads first, but for a few turns.
 */
#ifndef MAPLE_STRATEGY_RANK_LISTS_H
#define MAPLE_STRATEGY_RANK_LISTS_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/campaign.h>
#include "../../order/order.h"
#include "../../policy/policy.h"

#define MAPLE_RANK_TURNS (2 * MAPLE_TURNS_MAX) /* of a list, free ones too */
#define MAPLE_RANK_LISTS (1u << 18)	       /* that wait at a time */

/* Which list comes first, and what counts as a preemption. */
enum maple_rank_way {
	MAPLE_RANK_NEWS,   /* what was reversed least often; each turn */
	MAPLE_RANK_CHESS,  /* fewest preemptions; not where a thread waits */
	MAPLE_RANK_DELAYS, /* fewest threads that are passed over; each one */
	MAPLE_RANK_VARIABLES, /* fewest variables, those of fewest accesses,
				 then as CHESS */
};

/* Names of threads, by the number that lists have for them. */
struct maple_rank_names {
	struct maple_policy_name *name;
	uint32_t n, room;
};

/* What a run did, for as long as a list was made from it. */
struct maple_rank_trace {
	struct maple_order_model *model;
	uint32_t n, nthreads; /* of the model */
	uint32_t *name;	      /* by number of thread: its number in the names */
	uint32_t refs;
	uint64_t *alive; /* events of all that are there */
};

struct maple_rank_turn {
	struct maple_policy_switch entry; /* threads by number in the names */
	uint64_t pair;	   /* the race it may reverse, by its sites; 0: none */
	uint64_t variable; /* whose: a name, hashed; 0: none */
	uint32_t accesses; /* ... of which there were, in the run it is from */
	uint32_t over;	   /* threads that it passes over, its own included */
	bool free;	   /* its own could not go on anyway */
};

/* One that is put takes the room of its turns; who makes one has room for more. */
struct maple_rank_list {
	struct maple_rank_turn *turn;
	unsigned int n;
	bool youngest;
	double key;	 /* when it was put, or asked for, last */
	uint64_t number; /* in the order in which they were put, or drawn */
	struct maple_rank_trace *from; /* may be NULL: nothing is foreseen */
	bool again; /* it was run: there was no room for all that it brought */
	struct maple_rank_list *next; /* of those that wait to be run again */
};

struct maple_rank_seen;

struct maple_rank_lists {
	enum maple_rank_way way;
	struct maple_rank_list **heap;
	uint32_t n, room;
	uint32_t most; /* that wait at a time: both bases at least */
	uint64_t draws; /* a number by which equals come in turn; 0: the oldest */
	struct maple_rank_list *later, *last; /* run again, in this order */
	uint64_t put, dropped;	       /* dropped: those of too many turns */
	struct maple_rank_seen *lists; /* that were put once */
	struct maple_rank_seen *tries; /* runs, by what lists have of pairs */
};

bool maple_rank_allows(enum maple_rank_way way,
		       const struct maple_bounds *bounds,
		       const struct maple_rank_list *list);
uint64_t maple_rank_variables(const struct maple_rank_list *list);
int maple_rank_put(struct maple_rank_lists *lists,
		   const struct maple_rank_list *list);
struct maple_rank_list *maple_rank_pop(struct maple_rank_lists *lists);
void maple_rank_later(struct maple_rank_lists *lists,
		      struct maple_rank_list *list);
int maple_rank_tried(struct maple_rank_lists *lists,
		     const struct maple_rank_list *list);
void maple_rank_list_free(struct maple_rank_list *list);
void maple_rank_lists_clear(struct maple_rank_lists *lists);

/* A set of numbers, with a count for each. */
uint32_t *maple_rank_count(struct maple_rank_seen **set, uint64_t number);
uint32_t maple_rank_numbers(const struct maple_rank_seen *set);
void maple_rank_forget(struct maple_rank_seen **set);

void maple_rank_trace_put(struct maple_rank_trace *trace);

#endif
