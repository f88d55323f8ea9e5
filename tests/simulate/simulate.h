/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The simulator: the automaton alone, on a machine that is small enough to be
 * searched exhaustively.
 *
 *   program.c  random programs: straight lines of operations
 *   machine.c  runs one under strict priorities, with the automaton or plain
 *   search.c   which iRoots a program has, and which are feasible at all
 *   check.c    whether the log of a run exposes an iRoot; knows no automaton
 *   units.c    the same of orders of two units on an atomic set
 *   profile.c  what profiling tells a plan: hints, gates, guards
 *   main.c     tries, counts, verdict
 */
#ifndef SIMULATE_H
#define SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../lib/plan/automaton.h"

#define MAX_THREADS 5
#define MAX_OPS	    50
#define MAX_LOG	    2048
#define MAX_VARS    4
#define MAX_LOCKS   4
#define MAX_EVENTS  4
#define MAX_PLANS   8 /* in one run */
#define GRAIN	    4 /* bytes that are never accessed apart */
#define VAR_ADDR    0x1000u
#define LOCK_ADDR   0x8000u

enum op_kind {
	OP_ACCESS, /* READ, WRITE or UPDATE */
	OP_LOCK,
	OP_TRYLOCK, /* skips its section if it fails */
	OP_UNLOCK,
	OP_CWAIT, /* condition wait, if its event has not come: release ... */
	OP_CWAKE, /* ... and after the event, take the mutex again */
	OP_CREATE,
	OP_JOIN,
	OP_BARRIER,
	OP_WAIT, /* blocks until the event */
	OP_SPIN, /* burns CPU until the event */
	OP_SET,	 /* the event, for good */
	OP_SLEEP,
};

struct op {
	uint8_t kind;
	uint8_t access; /* enum maple_event_kind, if it is one */
	uint8_t object; /* lock or thread */
	bool shared;	/* the read side of a rwlock */
	uint8_t target; /* where TRYLOCK and CWAIT skip to */
	uint8_t event;	/* WAIT, SPIN, SET, CWAIT, CWAKE */
	uint16_t time;	/* SLEEP */
	uint8_t unit;	/* call of a method that it is in; 0: none */
	uint32_t site;
	uint32_t addr, size;
};

struct program {
	int nthreads;
	int nops[MAX_THREADS];
	struct op op[MAX_THREADS][MAX_OPS];
};

struct random {
	uint64_t state;
};

/* One access that happened. */
struct entry {
	int thread, index; /* of its operation */
	uint32_t site, kind, addr, size;
	uint8_t unit;
};

struct log {
	int n;
	struct entry e[MAX_LOG];
};

enum { ENDED, DEADLOCK, LIVELOCK };

struct run {
	int end;
	int held;		     /* threads left held */
	int blocked_at[MAX_THREADS]; /* operation, or -1 */
	int owner[MAX_LOCKS];
	struct maple_auto_result result; /* of the first plan */
	unsigned int begun;		 /* bit i: plan i has had its turn */
	struct maple_auto_result all[MAX_PLANS];
	struct log log;
};

/* One way to do an iRoot: threads and operations. */
struct tuple {
	struct maple_iroot iroot;
	int p, q;
	int index[MAPLE_IROOT_EVENTS];
};

/* A growing list of them. */
struct tuples {
	int n, max;
	struct tuple *tuple;
};

static inline bool op_is_access(const struct op *op)
{
	return op->kind <= OP_CWAKE;
}

static inline bool ranges_meet(uint32_t a, uint32_t an, uint32_t b, uint32_t bn)
{
	return a < b + bn && b < a + an;
}

uint64_t random_next(struct random *r);
unsigned int random_below(struct random *r, unsigned int n);
bool random_percent(struct random *r, unsigned int percent);

enum {
	FAMILY_PLAIN,
	FAMILY_LOCKS,
	FAMILY_SYNC,
	FAMILY_LOOPS,
	FAMILY_ALL,
	FAMILY_NESTED,
	FAMILY_WORKERS,
	FAMILY_UPDATE,
	FAMILY_RWLOCK,
	FAMILY_TRYLOCK,
	FAMILY_CONDWAIT,
	FAMILY_BYTES,
	FAMILY_SPIN,
	FAMILY_OBJECTS,
	FAMILY_SLEEPS,
	FAMILIES
};
extern const char *const family_names[FAMILIES];
/* program_make - false if it became too long */
bool program_make(struct program *p, struct random *r, int family);
void program_print(const struct program *p);

/*
 * machine_run - runs @p to its end
 * @plan: @nplans to be forced, one after the other; none for a plain run
 * @younger: plain runs: whose priority is higher
 */
void machine_run(const struct program *p, const struct maple_plan *plan,
		 unsigned int nplans, bool younger, struct run *run);

bool check_exposed(const struct log *log, const struct maple_iroot *iroot);
bool check_deadlock(const struct program *p, const struct run *run,
		    const struct maple_iroot *iroot);
/*
 * A log and whether it exposes an iRoot. The log is in letters, one access
 * each: thread, number of the unit where the test is about units, kind (U:
 * update, L, M: lock and unlock), variable, site. The iRoot's events are the
 * sites 0 to 3.
 */
struct self_test {
	uint32_t idiom;
	const char *kinds, *log;
	bool exposed;
};

/* self_test_with - the number of @n logs that @exposed judges wrongly */
int self_test_with(bool (*exposed)(const struct log *log,
				   const struct maple_iroot *iroot),
		   const struct self_test *test, size_t n);

/* check_self_test - number of logs that check_exposed() judges wrongly */
int check_self_test(void);

/*
 * search_feasible - up to @cap iRoots of each idiom that some order of @p's
 * operations exposes, each with one way to do it
 */
void search_feasible(const struct program *p, struct random *r, int cap,
		     struct tuples *list);
/* search_tuple - whether some order does @tuple */
bool search_tuple(const struct program *p, const struct tuple *tuple);

/* units_exposed - whether @log has the order of @iroot, in one unit each */
bool units_exposed(const struct log *log, const struct maple_iroot *iroot);
/* units_self_test - as check_self_test(), of units_exposed() */
int units_self_test(void);
/* units_claimed - whether the product would say so, of what was claimed */
bool units_claimed(const struct log *log, const struct maple_iroot *iroot);

/* profile_saw - whether both plain runs together passed all of its sites */
bool profile_saw(const struct run *plain, const struct maple_iroot *iroot);
void profile_plan(const struct program *p, const struct run *plain,
		  const struct tuple *tuple, unsigned int attempt,
		  uint64_t seed, struct maple_plan *plan);
void profile_name(char *name, int thread);

#endif
