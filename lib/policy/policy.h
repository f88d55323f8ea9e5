/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Controlled runs (algorithms.md 10): which of the threads that stand at their
 * points goes on. Freestanding like lib/plan: no system call, no clock, no
 * memory of its own, so that agent, kernel and tests decide alike.
 *
 * The first half of this file is what a campaign orders and gets back, plain
 * data; the second half is for whoever carries a run out.
 *
 * A schedule has one form, a list of struct maple_policy_switch: the log of a
 * run, what a replay follows, and what is shortened. An entry names no global
 * time: it holds whenever its thread comes to its place, so one that is taken
 * away moves no other.
 */
#ifndef MAPLE_POLICY_H
#define MAPLE_POLICY_H

#ifndef __KERNEL__
#include <stdbool.h>
#include <stddef.h>
#endif
#include <maple/event.h>

#define MAPLE_POLICY_CHANGES 16
#define MAPLE_POLICY_ENTRIES (1u << 18) /* entries of a list, at most */
#define MAPLE_POLICY_NAME    32		/* a thread's name, with its NUL */

enum maple_policy_kind {
	MAPLE_POLICY_RW,   /* uniform among the candidates, at each point */
	MAPLE_POLICY_POS,  /* a random priority for each operation */
	MAPLE_POLICY_PCT,  /* one for each thread, lowered at change points */
	MAPLE_POLICY_SURW, /* uniform over the orders at one variable */
	MAPLE_POLICY_LIST, /* as the list says */
	MAPLE_POLICY_SEEK, /* as RW, but a pattern's steps wait for each other */
	MAPLE_POLICIES
};

/* SURW: who goes on where its variable does not decide. */
enum maple_policy_base {
	MAPLE_POLICY_STRAIGHT, /* the intended one; else the same as before */
	MAPLE_POLICY_WALK,     /* as RW */
	MAPLE_POLICY_RANKED,   /* a random priority for each thread */
	MAPLE_POLICY_BASES
};

/* LIST: who goes on where no entry says, and the one before cannot. */
enum maple_policy_first {
	MAPLE_POLICY_OLDEST,
	MAPLE_POLICY_YOUNGEST,
	/* At each point another one: the next younger one, or older one. */
	MAPLE_POLICY_TURNS,
	MAPLE_POLICY_TURNS_BACK,
	MAPLE_POLICY_FIRSTS
};

enum maple_policy_what {
	/*
	 * thread stands before its hit-th execution of site; if next is the
	 * same one, its wait there times out early
	 */
	MAPLE_POLICY_AT,
	/* thread has blocked or ended, and that was its last point before */
	MAPLE_POLICY_BLOCKED,
	/*
	 * No choice: thread was new, or woken, and has come to that point by
	 * itself, while next, whose last point was at next_site, was the
	 * chosen one. A replay needs to know, so that it stops there again.
	 */
	MAPLE_POLICY_ARRIVED,
	/*
	 * In lists that were made, not logged: thread has gone on from there,
	 * and stands at its next point, whichever it is, or has blocked or
	 * ended.
	 */
	MAPLE_POLICY_AFTER,
};

/*
 * One entry of a schedule: when that comes true of @thread, @next goes on. As
 * an entry to be followed, the two last fields may be 0, and MAPLE_SITE_NONE.
 *
 * Threads are numbers in a table of lasting names ("0.2"): in a log the numbers
 * of the run, in a list to follow the order's. Sites are the campaign's; at a
 * lock or another call it is the call site. A call that is several points
 * (memcpy: READ, WRITE; a wait: WAIT, LOCK) counts as many hits. Hits are
 * counted from the beginning of the thread, whatever else is controlled.
 */
struct maple_policy_switch {
	uint16_t thread;
	uint16_t next;
	uint32_t what; /* enum maple_policy_what */
	uint32_t site; /* MAPLE_SITE_NONE, hit 0: it has been at none yet; a
			  yield is at none, and its hits are counted there */
	uint32_t hit;
	uint32_t next_site; /* where next stands, or was last */
	uint32_t next_hit;
};

static_assert(sizeof(struct maple_policy_switch) == 24, "the form is fixed");

struct maple_policy_name {
	char text[MAPLE_POLICY_NAME];
};

/* What a policy needs to be told, but for its list, names and weights. */
struct maple_policy_order {
	uint32_t policy; /* enum maple_policy_kind */
	uint32_t base;	 /* SURW: enum maple_policy_base; LIST: _first */
	uint64_t seed;	 /* every random choice of the run flows from it */
	/*
	 * SURW: the bytes whose accesses are interesting; a lock, semaphore or
	 * condition is its first byte. size 0: none are, and the base is WALK.
	 * PCT: the bytes whose accesses are counted; size 0: all points are.
	 */
	uint64_t addr, size;
	/*
	 * PCT: at the how-manieth point of the run a thread's priority is
	 * lowered, ascending, from 1 to the expected number of points. d - 1 of
	 * them for bugs of depth d.
	 *
	 * SEEK: the steps of its pattern, in order: twice the site, and 1 more
	 * if it is not the thread of the first step that does it.
	 */
	uint32_t nchanges;
	/*
	 * Who waits for a lock is a candidate even while another one has it,
	 * and blocks when it is chosen. To be drawn for each run; a replay has
	 * it from the run that it repeats.
	 */
	uint32_t blind;
	/*
	 * For runs of many points, in which threads want the same lock all the
	 * time: one conflict in so many has POS draw anew, and one thread in so
	 * many that comes to a lock is blind. 0, 1: each.
	 */
	uint32_t one_in;
	/*
	 * Time is the machine's. Else it is the run's own: it stands still
	 * while threads run, and jumps to the end of a wait that is over.
	 */
	uint32_t real_time;
	/*
	 * LIST: 1 + the policy by which the run goes on behind its list, RW, POS
	 * or PCT; 0: none. The list's entries then stand in the order in which
	 * they come true, and one that does not is where that policy begins.
	 */
	uint32_t behind;
	/*
	 * LIST: its entries were made, not logged. A wait that one of them ends
	 * early ends so only if nobody is outside: a log had that asked.
	 */
	uint32_t made;
	uint64_t change[MAPLE_POLICY_CHANGES];
};

/* maple_policy_is_base - whether @base is one that @policy can have */
static inline bool maple_policy_is_base(uint32_t policy, uint32_t base)
{
	return base < (policy == MAPLE_POLICY_LIST ? (int)MAPLE_POLICY_FIRSTS
						   : (int)MAPLE_POLICY_BASES);
}

/* maple_policy_is_behind - whether a list may have @behind behind it */
static inline bool maple_policy_is_behind(uint32_t behind)
{
	return !behind || behind == 1 + MAPLE_POLICY_RW ||
	       behind == 1 + MAPLE_POLICY_POS || behind == 1 + MAPLE_POLICY_PCT;
}

/* What came of it. */
struct maple_policy_counts {
	uint64_t points;   /* with another thread alive */
	uint64_t open;	   /* ... with more than one candidate */
	uint64_t switches; /* points at which somebody else was chosen */
	uint64_t falls;	   /* choices since the chosen one blocked or ended */
	uint64_t transits; /* points that were come to without being chosen */
	uint64_t yields; /* spins, and yields, at which another one was there */
	uint64_t disabled; /* choices at which everybody's lock was taken */
	uint64_t jumps;	   /* ... at which time went on to the next timeout */
	/* waits that timed out while somebody else could go on */
	uint64_t early;
	uint64_t followed; /* LIST: entries (no ARRIVED) that were carried out */
	uint64_t missed;   /* ... whose next was no candidate then */
	/* entries that found no room in the log: it is no schedule to follow */
	uint64_t over;
	/* hits that found no room to be counted: the same */
	uint64_t uncounted;
};

/* ---- For whoever carries a run out. ---- */

struct maple_policy;

#define MAPLE_POLICY_NOBODY 0xffffffffu

/* An operation that a thread stands before. */
struct maple_policy_op {
	uint32_t site;
	uint32_t kind; /* enum maple_event_kind; NONE: a yield */
	uint64_t addr, size;
	uint32_t peek; /* for enabled(): what its lock is; 0: it never blocks */
	/*
	 * It waits for what somebody else does, or for time to go by, so it is
	 * no candidate until then, blind or not. peek 0: for time alone.
	 */
	bool event;
	bool patient;	/* it does not end by itself before its time */
	uint64_t until; /* when it ends by itself, in the run's time; 0: never */
};

struct maple_policy_ops {
	/* whether @op, of @thread, would not block now */
	bool (*enabled)(uint32_t thread, const struct maple_policy_op *op);
	/* up to 8 bytes that @op reads */
	uint64_t (*value)(const struct maple_policy_op *op);
	/*
	 * whether a thread that is not parked waits for what is not the run's,
	 * or is on its way: time does not jump then
	 */
	bool (*outside)(void);
	/* zeroed memory that is never given back; NULL: there is none */
	void *(*memory)(uint64_t size);
	/*
	 * LIST: entry @at of the list is about to be carried out, @thread is
	 * its and @next will go on. NULL: nobody asks
	 */
	void (*follows)(uint32_t at, uint32_t thread, uint32_t next);
};

/*
 * What a run is to do, and where its log goes. All of it outlives the policy.
 * Names are for LIST's entries and SURW's weights, which are by name.
 */
struct maple_policy_setup {
	const struct maple_policy_order *order;
	const struct maple_policy_name *name;
	uint32_t nnames;
	const uint32_t *weight; /* SURW: interesting accesses to expect */
	const struct maple_policy_switch *list;
	uint32_t nlist;
	struct maple_policy_switch *log; /* room for MAPLE_POLICY_ENTRIES */
	uint32_t *nlog;
	struct maple_policy_counts *counts;
	const struct maple_policy_ops *ops;
};

/*
 * Context of what follows: all on one CPU. At any time one thread, the chosen
 * one, or who decides since that one has blocked, may call anything; a thread
 * in transit may come between any two instructions of that one, and calls
 * announce(), arrive() and park() for itself, and born(), of a child. It has
 * returned from them before the other goes on.
 */

/* maple_policy_size - bytes, zeroed, that a struct maple_policy takes */
size_t maple_policy_size(void);

/* maple_policy_start - @p, zeroed memory, begins with thread 0 as the chosen */
void maple_policy_start(struct maple_policy *p,
			const struct maple_policy_setup *setup);

/* maple_policy_born - thread @t, called @name, is about to be created by @by */
void maple_policy_born(struct maple_policy *p, uint32_t t, const char *name,
		       uint32_t by);

/* maple_policy_exit - thread @t ends, or was never created */
void maple_policy_exit(struct maple_policy *p, uint32_t t);

/* maple_policy_alone - no other thread is alive: a point decides nothing */
bool maple_policy_alone(const struct maple_policy *p);

/* maple_policy_chosen - NOBODY: all wait for time to go by */
uint32_t maple_policy_chosen(const struct maple_policy *p);

/*
 * maple_policy_hits - which hit of @site @t's last point was; 0: it was at
 * another one
 */
uint32_t maple_policy_hits(const struct maple_policy *p, uint32_t t,
			   uint32_t site);

/* maple_policy_count - @t is at @site once more, alone: it passes by */
void maple_policy_count(struct maple_policy *p, uint32_t t, uint32_t site);

/* maple_policy_announce - @t stands before @op, which is new */
void maple_policy_announce(struct maple_policy *p, uint32_t t,
			   const struct maple_policy_op *op);

/*
 * maple_policy_arrive - @t, which is not the chosen one, has announced its
 * operation and is a candidate from here on
 */
void maple_policy_arrive(struct maple_policy *p, uint32_t t);

/* maple_policy_park - @t, which was chosen and never ran, stands where it was */
void maple_policy_park(struct maple_policy *p, uint32_t t);

bool maple_policy_is_parked(const struct maple_policy *p, uint32_t t);

/*
 * maple_policy_decide - who goes on: @t, the chosen one, has announced; the
 * answer is chosen from now on, and if it is another one, @t is parked
 */
uint32_t maple_policy_decide(struct maple_policy *p, uint32_t t);

/*
 * maple_policy_fall - who goes on, since the chosen one has blocked or ended;
 * somebody is parked
 */
uint32_t maple_policy_fall(struct maple_policy *p);

/*
 * Time, in nanoseconds since the run began, from 1 on. Nobody is due just
 * because it went by: who has timed out is a candidate like any other, and some
 * waits, drawn at random, are so from their beginning: natively a machine may
 * be slow. If nobody else can go on, the next one to end is chosen.
 */
uint64_t maple_policy_now(const struct maple_policy *p);

/* maple_policy_pass - @ns go by */
void maple_policy_pass(struct maple_policy *p, uint64_t ns);

/*
 * maple_policy_waits - whether nobody that is parked, nor @self if it is no
 * NOBODY, can go on before time has gone by, and that cannot jump
 */
bool maple_policy_waits(struct maple_policy *p, uint32_t self);

/*
 * maple_policy_rest - @t, the chosen one, has announced, and nobody goes on
 * yet: it is parked, and whoever calls fall() chooses
 */
void maple_policy_rest(struct maple_policy *p, uint32_t t);

/* maple_policy_expire - @t, which was chosen, goes on since its wait is over */
void maple_policy_expire(struct maple_policy *p, uint32_t t, uint64_t until);

/* maple_policy_execute - @t, the chosen one, carries out what it announced */
void maple_policy_execute(struct maple_policy *p, uint32_t t);

#endif
