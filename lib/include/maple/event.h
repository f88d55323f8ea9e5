/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The event: one thing a thread of the target did, in the one form that every
 * backend writes and everything above reads (algorithms.md 1).
 *
 * Freestanding: needs nothing but fixed-width integers, so that the agent and
 * the kernel side can include it.
 */
#ifndef MAPLE_EVENT_H
#define MAPLE_EVENT_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/types.h>
#else
#include <assert.h>
#include <stdint.h>
#endif

/*
 * Sites. A memory-access site has the number that the registry gave it
 * (image's base + index in the image); the call site of an interposed
 * function has MAPLE_SITE_CALL set. Numbers hold for one campaign; what lasts
 * is (build-id, offset).
 */
#define MAPLE_SITE_NONE 0xffffffffu
#define MAPLE_SITE_CALL 0x80000000u

/* Threads are numbered in order of appearance; main is 0. */
#define MAPLE_THREADS	  1024
#define MAPLE_THREAD_NONE 0xffffu

enum maple_event_kind {
	MAPLE_EV_NONE = 0, /* an empty slot of a ring */

	/* Accesses. UPDATE is READ | WRITE: one instruction, not split. */
	MAPLE_EV_READ = 1,
	MAPLE_EV_WRITE = 2,
	MAPLE_EV_UPDATE = 3,
	MAPLE_EV_LOCK = 4,   /* acquired; addr is the lock's first byte */
	MAPLE_EV_UNLOCK = 5, /* about to be released */

	/*
	 * Of conditions, where a plan names the call. In iRoots, NOTIFY stands
	 * for SIGNAL and BROADCAST, SLEEP for WAIT.
	 */
	MAPLE_EV_NOTIFY = 6,
	MAPLE_EV_SLEEP = 7,

	/* Happens-before that no lock makes. */
	MAPLE_EV_CREATE = 8,  /* aux: the child's thread number */
	MAPLE_EV_START = 9,   /* first event of a thread; addr, size: stack */
	MAPLE_EV_EXIT = 10,   /* last event of a thread */
	MAPLE_EV_JOIN = 11,   /* returned from joining thread aux */
	MAPLE_EV_SIGNAL = 12, /* about to signal condition addr */
	MAPLE_EV_BROADCAST = 13, /* about to broadcast condition addr */
	MAPLE_EV_WAIT = 14,	 /* about to wait on condition addr */
	MAPLE_EV_WAKE = 15,	 /* returned from the wait on addr */
	MAPLE_EV_BARRIER_IN = 16,
	MAPLE_EV_BARRIER_OUT = 17,
	MAPLE_EV_POST = 18,  /* about to post semaphore addr */
	MAPLE_EV_TAKE = 19,  /* has taken semaphore addr */
	MAPLE_EV_ONCE = 20,  /* has run the initialiser of once-control addr */
	MAPLE_EV_ONCED = 21, /* returned from once-control addr */
	MAPLE_EV_SERVE = 22, /* the first connection was accepted: a server */
	MAPLE_EV_STOP = 23,  /* a signal came that tells the program to end */

	/* The life of memory. */
	MAPLE_EV_ALLOC = 24, /* [addr, addr + value) was allocated */
	MAPLE_EV_FREE = 25,  /* [addr, addr + value) is about to be freed */

	/*
	 * The thread may block now: what it did before has happened. Without
	 * this, the last access before a switch counts as pending.
	 */
	MAPLE_EV_BLOCK = 28,

	/*
	 * The site has used up its budget: from here on it may be executed
	 * without an event. Does not count as an execution of the site.
	 */
	MAPLE_EV_QUIET = 29,

	/*
	 * What the automaton says, in the log of an enforced run. In that of a
	 * controlled run with values: STEP, of each access; HOLD, of who stands
	 * before an access of kind aux, and RELEASE; NEXT, entry aux of the list
	 * is followed: its thread stands there, or the one that saw it block.
	 */
	MAPLE_EV_STEP = 32,    /* aux: the step that was executed */
	MAPLE_EV_GIVEUP = 33,  /* an attempt ended */
	MAPLE_EV_EXPOSED = 34, /* all steps done */
	MAPLE_EV_HOLD = 35,    /* the thread was held; aux: the reason */
	MAPLE_EV_RELEASE = 36, /* a held thread runs on */
	MAPLE_EV_NEXT = 37,    /* plan aux of those that follow begins */
};

enum maple_event_flag {
	MAPLE_EVF_SHARED = 1,	/* LOCK, UNLOCK: the read side of a rwlock */
	MAPLE_EVF_TIMEOUT = 2,	/* WAKE: returned unsignalled, for sure */
	MAPLE_EVF_VALUED = 2,	/* accesses: value is known, of all bytes */
	MAPLE_EVF_ATOMIC = 4,	/* a LOCK-prefixed instruction or an XCHG */
	MAPLE_EVF_EXACT = 8,	/* recorded after the access: order is real */
	MAPLE_EVF_MEMFN = 16,	/* made by mem*, str* on the caller's behalf */
	MAPLE_EVF_MAYWAIT = 32, /* the WAIT, TAKE or LOCK has a timeout */
	MAPLE_EVF_PENDING =
		64, /* set by the reader: not yet sure it happened */
	MAPLE_EVF_MAYFAIL = 128, /* the LOCK is that of a trylock */
};

/*
 * One event, 40 bytes. An access event is recorded right before its access
 * unless EXACT is set.
 */
struct maple_event {
	uint64_t addr;
	/*
	 * VALUED: what stood there after the access or, without EXACT, before
	 * it. STEP: before the access that it is about, if that one is VALUED.
	 */
	uint64_t value;
	uint32_t site;
	uint32_t size;	 /* bytes accessed from addr on */
	uint32_t clock;	 /* events of this thread so far, wraps */
	uint32_t sp;	 /* low half of the stack pointer */
	uint16_t thread; /* number of the thread in this run */
	uint8_t kind;	 /* enum maple_event_kind; written last */
	uint8_t flags;	 /* enum maple_event_flag */
	/*
	 * By kind; of what a thread does at a point of a controlled run, and
	 * has no other: that point's hit (maple_policy_switch). Of an access
	 * to memory in an enforced run: who called, MAPLE_CONTEXT_.
	 */
	uint32_t aux;
};

static_assert(sizeof(struct maple_event) == 40, "the event's form is fixed");

/* maple_event_is_memory - whether @kind reads or writes data */
static inline int maple_event_is_memory(unsigned int kind)
{
	return kind >= MAPLE_EV_READ && kind <= MAPLE_EV_UPDATE;
}

/* maple_event_is_access - whether @kind can be an event of an iRoot */
static inline int maple_event_is_access(unsigned int kind)
{
	return kind >= MAPLE_EV_READ && kind <= MAPLE_EV_SLEEP;
}

/* maple_event_is_condition - whether @kind signals or waits, in an iRoot */
static inline int maple_event_is_condition(unsigned int kind)
{
	return kind == MAPLE_EV_NOTIFY || kind == MAPLE_EV_SLEEP;
}

#endif
