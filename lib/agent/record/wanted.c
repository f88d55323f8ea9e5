// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites the plans of an enforced run name. The others have no hook, but
 * calls of interposed functions come to us from everywhere: a program may make
 * millions of memcpy(), each as short as what we would do about it. So those
 * pass straight on where no plan names a memory function, and else those whose
 * return address is known not to be named; in a run that observes, those whose
 * call site is over its budget; in a controlled one, those that are left alone.
 * The end of memory is announced as a write to it where a plan names the call,
 * and nowhere else. Locks that are called often go a short way when their
 * critical sections can be left out (section.c) and no plan is about them.
 */
#include "agent/core.h"

#define PASSED	  1024 /* a power of two */
#define CALL_BITS 16

static_assert(MAPLE_SHM_CALLS == 1 << CALL_BITS, "beside a return address");

bool maple_agent_skips_memory;
bool maple_agent_skips_ends = true;

static uint8_t call[MAPLE_SHM_CALLS / 8]; /* bits: in a plan */
static uint64_t passed[PASSED];		  /* return address, call site */

/* maple_wanted - whether any plan names @site at all */
bool maple_wanted(uint32_t site)
{
	uint32_t k = site & ~MAPLE_SITE_CALL;

	if (!(site & MAPLE_SITE_CALL))
		return site != MAPLE_SITE_NONE; /* or it has no hook */
	return k < MAPLE_SHM_CALLS && (call[k / 8] >> k % 8 & 1);
}

static void want(uint32_t site)
{
	uint32_t k = site & ~MAPLE_SITE_CALL, kind;

	if (!(site & MAPLE_SITE_CALL) || k >= MAPLE_SHM_CALLS)
		return;
	call[k / 8] |= 1u << k % 8;
	kind = maple_shm->call[k].kind;
	/* What we were only told of, in a replay, may be anything. */
	if (kind == MAPLE_EV_NONE || maple_event_is_memory(kind))
		maple_agent_skips_memory = false;
	/* realloc's is either of the two. */
	if (kind == MAPLE_EV_NONE || kind == MAPLE_EV_FREE ||
	    kind == MAPLE_EV_ALLOC)
		maple_agent_skips_ends = false;
}

/* Returns whether @plan is about locks. */
static bool want_all(const struct maple_plan *plan)
{
	bool locks = false;

	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++) {
		locks |= !maple_event_is_memory(plan->step[i].kind);
		want(plan->step[i].site);
		for (uint32_t g = 0;
		     g < plan->step[i].ngates && g < MAPLE_PLAN_GATES; g++)
			want(plan->step[i].gate[g]);
	}
	for (uint32_t i = 0; i < plan->nguards && i < MAPLE_PLAN_GUARDS; i++)
		want(plan->guard[i]);
	for (uint32_t i = 0; i < plan->ncovers && i < MAPLE_PLAN_COVERS; i++)
		want(plan->cover[i]);
	return locks;
}

/*
 * maple_wanted_start - the plans of this run are known
 *
 * Returns whether any is about locks.
 */
bool maple_wanted_start(void)
{
	bool locks;

	maple_agent_skips_memory = maple_agent_skips_ends = true;
	locks = want_all(&maple_shm->plan);
	for (uint32_t i = 0; i < maple_shm->nthen && i < MAPLE_SHM_THEN; i++)
		locks |= want_all(&maple_shm->then[i]);
	return locks;
}

/* Call sites of locks go on being counted until they mean no progress. */
static bool passes(uint32_t site, unsigned int kind)
{
	bool about = maple_agent_enforces && maple_wanted(site);

	if (maple_agent_controls)
		return maple_call_left(site, kind);
	if (maple_event_is_memory(kind))
		return maple_agent_enforces ? !about : maple_call_quiet(site);
	return maple_sections && !maple_shm->nchanges &&
	       maple_call_often(site) && (!about || maple_enforce_over());
}

/* Whether a LOCK, which may block, would tell more of the access before. */
static bool tells_of_access(unsigned int kind)
{
	return kind == MAPLE_EV_LOCK && !maple_agent_enforces &&
	       maple_self.settled != maple_self.clock;
}

bool maple_agent_wants(const void *ret, unsigned int kind, uint32_t *site)
{
	uint64_t addr = (uint64_t)ret, *slot, known;

	slot = &passed[addr * 0x9e3779b97f4a7c15ull >> 32 & (PASSED - 1)];
	known = *(volatile uint64_t *)slot;
	if (known >> CALL_BITS == addr && !tells_of_access(kind)) {
		*site = MAPLE_SITE_CALL | (known & (MAPLE_SHM_CALLS - 1));
		return false;
	}
	*site = maple_agent_call(ret, kind);
	if (*site == MAPLE_SITE_NONE || !passes(*site, kind) ||
	    tells_of_access(kind))
		return true;
	*(volatile uint64_t *)slot = addr << CALL_BITS |
				     (*site & ~MAPLE_SITE_CALL);
	/* It was armed meanwhile. */
	if (!passes(*site, kind))
		*(volatile uint64_t *)slot = 0;
	return false;
}

/* maple_wanted_rearm - quiet call sites are of interest again */
void maple_wanted_rearm(void)
{
	for (uint32_t i = 0; i < PASSED; i++)
		*(volatile uint64_t *)&passed[i] = 0;
}
