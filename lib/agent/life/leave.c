// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The ends of a run: processes that leave it, by fork or for exec, and exit.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK */

static uint32_t detached = MAPLE_THREAD_NONE; /* number to get back */

/* 0 in a forked child; a vforked one has its parent's memory. */
static uint32_t *in_parent;

/* maple_leave_start - detach() can tell fork from vfork from now on */
void maple_leave_start(void)
{
	in_parent = maple_lock_memory(4096);
	if (!in_parent)
		return;
	raw3(SYS_madvise, in_parent, 4096, WIPE_ON_FORK);
	*in_parent = 1;
}

void maple_agent_detach(void)
{
	struct maple_shm *shm = maple_shm;
	bool ours;

	if (!shm)
		return;
	ours = raw0(SYS_getpid) == shm->pid;
	maple_sched_put_back(shm, 0);
	if (!ours && in_parent && *in_parent)
		return; /* vforked: the memory is still the target's */
	detached = maple_self.number;
	maple_self.number = MAPLE_THREAD_NONE;
	if (ours)
		__atomic_store_n(&shm->state, MAPLE_AGENT_REPLACED,
				 __ATOMIC_RELEASE);
	else
		maple_follow_stand_by(shm);
}

void maple_agent_attach(void)
{
	struct maple_shm *shm = maple_shm;

	if (!shm || raw0(SYS_getpid) != shm->pid)
		return;
	maple_self.number = detached;
	maple_sched_take();
	__atomic_store_n(&shm->state, MAPLE_AGENT_RUNNING, __ATOMIC_RELEASE);
}

void maple_agent_exiting(void)
{
	uint32_t running = MAPLE_AGENT_RUNNING;

	if (maple_shm)
		__atomic_compare_exchange_n(&maple_shm->state, &running,
					    MAPLE_AGENT_EXITING, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
