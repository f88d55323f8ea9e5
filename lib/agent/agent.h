/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Inside the agent: what its core (main, patch, hook, ring, thread, fault)
 * gives to the interposed functions (intercept/).
 *
 * Context, unless said otherwise: any thread of the target, also in its
 * signal handlers, also before its constructors ran.
 */
#ifndef MAPLE_AGENT_AGENT_H
#define MAPLE_AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <maple/event.h>
#include "../plan/automaton.h"
#include "abi/shm.h"

/* Exported to the target on purpose; everything else is hidden. */
#define MAPLE_EXPORT __attribute__((visibility("default")))

/* One per thread, in initial-exec TLS: one instruction away. */
struct maple_agent_thread {
	uint32_t number;      /* MAPLE_THREAD_NONE: not a thread of the run */
	uint16_t inside;      /* > 0: in the agent's own code, hooks pass by */
	uint16_t late;	      /* LOCKs that are to come before its next event */
	uint32_t clock;	      /* events so far */
	uint32_t yields;      /* sched_yield since it last gave way */
	uint64_t *events;     /* so far, in shared memory */
	bool stale;	      /* at a site it has been at very often: perhaps
				 spinning, so this is no sign of progress */
	bool over;	      /* no number was left for it, which is counted */
	uint32_t nopen;	      /* accesses begun, whose after() is to come */
	uint32_t settled;     /* clock of its last event that was no access */
	const uint64_t *call; /* frame of the memory function it is in */
};

extern __thread struct maple_agent_thread maple_self
	__attribute__((tls_model("initial-exec")));

/* The mapped file; NULL where the agent stays out of the way. */
extern struct maple_shm *maple_shm;

/* The process that maple_shm is for; a vforked child counts as it. */
extern int32_t maple_agent_pid;

/* maple_agent_lost - another process has taken the run over */
void maple_agent_lost(void);

/* maple_agent_ours - whether this process still is the one under test */
static inline bool maple_agent_ours(void)
{
	if (__builtin_expect(
		    *(volatile int32_t *)&maple_shm->pid == maple_agent_pid, 1))
		return true;
	maple_agent_lost();
	return false;
}

/*
 * maple_agent_on - whether events of the calling thread count now: the agent
 * is at work in this process, the thread is known, and it is not inside the
 * agent's own code
 */
static inline bool maple_agent_on(void)
{
	return maple_shm && !maple_self.inside &&
	       maple_self.number != MAPLE_THREAD_NONE && maple_agent_ours();
}

/* The calling thread gets on, unless all it does is to spin: spin.c looks. */
static inline void maple_agent_gets_on(void)
{
	*maple_self.events += !maple_self.stale;
}

/* While inside, every hook and interposed function passes straight on. */
static inline void maple_agent_enter(void)
{
	maple_self.inside++;
}

static inline void maple_agent_leave(void)
{
	maple_self.inside--;
}

/*
 * maple_agent_call - number of the call site that returns to @ret
 * @kind: the event that calls from there make, first of all
 */
uint32_t maple_agent_call(const void *ret, unsigned int kind);

/* Memory functions are of no interest to the run, wherever they are called. */
extern bool maple_agent_skips_memory;

/* No plan of the run is about the end of memory; nor is one that observes. */
extern bool maple_agent_skips_ends;

/*
 * maple_agent_wants - whether the call that returns to @ret, of a memory
 * function or a lock's, is to be told by before() and after(); *@site is its
 * number then
 *
 * It is if the run's plans name it or, when observing, it is within its budget.
 * Of those that are not, memory functions pass straight on, and locks tell what
 * they do by maple_agent_locked() or maple_agent_unlocks().
 */
bool maple_agent_wants(const void *ret, unsigned int kind, uint32_t *site);

/*
 * maple_agent_before, maple_agent_after - around an access that an interposed
 * function makes for its caller
 *
 * When observing, before() records READ, WRITE, UPDATE and UNLOCK, after()
 * records a LOCK that happened. When enforcing, before() may hold the thread,
 * and after() tells the automaton and writes the log. @happened is false for
 * a failed attempt. before() with a LOCK that may block records BLOCK first.
 *
 * One call may make two accesses at once (memcpy reads and writes): it calls
 * before() for both, READ first, then after() for both in the same order.
 * after() that no before() announced says that an access has happened anyhow
 * (the mutex that a condition wait took back).
 *
 * None of these, nor maple_agent_call() or maple_agent_note(), changes errno.
 */
void maple_agent_before(uint32_t site, unsigned int kind, const void *addr,
			uint64_t size, unsigned int flags);
void maple_agent_after(uint32_t site, unsigned int kind, const void *addr,
		       uint64_t size, unsigned int flags, bool happened);
void maple_agent_condition(uint32_t site, unsigned int kind, const void *cond,
			   bool done);

/*
 * In a controlled run, what tells whether a LOCK that is announced would block:
 * in the flags of maple_agent_before(), above those of an event.
 */
enum maple_agent_peek {
	MAPLE_PEEK_NONE, /* it does not; or nobody knows */
	MAPLE_PEEK_MUTEX,
	MAPLE_PEEK_RDLOCK,
	MAPLE_PEEK_WRLOCK,
	MAPLE_PEEK_SPIN,
	MAPLE_PEEK_SEM,
	MAPLE_PEEK_WAITER,  /* of a condition: it was signalled */
	MAPLE_PEEK_SLEEPER, /* a signal has come */
	MAPLE_PEEK_TIMER,   /* at @addr it is not due when it was */
	MAPLE_PEEK_DEATH,   /* ... and it never goes off early: it kills */
};

#define MAPLE_PEEK_SHIFT 8

/* Besides: the caller has stood at its point, by maple_agent_await(). */
#define MAPLE_AGENT_CAME (1u << 16)

/* Besides: maple_self.call is the frame of the function that was called. */
#define MAPLE_AGENT_CALLED (1u << 17)

/*
 * maple_agent_point - the caller is about to do @kind to @addr, which is no
 * access; in a controlled run it returns when it was chosen for that
 */
extern bool maple_agent_controls;
void maple_agent_point(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek);

/* maple_control_decides - the run is a controlled one, and was not let go */
bool maple_control_decides(void);

/*
 * maple_agent_await - as maple_agent_point(), before a wait that ends by
 * @until, in the run's time, whatever others do; 0: it does not
 *
 * Return: what @peek looks at is there; or else time is up, or, with @until 0,
 * all others wait as well; or the run was let go, and the caller waits for a
 * signal: it asks again.
 */
bool maple_agent_await(uint32_t site, unsigned int kind, const void *addr,
		       enum maple_agent_peek peek, uint64_t until);

/*
 * Conditions of controlled runs: who waits stands on a list between begin and
 * end, and at a point of the kind WAITER. end() tells whether it was woken;
 * wake() whether there was somebody on the list who was not yet.
 */
void maple_waiters_begin(const void *cond);
bool maple_waiters_end(void);
bool maple_waiters_wake(const void *cond, bool all);

/*
 * Sleepers of controlled runs, and signals. The program has a handler for
 * @signo: handle(). A thread sleeps by the run's time, at a point of the kind
 * SLEEPER, between begin() and end(), which tells whether a handler ran in it;
 * that is where handlers run. @signo is about to be sent to @thread, or, with
 * MAPLE_THREAD_NONE, to the process: wake() returns the tid of the sleeper that
 * it is to be sent to, or 0.
 */
void maple_sleepers_handle(int signo);
bool maple_sleepers_handled(int signo);
void maple_sleepers_begin(void);
bool maple_sleepers_end(void);
uint32_t maple_sleepers_wake(uint32_t thread, int signo);

/*
 * Timers of controlled runs (intercept/timer.c): machine() gives them back to
 * the kernel, has() tells whether @fd is one that is set, ring() whether the
 * alarm is, end() is told when a thread has ended.
 */
void maple_timers_machine(void);
bool maple_timers_has(int fd);
bool maple_timers_ring(void);
void maple_timers_end(void);

/*
 * maple_agent_let_handle - @thread, if it stands at a point, runs the handlers
 * of signals that have come; returns when it has
 */
void maple_agent_let_handle(uint32_t thread);

/*
 * The time of a controlled run, in nanoseconds from 1 on.
 *
 * own: a wait ends when that says so, and not when the kernel does
 * machine: it is the machine's from here on, for others outside are with us
 * ask: what @clock says; false: what it says outside
 * in, at: the run's time so much later, and when @clock says @t
 * until: as at, where a wait until then ends by the run's time; else 0
 * left: how long it is until then
 * real: what @clock says outside at @t; @t itself, or in @room
 */
struct timespec;
bool maple_time_own(void);
void maple_time_machine(void);
bool maple_time_ask(int clock, struct timespec *t);
uint64_t maple_time_in(uint64_t ns);
uint64_t maple_time_at(int clock, const struct timespec *t);
uint64_t maple_time_until(int clock, const struct timespec *t);
uint64_t maple_time_left(uint64_t until);
const struct timespec *maple_time_real(int clock, const struct timespec *t,
				       struct timespec *room);

/*
 * maple_agent_above, maple_agent_back - between them the caller of a controlled
 * run sleeps, and nobody comes between until it does so
 */
void maple_agent_above(void);
void maple_agent_back(void);

/*
 * maple_agent_locked, maple_agent_unlocks - the lock @addr was acquired, or is
 * about to be released, by a call that nobody wants
 */
void maple_agent_locked(uint32_t site, const void *addr, unsigned int flags);
void maple_agent_unlocks(uint32_t site, const void *addr, unsigned int flags);

/*
 * maple_agent_allocated, maple_agent_freed - a block begins, or is about to
 * end, to be what it is, in the call that returns to @ret
 *
 * That it ends is recorded before anybody can use it anew; in an enforced run
 * only where the log has been about it, or tells where memory comes from
 * (names of struct maple_shm).
 */
void maple_agent_allocated(const void *ret, const void *addr, uint64_t size);
void maple_agent_freed(const void *ret, const void *addr, uint64_t size);

/*
 * maple_agent_bury - what is to be freed now that the program frees @p, which
 * holds @size bytes: @p, another block, or nothing (buried.c)
 *
 * @twice: @p was freed before, and is to be freed once more after this.
 */
void *maple_agent_bury(void *p, uint64_t size, bool *twice);

/*
 * maple_agent_ends, maple_agent_ended - around what really ends a block
 *
 * ends() is maple_agent_freed(), and may hold the thread where a plan names the
 * call: the end is a write to all of the block then. What it returns is for
 * ended(), with the same block.
 */
uint32_t maple_agent_ends(const void *ret, const void *addr, uint64_t size);
void maple_agent_ended(uint32_t site, const void *addr, uint64_t size);

/*
 * maple_agent_note - records an event that is no access (CREATE ... ONCED,
 * BLOCK), in whatever mode records them
 */
void maple_agent_note(unsigned int kind, uint32_t site, const void *addr,
		      uint64_t value, unsigned int flags, uint32_t aux);

/* maple_agent_forking - a thread of the run is about to fork */
void maple_agent_forking(void);

/* joined.c: called by the joiner, and found by name */
MAPLE_EXPORT int maple_joined_open(const char *path);
MAPLE_EXPORT int maple_joined_enter(void);
MAPLE_EXPORT int maple_joined_leave(void);
MAPLE_EXPORT int maple_joined_close(void);
MAPLE_EXPORT int maple_joined_forget(void);

/*
 * maple_agent_settle - whether a thread that the caller is about to create
 * belongs to the run; the process that is first to create one has the run
 */
bool maple_agent_settle(void);

/*
 * Threads. The creator calls maple_agent_thread_new(), which may return
 * MAPLE_THREAD_NONE, and notes CREATE before it creates the thread; it gives
 * the number to the child, which calls maple_agent_thread_start() before
 * anything of the program runs in it; when creation fails the creator calls
 * maple_agent_thread_drop(), and when it succeeds maple_agent_thread_first(),
 * which lets the new one come to its first point, in controlled runs. The core
 * records START and EXIT itself.
 * maple_agent_thread_exit() is the last thing a thread does.
 * maple_agent_thread_prio() is the SCHED_FIFO priority that the new thread
 * is to be born with (by explicit attributes), 0 for none.
 */
uint32_t maple_agent_thread_new(void);
uint32_t maple_agent_helper_new(void); /* ... is one of the agent's own */
void maple_agent_thread_drop(uint32_t number);
void maple_agent_thread_first(uint32_t number);
unsigned int maple_agent_thread_prio(uint32_t number);
void maple_agent_thread_start(uint32_t number, const void *stack, uint64_t size);
void maple_agent_thread_exit(void);
/*
 * maple_agent_thread_find - number of the newest thread that was @pthread,
 * or NONE; it may have exited already, but nobody has joined it yet
 */
uint32_t maple_agent_thread_find(uint64_t pthread);

/*
 * maple_agent_yield - called for each sched_yield() of the program, and each
 * failed round of a spin lock, before the real sched_yield()
 */
void maple_agent_yield(void);

/*
 * maple_agent_turn - the calling thread is about to take a lock or a
 * semaphore: where the threads of the run take turns, all others go first
 */
void maple_agent_turn(void);

/*
 * maple_agent_images - the set of loaded images has changed (dlopen): asks
 * the campaign for tables and patches what is new
 */
void maple_agent_images(void);

/*
 * maple_agent_detach - the calling process leaves the run: own policy,
 * priority and affinity back, no more events. For the child of a fork, and
 * before exec (which maple_agent_attach() undoes if it fails). Afterwards
 * maple_agent_on() is false. A forked child may come back by
 * maple_agent_settle().
 */
void maple_agent_detach(void);
void maple_agent_attach(void);

/*
 * maple_agent_seal - the program is about to install a filter of system calls:
 * the run goes on natively, and is not delivered. maple_agent_sealed: it has
 */
extern bool maple_agent_sealed;
void maple_agent_seal(void);

/* maple_agent_exiting - exit(), _exit() or quick_exit() was reached */
void maple_agent_exiting(void);

/*
 * Faults. The agent's handlers for fatal signals stay installed; these keep
 * what the program believes is installed. maple_agent_fault_action() is
 * called, returns and fails as sigaction() does.
 */
struct sigaction;
bool maple_agent_fault_owns(int signo);
int maple_agent_fault_action(int signo, const struct sigaction *act,
			     struct sigaction *old);

/*
 * maple_agent_real - the next definition of @name after ours, for
 * interposition; works before constructors ran; never NULL (aborts with a
 * message, since the program could not run either)
 */
void *maple_agent_real(const char *name);

#endif
