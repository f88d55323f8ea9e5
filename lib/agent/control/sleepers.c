// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who sleeps by the run's time, and the signals that end a sleep.
 *
 * The signals that the program has handlers for are blocked while a thread
 * stands and sleeps. They are let in when it was chosen, so a handler runs
 * where the policy lets its thread go on, as all else of the program. Who sends
 * one within the process says so here: the sleeper is a candidate from then on.
 */
#include <errno.h>
#include <signal.h>
#include "agent/core.h"
#include "agent/raw.h"

#define MASK_SIZE 8 /* of the kernel's sigset_t */

/* Signals as bits of a mask: what the program has ever had a handler for. */
static uint64_t handled;

static struct sleeper {
	bool asleep;
	bool woken;
	uint64_t mask;	  /* the thread's own */
	uint64_t blocked; /* what we have added */
} sleepers[MAPLE_THREADS];

static uint64_t bit(int signo)
{
	return signo > 0 && signo <= 64 ? 1ull << (signo - 1) : 0;
}

void maple_sleepers_handle(int signo)
{
	__atomic_fetch_or(&handled, bit(signo), __ATOMIC_RELAXED);
}

/* maple_sleepers_handled - whether @signo ever had a handler */
bool maple_sleepers_handled(int signo)
{
	return handled & bit(signo);
}

void maple_sleepers_begin(void)
{
	struct sleeper *s = &sleepers[maple_self.number];

	s->woken = false;
	s->blocked = handled;
	if (!s->blocked)
		return;
	raw4(SYS_rt_sigprocmask, SIG_BLOCK, &s->blocked, &s->mask, MASK_SIZE);
	s->asleep = true;
}

/* A look that takes no time lets in what has come meanwhile. */
bool maple_sleepers_end(void)
{
	struct sleeper *s = &sleepers[maple_self.number];
	struct timespec none = { 0 };
	uint64_t mask = s->mask;
	long ret;

	if (!s->asleep)
		return false;
	s->asleep = false;
	ret = raw_call(SYS_ppoll, 0, 0, (long)&none, (long)&mask, MASK_SIZE, 0);
	raw4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, MASK_SIZE);
	return ret == -EINTR;
}

/* maple_sleepers_woken - whether a signal has come for @thread */
bool maple_sleepers_woken(uint32_t thread)
{
	return sleepers[thread].woken;
}

/*
 * Nobody's sleep is cut short by a signal that it blocks itself. One for the
 * process is the main thread's, if that takes it, as in the kernel.
 */
uint32_t maple_sleepers_wake(uint32_t thread, int signo)
{
	uint32_t number = thread == MAPLE_THREAD_NONE ? 0 : thread;
	struct sleeper *s = &sleepers[number];

	if (number >= MAPLE_THREADS || !s->asleep ||
	    !(s->blocked & ~s->mask & bit(signo)))
		return 0;
	s->woken = true;
	return maple_shm->thread[number].tid;
}
