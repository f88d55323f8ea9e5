// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Critical sections under which nothing is recorded, in observing runs: once
 * both their call sites are over their budget they tell nothing new, and a
 * program may have ten of them a microsecond apart. So a LOCK from there is
 * late: it comes into the ring before its thread's next event, unless that is
 * its UNLOCK, and then neither comes.
 *
 * Locks within locks are what deadlocks are predicted from, and functions that
 * wrap a lock are one call site for all of a program's locks. So each way to
 * hold several is recorded once: thread, locks and call sites, the outermost
 * first.
 *
 * Whatever becomes of the thread, the late ones stand in shared memory, and
 * the reader takes them when the run has ended.
 */
#include "core.h"

#define WAYS 4096 /* remembered; each may push out another */

static uint64_t ways[WAYS];

static uint64_t further(uint64_t way, uint64_t addr, uint64_t site)
{
	way = (way ^ addr) * 0x9e3779b97f4a7c15ull;
	way = (way ^ way >> 32 ^ site) * 0xd6e8feb86659fd93ull;
	return way ^ way >> 32;
}

/* Whether @way is one that was recorded; now it is. */
static bool known(uint64_t way)
{
	uint64_t *place = &ways[way % WAYS];
	bool is = *place == way;

	*place = way;
	return is;
}

static struct maple_shm_held *here(void)
{
	return &maple_shm->held[maple_self.number];
}

static void set_late(struct maple_shm_held *held, uint32_t late)
{
	held->late = late;
	maple_self.late = late;
}

/* maple_section_late - records the thread's late LOCKs */
void maple_section_late(void)
{
	struct maple_shm_held *held = here();
	uint32_t i = held->n - held->late;

	set_late(held, 0);
	for (; i < held->n; i++) {
		const struct maple_shm_lock *lock = &held->lock[i];

		maple_ring_put(MAPLE_EV_LOCK,
			       &(struct maple_access){ lock->site, MAPLE_EV_LOCK,
						       lock->addr, 1 },
			       0, lock->flags, 0, lock->sp);
	}
}

/*
 * maple_section_begins - the thread has acquired @acc
 *
 * Returns whether that is recorded later, if at all.
 */
bool maple_section_begins(const struct maple_access *acc, unsigned int flags,
			  uint64_t sp)
{
	struct maple_agent_thread *self = &maple_self;
	struct maple_shm_held *held = here();
	uint64_t way = self->number;
	bool late;

	if (!maple_shm->budget || held->n == MAPLE_SHM_HELD)
		return false;
	if (held->n)
		way = held->lock[held->n - 1].way;
	way = further(way, acc->addr, acc->site);
	late = maple_call_quiet(acc->site) && (!held->n || known(way));
	if (!late)
		maple_section_late();
	held->lock[held->n++] = (struct maple_shm_lock){
		.addr = acc->addr,
		.way = way,
		.site = acc->site,
		.clock = self->clock + held->late + 1,
		.sp = (uint32_t)sp,
		.flags = flags,
	};
	if (late)
		set_late(held, held->late + 1);
	return late;
}

/*
 * maple_section_ends - the thread is about to release @acc
 *
 * Returns whether that need not be recorded, as its LOCK was not.
 */
bool maple_section_ends(const struct maple_access *acc)
{
	struct maple_agent_thread *self = &maple_self;
	struct maple_shm_held *held = here();
	uint32_t i = held->n;

	while (i && held->lock[i - 1].addr != acc->addr)
		i--;
	if (!i)
		return false;
	if (i == held->n && held->late && maple_call_quiet(acc->site)) {
		set_late(held, held->late - 1);
		held->n--;
		*self->events += !self->stale; /* it gets on */
		return true;
	}
	maple_section_late();
	for (held->n--; i <= held->n; i++)
		held->lock[i - 1] = held->lock[i];
	return false;
}
