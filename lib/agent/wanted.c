// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which sites the plans of an enforced run name. The others have no hook, but
 * calls of interposed functions come to us from everywhere: a program may make
 * millions of memcpy(), each as short as what we would do about it. So those
 * pass straight on where no plan names a memory function, and else those whose
 * return address is known not to be named; in a run that observes, those whose
 * call site is over its budget.
 */
#include "core.h"

#define PASSED 1024 /* a power of two */

bool maple_agent_skips_memory;

static uint8_t call[MAPLE_SHM_CALLS / 8]; /* bits: in a plan */
static uint64_t passed[PASSED];		  /* return addresses */

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
	uint32_t k = site & ~MAPLE_SITE_CALL;

	if (!(site & MAPLE_SITE_CALL) || k >= MAPLE_SHM_CALLS)
		return;
	call[k / 8] |= 1u << k % 8;
	if (maple_event_is_memory(maple_shm->call[k].kind))
		maple_agent_skips_memory = false;
}

static void want_all(const struct maple_plan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps && i < MAPLE_PLAN_STEPS; i++) {
		want(plan->step[i].site);
		for (uint32_t g = 0;
		     g < plan->step[i].ngates && g < MAPLE_PLAN_GATES; g++)
			want(plan->step[i].gate[g]);
	}
	for (uint32_t i = 0; i < plan->nguards && i < MAPLE_PLAN_GUARDS; i++)
		want(plan->guard[i]);
	for (uint32_t i = 0; i < plan->ncovers && i < MAPLE_PLAN_COVERS; i++)
		want(plan->cover[i]);
}

/* maple_wanted_start - the plans of this run are known */
void maple_wanted_start(void)
{
	maple_agent_skips_memory = true;
	want_all(&maple_shm->plan);
	for (uint32_t i = 0; i < maple_shm->nthen && i < MAPLE_SHM_THEN; i++)
		want_all(&maple_shm->then[i]);
}

static bool passes(uint32_t site)
{
	return maple_agent_enforces ? !maple_wanted(site)
				    : maple_call_quiet(site);
}

bool maple_agent_wants(const void *ret, unsigned int kind)
{
	uint64_t addr = (uint64_t)ret, *slot;
	uint32_t site;

	slot = &passed[addr * 0x9e3779b97f4a7c15ull >> 32 & (PASSED - 1)];
	if (*(volatile uint64_t *)slot == addr)
		return false;
	site = maple_agent_call(ret, kind);
	if (!passes(site))
		return true;
	*(volatile uint64_t *)slot = addr;
	/* It was armed meanwhile. */
	if (!passes(site))
		*(volatile uint64_t *)slot = 0;
	return false;
}

/* maple_wanted_rearm - quiet call sites are of interest again */
void maple_wanted_rearm(void)
{
	for (uint32_t i = 0; i < PASSED; i++)
		*(volatile uint64_t *)&passed[i] = 0;
}
