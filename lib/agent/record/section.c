// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Critical sections under which nothing is recorded: once both their call sites
 * are over their budget they tell nothing new, and a program may have ten of
 * them a microsecond apart. So it is in runs that observe, in controlled ones
 * that are logged, and in enforced ones where no plan is about locks, or once
 * all plans are done. So a LOCK from there is late: it comes into the ring before
 * its thread's next event, unless that is its UNLOCK, and then neither comes.
 *
 * Locks within locks are what deadlocks are predicted from, and functions that
 * wrap a lock are one call site for all of a program's locks. So each way to
 * hold several is recorded once: thread, locks and call sites, the outermost
 * first.
 *
 * Whatever becomes of the thread, the late ones stand in shared memory, and
 * the reader takes them when the run has ended.
 */
#include "agent/core.h"

#define WAYS 4096 /* remembered; each may push out another */

bool maple_sections;
static uint64_t ways[WAYS];

static uint64_t further(uint64_t way, uint64_t addr, uint64_t site)
{
	way = (way ^ addr) * 0x9e3779b97f4a7c15ull;
	way = (way ^ way >> 32 ^ site) * 0xd6e8feb86659fd93ull;
	return way ^ way >> 32;
}

/* How the thread came to hold all up to the @i-th; nearly all nest little. */
static uint64_t way_to(struct maple_shm_held *held, uint32_t i)
{
	struct maple_shm_lock *lock = &held->lock[i];

	if (!lock->way)
		lock->way = further(i ? way_to(held, i - 1) : maple_self.number,
				    lock->addr, lock->site);
	return lock->way;
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

/* maple_section_start - from now on some may be left out */
void maple_section_start(void)
{
	if (maple_sections || !maple_shm->budget)
		return;
	maple_sections = true;
	/* Each call site says when it goes quiet. */
	maple_interest_renew();
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
			       0, lock->flags, lock->aux, lock->sp);
	}
}

/* Of the lock that comes next; nothing is predicted from enforced runs. */
static bool is_new_way(struct maple_shm_held *held)
{
	return held->n && !maple_agent_enforces && !known(way_to(held, held->n));
}

/*
 * maple_section_begins - the thread has acquired @acc
 * @quiet: whether its site is over its budget
 *
 * Returns whether that is recorded later, if at all.
 */
bool maple_section_begins(const struct maple_access *acc, unsigned int flags,
			  uint64_t sp, bool quiet)
{
	struct maple_agent_thread *self = &maple_self;
	struct maple_shm_held *held = here();
	struct maple_shm_lock *lock;
	bool late;

	if (!maple_sections || held->n == MAPLE_SHM_HELD)
		return false;
	lock = &held->lock[held->n];
	lock->addr = acc->addr;
	lock->way = 0;
	lock->site = acc->site;
	lock->clock = self->clock + held->late + 1;
	lock->sp = (uint32_t)sp;
	lock->flags = flags;
	lock->aux = maple_control_hits(acc->site);
	late = quiet && !is_new_way(held);
	if (!late)
		maple_section_late();
	held->n++;
	if (late)
		set_late(held, held->late + 1);
	return late;
}

/*
 * maple_section_ends - the thread is about to release @acc
 * @quiet: whether its site is over its budget
 *
 * Returns whether that need not be recorded, as its LOCK was not.
 */
bool maple_section_ends(const struct maple_access *acc, bool quiet)
{
	struct maple_shm_held *held = here();
	uint32_t i = held->n;

	while (i && held->lock[i - 1].addr != acc->addr)
		i--;
	if (!i)
		return false;
	if (i == held->n && held->late && quiet) {
		set_late(held, held->late - 1);
		held->n--;
		maple_agent_gets_on();
		return true;
	}
	maple_section_late();
	for (held->n--; i <= held->n; i++)
		held->lock[i - 1] = held->lock[i];
	return false;
}
