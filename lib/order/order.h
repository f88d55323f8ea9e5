/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Orders that another run of the same program can have (algorithms.md 11): a
 * run's events become a model; patterns of accesses are read off it, those that
 * it showed and those that another order would; and an order that shows one is
 * solved for, and becomes a schedule.
 *
 * Pure: no run, no clock, no output. A model is read-only once it is built, and
 * may be shared by threads; cones and orders are their caller's.
 */
#ifndef MAPLE_ORDER_H
#define MAPLE_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include "../policy/policy.h"

#define MAPLE_PATTERN_STEPS 4
#define MAPLE_PATTERNS	    20 /* numbers are 1 to 19 */

#define MAPLE_ORDER_NONE    0xffffffffu /* in place of a number */

/*
 * A pattern: steps of two threads, the first step's and another one's, in this
 * order. Numbers 1 to 17 are PCR's table 1: accesses at one place or at two;
 * 18 is two critical sections that cross, 19 a signal before the wait. It is
 * known by its number and sites: neither threads nor addresses count.
 */
struct maple_pattern {
	uint32_t number;
	uint32_t site[MAPLE_PATTERN_STEPS]; /* beyond its steps: 0 */
};

/* What step @i of patterns of @number does. */
struct maple_pattern_step {
	uint8_t kind;  /* READ, WRITE, LOCK, NOTIFY or SLEEP */
	uint8_t other; /* it is the second thread's */
	uint8_t place; /* 0: x, 1: y */
};

unsigned int maple_pattern_steps(uint32_t number);
struct maple_pattern_step maple_pattern_step(uint32_t number, unsigned int i);

/* ---- A run. ---- */

struct maple_order_model;

/*
 * maple_order_model_build - the model of the @n events of a controlled run, in
 * their order
 *
 * Of accesses those that threads share are in it, of all else what
 * synchronises; and, with @sections, of each row of others while a lock is held
 * the first one: a thread can stand there, with the lock. A trace of more than
 * MAPLE_ORDER_EVENTS of these is cut: what came first is a run as well.
 * -ENOMEM, or 0.
 */
#define MAPLE_ORDER_EVENTS (1u << 17)
int maple_order_model_build(const struct maple_event *event, uint32_t n,
			    bool sections, struct maple_order_model **model);
void maple_order_model_free(struct maple_order_model *model);

/* Where an event of the model is from. */
struct maple_order_origin {
	uint32_t event;	    /* its number in the run */
	uint32_t site, hit; /* the last point of its thread at or before it, as
			       in a schedule; hit 0: there is none */
};

/* Whether not all that the run did is in it: a site went quiet, or too much. */
bool maple_order_is_cut(const struct maple_order_model *model);
uint32_t maple_order_threads(const struct maple_order_model *model);
uint32_t maple_order_events(const struct maple_order_model *model);
struct maple_order_origin
maple_order_origin(const struct maple_order_model *model, uint32_t event);

/*
 * Two accesses of different threads: @to reads what @from wrote, for the first
 * time in its thread, or writes over what @from read or, if nobody did, wrote.
 */
struct maple_order_dependency {
	uint32_t from, to;	    /* events of the model */
	uint8_t from_kind, to_kind; /* READ or WRITE */
};

/* All immediate dependencies of a run, those of event e at on[first[e]]. */
struct maple_order_dependencies {
	uint32_t n, room;
	struct maple_order_dependency *on; /* by @to, ascending */
	uint32_t *first;		   /* one more than there are events */
};

/* maple_order_depend - fills in @d, which is to be deinited; -ENOMEM, or 0 */
int maple_order_depend(const struct maple_order_model *model,
		       struct maple_order_dependencies *d);
void maple_order_depend_deinit(struct maple_order_dependencies *d);

/* An occurrence of a pattern: its events, by number in the model. */
struct maple_order_goal {
	struct maple_pattern pattern;
	uint32_t event[MAPLE_PATTERN_STEPS];
};

/* Gets patterns; false: it wants no more. */
typedef bool (*maple_order_sink)(void *ctx, const struct maple_order_goal *goal);

/*
 * maple_order_shown - the patterns that this run showed: each dependency was
 * immediate, and no other access of the same thread to the pattern's places
 * came between two of its steps
 */
void maple_order_shown(const struct maple_order_model *model,
		       maple_order_sink sink, void *ctx);

/*
 * maple_order_wanted - patterns that another order of these events may show.
 * A key comes several times, with other events; which of them there is an
 * order for is the solver's to say. False: there were more than it looks for,
 * or than @sink wanted.
 */
bool maple_order_wanted(const struct maple_order_model *model,
			maple_order_sink sink, void *ctx);

/* ---- An order. ---- */

enum maple_order_answer {
	MAPLE_ORDER_FOUND,
	MAPLE_ORDER_REFUTED, /* no order of these events shows it */
	MAPLE_ORDER_UNKNOWN, /* too much to search, or to keep in memory */
};

/*
 * What is sure to happen: events up to the first one that reads what it had not
 * read. The steps behind it, the tail, are likely.
 */
struct maple_order_found {
	uint32_t n;
	uint32_t *event;   /* numbers in the model, in the new order; owned */
	unsigned int sure; /* steps of the pattern that are among them */
	uint32_t branches; /* that were searched */
};

/*
 * maple_order_solve - an order that shows @goal
 *
 * FOUND: @order is to be freed with maple_order_deinit().
 */
enum maple_order_answer maple_order_solve(const struct maple_order_model *model,
					  const struct maple_order_goal *goal,
					  struct maple_order_found *order);
void maple_order_deinit(struct maple_order_found *order);

/*
 * maple_order_schedule - the schedule of @order, and of @goal's tail behind it
 * @most: room in @list
 *
 * Entries are by number of thread in the run that the model is of. 0: it has
 * more than @most, or a place of it was no point in that run.
 */
uint32_t maple_order_schedule(const struct maple_order_model *model,
			      const struct maple_order_goal *goal,
			      const struct maple_order_found *order,
			      struct maple_policy_switch *list, uint32_t most);

/* ---- Turns: a run, and what would be another one. ---- */

/* Before event @at its thread could have stood still, and @next gone on. */
struct maple_order_turn {
	uint32_t at, next;
	/* the race that it may reverse: @e came first; @f NONE: it is none */
	uint32_t e, f;
	/* of those that could go on at @at, from its thread on, how many come
	   before @next, itself included; everywhere only */
	uint32_t over;
};

/* Gets turns; false: it wants no more. */
typedef bool (*maple_order_turn_sink)(void *ctx,
				      const struct maple_order_turn *turn);

/*
 * maple_order_races - turns before an access, a lock or a condition that
 * another thread comes to later, and before the thread got there. -ENOMEM, or 0.
 */
int maple_order_races(const struct maple_order_model *model,
		      maple_order_turn_sink sink, void *ctx);

/*
 * maple_order_everywhere - turns at all places, with all threads that could go
 * on there. -ENOMEM, or 0.
 */
int maple_order_everywhere(const struct maple_order_model *model,
			   maple_order_turn_sink sink, void *ctx);

/* Which of its choices a run had right before which of its events. */
struct maple_order_choices {
	uint32_t *at;	/* by choice: the event that came next; or model's n */
	uint32_t *last; /* by event: the last choice right before; or NONE */
};

/*
 * maple_order_choices_find - @event, @n: what @model was made of; @log: the
 * run's. The model is told where threads gave way. To be freed with
 * maple_order_choices_deinit(). -ENOMEM, or 0.
 */
int maple_order_choices_find(struct maple_order_model *model,
			     const struct maple_event *event, uint32_t n,
			     const struct maple_policy_switch *log,
			     uint32_t nlog, struct maple_order_choices *choices);
void maple_order_choices_deinit(struct maple_order_choices *choices);

/*
 * maple_order_foresee - what a run by @list would do, if each thread did what
 * it did in the run that @model is of
 *
 * @list is by number of thread in that run. @youngest: where no entry says
 * anything it is the youngest thread that goes on, not the oldest.
 * @order: room for all events of @model, which are in it if it is so. False:
 * it comes to something that this run does not tell.
 */
bool maple_order_foresee(const struct maple_order_model *model,
			 const struct maple_policy_switch *list, uint32_t nlist,
			 bool youngest, uint32_t *order);

/*
 * maple_order_foresee_turns - how the threads would go by turns, from the older
 * ones on or, @back, from the younger ones
 *
 * Points at what one thread alone touches are not in @model: there the run has
 * a turn more. @order, and what is returned: as above.
 */
bool maple_order_foresee_turns(const struct maple_order_model *model, bool back,
			       uint32_t *order);

/*
 * maple_order_hash - of the order of all that depends on each other, in @order,
 * or in the run itself if that is NULL: runs of one hash are the same but for
 * what nobody can tell. 0: no memory.
 * @thread: a number for each thread, which lasts
 */
uint64_t maple_order_hash(const struct maple_order_model *model,
			  const uint32_t *order, const uint64_t *thread);

#endif
