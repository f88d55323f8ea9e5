// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Programs whose threads live in a forked child: daemons, and whoever has
 * workers do the work.
 *
 * A child that is forked while the run has one thread stands by: it runs
 * natively, with the patches in its memory asleep. The first process to
 * create a thread, be it the owner of the run or a child that stands by,
 * settles whose run it is, once and for all, by an exchange on shm->settled.
 * If it is a child, its thread becomes thread 0. The former owner notices at
 * its next hook that shm->pid is not its own any more; since it may never
 * come to one, the child gives it its policy back at once.
 *
 * What the owner has recorded since the fork counts as thread 0's: it has one
 * thread, so no order between two of them can be made of it.
 */
#include "agent/core.h"
#include "agent/raw.h"

int32_t maple_agent_pid;

/* In a child that stands by. */
static struct maple_shm *standing;
static struct maple_shm_thread was; /* thread 0 when it was forked */

/* maple_follow_stand_by - the forked child has left the run */
void maple_follow_stand_by(struct maple_shm *shm)
{
	maple_shm = NULL;
	if (__atomic_load_n(&shm->settled, __ATOMIC_ACQUIRE))
		return;
	standing = shm;
	was = shm->thread[0];
}

/* Counted before the fork: the parent may end before the child runs. */
void maple_agent_forking(void)
{
	if (!maple_shm->settled)
		maple_shm->standbys++;
}

/* Its main thread, the only one it has, is native from here on. */
void maple_agent_lost(void)
{
	maple_self.number = MAPLE_THREAD_NONE;
	if (!maple_agent_sealed)
		maple_sched_put_back(maple_shm, 0);
}

static void take_over(struct maple_shm *shm)
{
	int32_t owner = shm->thread[0].tid;

	maple_agent_enter();
	maple_shm = shm;
	maple_agent_pid = raw0(SYS_getpid);
	shm->thread[0] = was;
	shm->thread[0].tid = raw0(SYS_gettid);
	__atomic_store_n(&shm->pid, maple_agent_pid, __ATOMIC_RELEASE);
	maple_sched_put_back(shm, owner);
	maple_self.events = &shm->thread[0].events;
	maple_self.number = 0;
	maple_watch_forget();
	maple_net_forget();
	maple_call_refresh();
	maple_image_scan();
	maple_sched_take();
	maple_sched_begin(0);
	__atomic_store_n(&shm->state, MAPLE_AGENT_RUNNING, __ATOMIC_RELEASE);
	raw_futex_wake(&shm->state);
	maple_agent_leave();
}

bool maple_agent_settle(void)
{
	struct maple_shm *shm = maple_agent_sealed ? NULL
				: maple_shm	   ? maple_shm
						   : standing;
	int32_t self, none = 0;

	if (!shm)
		maple_stranger_tell();
	if (!shm || (maple_shm && !maple_agent_on()))
		return false;
	self = raw0(SYS_getpid);
	if (__atomic_compare_exchange_n(&shm->settled, &none, self, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		if (!maple_shm)
			take_over(shm);
		return true;
	}
	standing = NULL;
	if (none == self)
		return true;
	/* Its pid is not yet there to be noticed. */
	if (maple_shm)
		maple_agent_lost();
	return false;
}
