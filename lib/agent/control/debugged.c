// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A controlled run under a debugger. It stops in two functions that do nothing,
 * and it may hold all threads at any place.
 *
 * It does so with one after the other, and lets them go in the same way. So who
 * gets the CPU meanwhile must not take it that the chosen one has blocked. He
 * knows it when he stands above all others and sees that none is held, and none
 * could run that does not stand at a point. Who is held in that very place has
 * claimed the decision before. And a thread that was created is to have begun,
 * as it would have at once.
 */
#include <sys/prctl.h>
#include "agent/core.h"
#include "agent/raw.h"

#define NAP_NS	  1000000
#define BORN_NAPS 1000 /* for a thread that has not begun */

/* By thread: it sleeps here, and has not blocked. */
static volatile uint8_t naps[MAPLE_THREADS];
static uint32_t claimed; /* who decides for who has blocked, + 1 */

/* Where the debugger stops. It has what they are called with in registers. */
__attribute__((noinline)) void
maple_debugged_switch(uint32_t at, int32_t leaves, int32_t goes_on)
{
	__asm__ volatile("" : : "r"(at), "r"(leaves), "r"(goes_on) : "memory");
}

__attribute__((noinline)) void maple_debugged_failure(int signo)
{
	__asm__ volatile("" : : "r"(signo) : "memory");
}

static bool is_there(void)
{
	return __atomic_load_n(&maple_shm->debugger, __ATOMIC_RELAXED) ==
	       MAPLE_DEBUGGER_THERE;
}

/* maple_debugged_await - returns when the debugger traces us, if one is to */
void maple_debugged_await(void)
{
	uint32_t *word = &maple_shm->debugger;

	if (*word != MAPLE_DEBUGGER_WANTED)
		return;
	/* It is no ancestor of ours, which Yama may ask for. */
	raw2(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	__atomic_store_n(word, MAPLE_DEBUGGER_AWAITED, __ATOMIC_RELEASE);
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == MAPLE_DEBUGGER_AWAITED)
		raw_futex_wait(word, MAPLE_DEBUGGER_AWAITED, 0);
}

/* Whether another thread would do something if it were let. */
static bool is_under_way(uint32_t i, bool (*parked)(uint32_t thread))
{
	const struct maple_shm_thread *t = &maple_shm->thread[i];
	char state;

	if (i == maple_self.number || !t->alive)
		return false;
	state = maple_waits_state(t->tid);
	return state == 't' ||
	       (!parked(i) && ((state == 'R' && !t->demoted) || naps[i]));
}

static bool is_unborn(uint32_t i)
{
	return maple_shm->thread[i].prio && !maple_shm->thread[i].tid;
}

static bool all_settled(bool (*parked)(uint32_t thread), bool born)
{
	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS; i++)
		if (is_under_way(i, parked) || (born && is_unborn(i)))
			return false;
	return true;
}

/* maple_debugged_nap - some time goes by for the debugger */
void maple_debugged_nap(void)
{
	struct timespec nap = { 0, NAP_NS };

	naps[maple_self.number] = true;
	raw2(SYS_nanosleep, &nap, NULL);
	naps[maple_self.number] = false;
}

/* maple_debugged_settle - the chosen one returns when it may decide */
void maple_debugged_settle(bool (*parked)(uint32_t thread))
{
	uint32_t n = 0;

	while (is_there() && !all_settled(parked, n++ < BORN_NAPS))
		maple_debugged_nap();
}

/*
 * maple_debugged_claim - whether the caller, who is not chosen, may decide;
 *                        it stands at HOOK from then on, if there is a debugger
 */
bool maple_debugged_claim(bool (*parked)(uint32_t thread))
{
	uint32_t none = 0;

	if (!is_there())
		return true;
	maple_sched_set(0, MAPLE_PRIO_HOOK);
	if (!__atomic_compare_exchange_n(&claimed, &none, maple_self.number + 1,
					 false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	if (all_settled(parked, true))
		return true;
	maple_debugged_disclaim();
	return false;
}

/* maple_debugged_disclaim - whether the caller had claimed it, so is at HOOK */
bool maple_debugged_disclaim(void)
{
	if (claimed != maple_self.number + 1)
		return false;
	claimed = 0;
	return true;
}

/* 0: it has ended, or there is none */
static int32_t tid_of(uint32_t thread)
{
	if (thread >= MAPLE_THREADS)
		return 0;
	return maple_shm->thread[thread].alive ? maple_shm->thread[thread].tid
					       : 0;
}

/* maple_debugged_follows - entry @at of the list is about to be carried out */
void maple_debugged_follows(uint32_t at, uint32_t thread, uint32_t next)
{
	if (is_there())
		maple_debugged_switch(at, tid_of(thread), tid_of(next));
}

/* maple_debugged_fails - the caller is about to die of @signo */
void maple_debugged_fails(int signo)
{
	if (is_there())
		maple_debugged_failure(signo);
}
