// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The end of a program that leaves its threads behind.
 *
 * exit() ends whatever the other threads are about. Natively they often get to
 * it before; with priorities the exiting thread may be above them all, so that
 * what they do last is done in no run. So whoever exits lets them go first, by
 * leaving the run's CPU until they have ended, or wait for what will not come,
 * or 20 ms are over: some never come to an end.
 *
 * In a controlled run exit() comes when the policy lets it come, and is the end.
 *
 * By a handler of exit()'s, as main() returns to a place in libc that calls no
 * function of ours. It is registered with the first thread, so it comes before
 * what the program's own constructors have registered.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define LOOKS	20
#define LOOK_NS 1000000
#define CALM	2 /* looks in a row in which all others wait */

extern int __cxa_atexit(void (*function)(void *), void *arg, void *dso);

static void linger(void *arg)
{
	const struct timespec pause = { 0, LOOK_NS };
	struct maple_shm *shm = maple_shm;
	unsigned int calm = 0;
	bool all_wait;

	if (!maple_agent_on() || raw0(SYS_getpid) != shm->pid ||
	    !maple_shm_owns_sched(shm) || maple_agent_controls ||
	    !maple_waits_live(shm, 0, &all_wait))
		return;
	maple_agent_enter();
	maple_sched_put_back(shm, 0);
	for (int i = 0; i < LOOKS && calm < CALM; i++) {
		raw2(SYS_nanosleep, &pause, NULL);
		if (!maple_waits_live(shm, LOOKS, &all_wait))
			break;
		calm = all_wait ? calm + 1 : 0;
	}
	maple_sched_take();
	maple_agent_leave();
}

/* maple_linger_start - from now on the program's end waits; once is enough */
void maple_linger_start(void)
{
	static uint32_t started;

	if (!__atomic_exchange_n(&started, 1, __ATOMIC_RELAXED))
		__cxa_atexit(linger, NULL, NULL);
}
