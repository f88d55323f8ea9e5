// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The program is about to forbid itself system calls. Those of ours need not
 * be among what it lets through, and the first that is not kills it; so before
 * that all that might make one goes: watchpoints, handlers, priorities, and the
 * hooks, which find from here on that this is not their process any more. What
 * the filter would let through is not asked: it may do so by the arguments.
 */
#include "agent/core.h"

bool maple_agent_sealed;

void maple_agent_seal(void)
{
	struct maple_shm *shm = maple_shm;

	if (!maple_agent_on())
		return;
	maple_agent_enter();
	shm->stats.sealed = 1;
	maple_agent_sealed = true;
	maple_agent_pid = 0;
	maple_watch_forget();
	maple_net_forget();
	for (uint32_t i = 0; i < shm->nthreads && i < MAPLE_THREADS; i++)
		if (shm->thread[i].alive)
			maple_sched_put_back(shm, shm->thread[i].tid);
	maple_fault_end();
	__atomic_store_n(&shm->state, MAPLE_AGENT_REPLACED, __ATOMIC_RELEASE);
	maple_self.number = MAPLE_THREAD_NONE;
	maple_agent_leave();
}
