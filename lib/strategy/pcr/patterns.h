/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The patterns of a program: which there are, what became of each, and the
 * orders that are to be run for them.
 */
#ifndef MAPLE_STRATEGY_PATTERNS_H
#define MAPLE_STRATEGY_PATTERNS_H

#include "../../order/order.h"
#include "../maple/profile.h"

extern const char *const maple_pattern_classes[];

/* Runs whose patterns are looked for. */
extern const struct maple_controlled maple_patterns_how;

/* Events that a site records in such a run, so that few patterns are missed. */
#define MAPLE_PATTERNS_BUDGET 10000

struct maple_patterns_key;

/* An order to be run. */
struct maple_patterns_order {
	struct maple_patterns_key *key;
	struct maple_switches list;
	/* Patterns that it would show on paper, itself among them. */
	uint32_t nshows, room;
	struct maple_patterns_key **shows;
	uint32_t number; /* in the order in which they were found */
};

/* What is done about those that no run has shown. */
enum maple_patterns_mode {
	MAPLE_PATTERNS_SOLVE, /* an order is solved for, */
	MAPLE_PATTERNS_SEEK,  /* they are looked for at random (SEEK), */
	MAPLE_PATTERNS_COUNT, /* nothing: those that are shown are counted */
};

struct maple_patterns {
	struct maple_patterns_key *keys;
	struct maple_patterns_order *order;
	uint32_t norders, room, found;
	/* Seconds that may be solved: all of them together as long as runs. */
	double credit;
	uint32_t runs; /* that have ended */
	double now;    /* when an order was last asked for */
	enum maple_patterns_mode mode;
	bool promises; /* what else an order shows says which one is next */
	/* Of the first run: turns from the older threads on would show nothing
	   more, turns from the younger ones on would. */
	bool back;
	unsigned int barren; /* runs without news, in a row */
	/* Of the last run not all was learned: there may be more patterns. */
	bool cut;
};

/*
 * maple_patterns_begin - @job becomes a run of the best order, to be ended or
 * dropped; false: there is none that no other campaign tries. @e: 0, or -errno
 */
bool maple_patterns_begin(struct maple_patterns *p,
			  struct maple_profiling *profiling,
			  struct maple_job *job, struct maple_error *err,
			  int *e);

/* maple_patterns_drop - the run of @job, begun here, says nothing */
void maple_patterns_drop(struct maple_job *job);

/*
 * maple_patterns_any - whether an order waits, here or for another campaign
 * that has its pattern, and has not had it for too long
 */
bool maple_patterns_any(const struct maple_patterns *p);

/*
 * maple_patterns_seek - @job becomes a random run that looks for the pattern
 * that was shown, or looked for, least. Returns 0, or -errno.
 */
int maple_patterns_seek(const struct maple_patterns *p,
			struct maple_profiling *profiling,
			struct maple_job *job, struct maple_error *err);

/*
 * maple_patterns_ended - the run of @job, a controlled one, has ended, and
 * @profiling, which keeps their events, has heard of it
 */
int maple_patterns_ended(struct maple_patterns *p,
			 const struct maple_profiling *profiling,
			 struct maple_job *job, const struct maple_job_end *end,
			 struct maple_error *err);

void maple_patterns_count(const struct maple_patterns *p,
			  struct maple_coverage *coverage);
void maple_patterns_deinit(struct maple_patterns *p);

#endif
