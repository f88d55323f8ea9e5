/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The automaton: forces one plan on the threads of a target that share one
 * CPU, by raising and lowering their priorities (algorithms.md 7). The
 * machine, its state and its rules: automaton_state.h says what is where.
 *
 * Freestanding: no allocation, no libc, no clock, no I/O. The caller
 * serialises all calls on one automaton, tells it what threads do, and after
 * each call applies the level changes that maple_auto_change() hands out.
 */
#ifndef MAPLE_AUTOMATON_H
#define MAPLE_AUTOMATON_H

#ifndef __KERNEL__
#include <stdbool.h>
#endif
#include "plan.h"
#include "wait.h"

/* Priorities under SCHED_FIFO; NORM is each thread's own, 4 to 83. */
enum maple_prio {
	MAPLE_PRIO_MIN = 1,
	MAPLE_PRIO_LOW = 2,
	MAPLE_PRIO_NEXT = 3,
	MAPLE_PRIO_NORM_FIRST = 4,
	MAPLE_PRIO_NORM_LAST = 83,
	MAPLE_PRIO_HIGH = 84,
	MAPLE_PRIO_HOOK = 85, /* for the caller: while inside the machine */
};

enum maple_verdict {
	MAPLE_GO,   /* the thread does its access now */
	MAPLE_HELD, /* it stays before it, at the level it was given */
	MAPLE_SLEEP, /* it sleeps a slice, or until others move, and asks again */
};

struct maple_access {
	uint32_t site;
	uint32_t kind; /* READ, WRITE, UPDATE, LOCK, UNLOCK */
	uint64_t addr;
	uint64_t size;	   /* at least 1 */
	uint32_t may_fail; /* a trylock; 0 if not known */
	uint32_t context;  /* who called, MAPLE_CONTEXT_; steps compare it */
};

struct maple_auto; /* see automaton_state.h; the caller provides the memory */

/*
 * maple_auto_size - bytes that a struct maple_auto takes
 * @threads: MAPLE_THREADS; fewer: how many of the first bytes are in use while
 *           all threads have numbers below that
 */
unsigned long maple_auto_size(unsigned int threads);

/* maple_auto_init - *@a begins to force @plan, which it copies */
void maple_auto_init(struct maple_auto *a, const struct maple_plan *plan);

/*
 * maple_auto_start - thread @t appears (before its first instruction)
 * @roles: bit r: its name is the plan's hint for role r
 */
void maple_auto_start(struct maple_auto *a, unsigned int t, unsigned int roles);
void maple_auto_exit(struct maple_auto *a, unsigned int t);

/*
 * maple_auto_next - *@a, which has finished, goes on with @plan, with the
 * threads that there are; maple_auto_hint() is then called for each
 * maple_auto_hint - @t's @roles in that plan
 */
void maple_auto_next(struct maple_auto *a, const struct maple_plan *plan);
void maple_auto_hint(struct maple_auto *a, unsigned int t, unsigned int roles);

/*
 * The quick way past the machine, for a site that is executed over and over:
 * when glance() says yes, the access may happen at once, and after() is told
 * only if minds() then says that it must be. Neither needs the caller's
 * serialisation where no other thread can be inside the machine.
 */
int maple_auto_glance(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc);
int maple_auto_minds(const struct maple_auto *a, unsigned int t,
		     const struct maple_access *acc);

/*
 * maple_auto_ignores - whether glance() says yes, and changes nothing, to all
 * that @t does at the site of @acc, outside what maple_auto_concerns() is
 * about, until *maple_auto_epoch() is another
 * maple_auto_about - the bytes that are of concern, one range per variable;
 * size 0: none
 */
int maple_auto_ignores(const struct maple_auto *a, unsigned int t,
		       const struct maple_access *acc);
const uint32_t *maple_auto_epoch(const struct maple_auto *a);
void maple_auto_about(const struct maple_auto *a, unsigned int var,
		      uint64_t *addr, uint64_t *size);

/*
 * before() and after(), where nothing comes of them but that @t stands before
 * @acc, and then no more; 0: they have to be called. Serialised like glance().
 */
int maple_auto_skim(struct maple_auto *a, unsigned int t,
		    const struct maple_access *acc);
int maple_auto_skimmed(struct maple_auto *a, unsigned int t,
		       const struct maple_access *acc, int happened);

/*
 * The life of one access. before() is called when thread @t stands before
 * it. Whatever the verdict, the caller then applies the level changes, which
 * may take the CPU from @t; when @t runs again, and the verdict was not GO or
 * maple_auto_moved() says that others have moved since, it calls resumed()
 * and starts over, until GO. Then the access happens and after() is called;
 * @happened is 0 for a failed trylock and the like.
 *
 * after() that no before() announced says that an access has happened anyhow
 * (the mutex that a condition wait took back): it may be a step, or break one.
 * Of two accesses made at once, before() is called for both, then after().
 *
 * @waits (resumed): those that the target's other threads are in.
 */
enum maple_verdict maple_auto_before(struct maple_auto *a, unsigned int t,
				     const struct maple_access *acc);
enum maple_verdict maple_auto_resumed(struct maple_auto *a, unsigned int t,
				      const struct maple_waits *waits);
int maple_auto_moved(const struct maple_auto *a, unsigned int t);
void maple_auto_after(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc, int happened);

/* maple_auto_watch - an access of @t that no hook announced has happened */
void maple_auto_watch(struct maple_auto *a, unsigned int t,
		      const struct maple_access *acc);

/* maple_auto_concerns - whether the attempt is about any of these bytes */
int maple_auto_concerns(const struct maple_auto *a, uint64_t addr,
			uint64_t size);

/* maple_auto_watched - the range to watch now; 0 if none */
int maple_auto_watched(const struct maple_auto *a, uint64_t *addr,
		       uint64_t *size);

/*
 * maple_auto_spin - thread @t burns CPU without an event, or yields over and
 * over: below every runnable one until maple_auto_tick()
 */
void maple_auto_spin(struct maple_auto *a, unsigned int t);

/*
 * maple_auto_tick - time passes: spinners get their level back
 * @cpu_ms: CPU time that the bound threads used since their attempt began;
 *          at 50 ms and more the attempt is given up
 */
void maple_auto_tick(struct maple_auto *a, unsigned int cpu_ms);

/*
 * maple_auto_change - the next level change to apply, raises first
 *
 * Returns 1 and fills *@t and *@prio, or 0 when none is left. @self is
 * handed out last if it is lowered.
 */
int maple_auto_change(struct maple_auto *a, unsigned int self, unsigned int *t,
		      unsigned int *prio);

/* What came of it. */
struct maple_auto_result {
	uint32_t exposed;  /* all steps done */
	uint32_t finished; /* exposed, or given up for good */
	uint32_t attempts; /* attempts given up */
	uint32_t steps;	   /* bit i: step i was executed in some attempt */
	uint32_t reached;  /* bit i: a thread stood before step i */
	uint32_t holds;	   /* accesses held */
	uint32_t slept;	   /* slices slept for a wait that may end by itself */
	uint32_t spins;
	uint32_t broken;    /* invariants found broken; 0 or a bug */
	uint32_t executed;  /* steps in all attempts, */
	uint32_t last_step; /* ... and which was the last */
	uint16_t role[MAPLE_PLAN_ROLES]; /* threads bound at exposure */
};

void maple_auto_result(const struct maple_auto *a, struct maple_auto_result *r);

/*
 * What the automaton relies on, whatever its threads do; false if it does not
 * hold. It is in somebody else's program, or in the kernel, and neither may end
 * for a bug of ours: its result says so, it has finished, and everyone is let
 * go. Where other threads may be inside the machine nothing is checked.
 */
#define MAPLE_INVARIANT(a, holds)                                \
	({                                                       \
		bool holds_ = __builtin_expect(!!(holds), true); \
		holds_ || maple_auto_broken(a);                  \
	})

/* maple_auto_broken - *@a contradicts itself: it ends; false */
bool maple_auto_broken(struct maple_auto *a);

#endif
