// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Sites of a plan that are executed over and over while nothing comes of it:
 * a loop that waits for nothing makes a hundred million accesses a second.
 *
 *	first OFTEN hits	the automaton is asked (hook.c)
 *	then			stub.S lets them pass, as long as the automaton
 *				has not moved, the thread is the same, and it is
 *				not about those bytes
 *	when that has taken	the site is taken out for the rest of the run
 *	its share of the time	(retire.c)
 *
 * What was taken out is not enforced any more, nor is it in the log; writes to
 * what an attempt is about are still seen by watchpoints. Calls of memory
 * functions are let pass in the same way, but never taken out.
 */
#include "agent/core.h"

#define GRANT 16384u /* hits until it is asked again */
/*
 * Of all sites together: at 5 ns each, a tenth of the time that the program
 * takes natively, of which slice_ms is a tenth.
 */
#define HITS_A_MS 200000u

struct maple_pass maple_pass[MAPLE_PASSES];
struct maple_about maple_about;
static struct maple_auto *automaton;
static uint32_t used;	     /* of maple_pass */
static uint64_t hits;	     /* let pass so far */
static uint32_t epoch = ~0u; /* for which maple_about is */

MAPLE_SITE_IS(interest.pass, 20);
static_assert(MAPLE_PASSES - 1 <= UINT16_MAX, "maple_interest has it");
MAPLE_SELF_IS(nopen, 28);
static_assert(sizeof(struct maple_pass) == 16, "stub.S relies on it");
static_assert(offsetof(struct maple_pass, left) == 8, "stub.S relies on it");
static_assert(offsetof(struct maple_about, at) == 8 &&
		      offsetof(struct maple_about, size) == 24,
	      "stub.S relies on it");

/* maple_pass_start - *@a will be asked in this run */
void maple_pass_start(struct maple_auto *a)
{
	automaton = a;
	epoch = ~0u;
	maple_about.epoch = maple_auto_epoch(a);
}

/* maple_pass_give - @i is of a site, or a call site, that the plan names */
void maple_pass_give(struct maple_interest *i)
{
	if (i->pass || used + 1 == MAPLE_PASSES)
		return;
	i->pass = ++used;
	maple_pass[used].epoch = ~0u;
}

/* A wide access that begins before a range may overlap it. */
static void about(void)
{
	const uint64_t most = 64;
	uint64_t at, size;

	if (epoch == *maple_about.epoch)
		return;
	epoch = *maple_about.epoch;
	for (unsigned int v = 0; v < MAPLE_PLAN_VARS; v++) {
		maple_auto_about(automaton, v, &at, &size);
		maple_about.at[v] = at - most;
		maple_about.size[v] = size ? size + most : 0;
	}
}

/* From now on, as long as all is as it is. */
static void grant(struct maple_pass *p, const struct maple_access *acc)
{
	if (maple_ring_shared ||
	    !maple_auto_ignores(automaton, maple_self.number, acc))
		return;
	about();
	p->epoch = epoch;
	p->thread = maple_self.number;
	p->given = p->left = GRANT;
}

/*
 * maple_pass_look - the calling thread, below HOOK, is about to access @addr at
 * @site, which has been executed often
 *
 * What is let pass of a split site is the whole of it.
 */
void maple_pass_look(struct maple_agent_site *site, uint64_t addr)
{
	struct maple_pass *p = &maple_pass[site->interest.pass];
	struct maple_access acc = {
		.site = site->number,
		.kind = site->flags & MAPLE_SITEF_SPLIT ? MAPLE_EV_UPDATE
							: site->kind,
		.addr = addr,
		.size = site->size,
		.context = MAPLE_CONTEXT_ALL,
	};
	uint32_t gone = p->given - p->left;

	if (!site->interest.pass || !automaton)
		return;
	p->given = p->left = 0;
	hits += gone;
	maple_enforce_passed(gone);
	maple_shm->stats.hits[site->way] += gone;
	if (!site->live) /* on its way out; retire.c is to be called */
		return;
	if (gone && hits > (uint64_t)maple_shm->plan.slice_ms * HITS_A_MS)
		maple_retire_later(site);
	else
		grant(p, &acc);
}

/* As stub.S has it: whether @acc is nothing to the automaton. */
static bool holds(struct maple_pass *p, const struct maple_access *acc)
{
	if (!p->left || p->epoch != *maple_about.epoch ||
	    p->thread != maple_self.number)
		return false;
	for (unsigned int v = 0; v < MAPLE_PLAN_VARS; v++) {
		/* Of any size: the range may begin within it. */
		if (acc->addr - maple_about.at[v] < maple_about.size[v] ||
		    (maple_about.size[v] &&
		     maple_about.at[v] - acc->addr < acc->size))
			return false;
	}
	p->left--;
	return true;
}

/* maple_pass_call - whether the caller need not ask the automaton about @acc */
bool maple_pass_call(const struct maple_access *acc)
{
	uint32_t at = maple_interest_pass(acc->site);

	return at && holds(&maple_pass[at], acc);
}

/* maple_pass_called - it did, and @acc, of a site that is called often, is next */
void maple_pass_called(const struct maple_access *acc)
{
	struct maple_pass *p = &maple_pass[maple_interest_pass(acc->site)];

	if (p == maple_pass || !automaton)
		return;
	maple_enforce_passed(p->given - p->left);
	p->given = p->left = 0;
	grant(p, acc);
}
