// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What happens at an access. When observing, an event is recorded right
 * before it (a lock: right after); the access itself is not touched here, so
 * that it faults, if it does, in the program's own instruction. When
 * enforcing, the automaton decides (enforce.c).
 */
#include <errno.h>
#include "agent/core.h"

/* Hits of each change point so far. */
static uint32_t change_hits[MAPLE_SHM_CHANGES];

/*
 * Whoever loses the CPU at a change point, or sleeps there, does so before
 * its access is recorded: record and access stay together.
 */
static void count_change(struct maple_shm *shm, uint32_t site)
{
	for (uint32_t i = 0; i < shm->nchanges && i < MAPLE_SHM_CHANGES; i++)
		if (shm->change[i].site == site &&
		    __atomic_add_fetch(&change_hits[i], 1, __ATOMIC_RELAXED) ==
			    shm->change[i].hit)
			maple_sched_change(__atomic_fetch_add(
				&shm->stats.changes_done, 1, __ATOMIC_RELAXED));
}

static bool observes(const struct maple_shm *shm)
{
	return shm->mode == MAPLE_SHM_OBSERVE;
}

/* Accesses and locks go into the ring without being asked for. */
static bool records(const struct maple_shm *shm)
{
	return observes(shm) ||
	       (shm->mode == MAPLE_SHM_CONTROL && shm->control.log);
}

/* A site of the plan's; @bp: what the program has in rbp. */
static void ask(struct maple_agent_site *site, struct maple_access *acc,
		const struct maple_agent_frame *frame, uint64_t bp)
{
	maple_self.stale = site->interest.count > MAPLE_AGENT_OFTEN;
	if (!maple_self.stale || maple_enforce_callers())
		acc->context =
			maple_context_of(site->pc, (uint64_t)(frame + 1), bp);
	if (maple_enforce_before(acc, 0))
		maple_agent_open(acc);
	if (maple_self.stale)
		maple_pass_look(site, acc->addr);
}

/*
 * maple_hook_before - called by a slot before its instruction
 *
 * Context: between any two instructions of the target. Touches no vector
 * register and no errno.
 */
void maple_hook_before(uint64_t addr, struct maple_agent_site *site,
		       const struct maple_agent_frame *frame)
{
	struct maple_access acc;

	if (!maple_hook_begin(site, frame, addr, &acc))
		return;
	switch (maple_interest_hit(site)) {
	case MAPLE_INTEREST_UNPATCH:
		maple_retire_site(site);
		break;
	case MAPLE_INTEREST_ASK:
		/* The stub leaves rbp as it is: it is what stands here. */
		ask(site, &acc, frame, *(uint64_t *)__builtin_frame_address(0));
		break;
	case MAPLE_INTEREST_STAND:
		maple_meet(&acc, site->interest.count);
		break;
	case MAPLE_INTEREST_RECORD:
		if (maple_shm->nchanges)
			count_change(maple_shm, acc.site);
		maple_ring_put(acc.kind, &acc, 0, site->event_flags, 0,
			       (uint64_t)(frame + 1));
		break;
	case MAPLE_INTEREST_DROP:
		break;
	}
	maple_hook_end();
}

/*
 * What was open at @site has been done, and if it @goes_on, its write comes
 * next. If it was let pass without a question, so is the write.
 */
static void hook_done(const struct maple_agent_site *site, bool goes_on)
{
	struct maple_agent_thread *self = &maple_self;
	struct maple_access acc;
	bool open;

	if (!maple_shm || self->number == MAPLE_THREAD_NONE || self->inside)
		return;
	maple_agent_enter();
	maple_shm->thread[self->number].at = site->number + 1;
	open = maple_agent_close(site->number, &acc);
	if (open && maple_agent_controls) {
		maple_agent_log(&acc, site->event_flags);
	} else if (open) {
		maple_enforce_after(&acc, site->event_flags, true);
		acc.kind = MAPLE_EV_WRITE;
		if (goes_on && maple_enforce_before(&acc, 0))
			maple_agent_open(&acc);
	}
	maple_hook_end();
}

/*
 * maple_hook_between - called by a slot between the halves of an instruction
 *                      that is split
 */
void maple_hook_between(uint64_t addr, struct maple_agent_site *site,
			const struct maple_agent_frame *frame)
{
	hook_done(site, true);
}

/*
 * maple_hook_after - called by a slot after its instruction, if enforced, or if
 *                    its value is wanted
 */
void maple_hook_after(uint64_t addr, struct maple_agent_site *site,
		      const struct maple_agent_frame *frame)
{
	hook_done(site, false);
}

/*
 * Who called the function that calls a memory function: as of a site (context.c),
 * from the frame that the memory function has made of rbp and return address.
 */
static uint32_t call_context(unsigned int flags)
{
	const uint64_t *frame = maple_self.call;

	if (!(flags & MAPLE_AGENT_CALLED))
		return MAPLE_CONTEXT_NONE;
	if (maple_self.stale && !maple_enforce_callers())
		return MAPLE_CONTEXT_NONE;
	return maple_context_of(frame[1] - 1, (uint64_t)(frame + 2), frame[0]);
}

/* One that is made very often is let pass as a site would be (pass.c). */
static void call_enforced(struct maple_access *acc, unsigned int flags)
{
	bool memory = maple_event_is_memory(acc->kind);
	bool often = memory && maple_self.stale;

	acc->context = call_context(flags);
	if (often && maple_pass_call(acc))
		return;
	if (maple_enforce_before(acc, flags) && memory)
		maple_agent_open(acc);
	if (often && maple_interest_wanted(acc->site))
		maple_pass_called(acc);
}

/*
 * Whether @acc, which is a call's and in the budget, comes into the ring now.
 */
static bool comes_now(const struct maple_access *acc)
{
	return acc->kind != MAPLE_EV_UNLOCK ||
	       !maple_section_ends(acc, maple_interest_quiet(acc->site));
}

static void put_call(const struct maple_access *acc, unsigned int flags,
		     uint64_t sp)
{
	maple_ring_put(acc->kind == MAPLE_EV_LOCK ? MAPLE_EV_BLOCK : acc->kind,
		       acc, 0, flags, maple_control_hits(acc->site), sp);
}

/* The caller is the @n-th at its site. */
static void call_controlled(const struct maple_access *acc, unsigned int flags,
			    uint32_t n, uint64_t sp)
{
	maple_control_access(acc, flags);
	if (maple_control_values && maple_event_is_memory(acc->kind))
		maple_agent_open(acc);
	else if (maple_interest_logs(acc->site, acc->kind, n ? n - 1 : 0) &&
		 comes_now(acc))
		put_call(acc, flags, sp);
}

void maple_agent_before(uint32_t site, unsigned int kind, const void *addr,
			uint64_t size, unsigned int flags)
{
	struct maple_access acc = { site, kind, (uint64_t)addr, size,
				    !!(flags & MAPLE_EVF_MAYFAIL) };
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	enum maple_interest_answer answer;
	uint32_t n;

	if (!maple_agent_on() || !size)
		return;
	maple_agent_enter();
	answer = maple_interest_call(site, kind, &n);
	maple_shm->stats.calls++;
	if (observes(maple_shm) && maple_shm->nchanges)
		count_change(maple_shm, site);
	if (answer == MAPLE_INTEREST_ASK)
		call_enforced(&acc, flags);
	else if (answer == MAPLE_INTEREST_STAND)
		call_controlled(&acc, flags, n, sp);
	else if (answer == MAPLE_INTEREST_RECORD && comes_now(&acc))
		put_call(&acc, flags, sp);
	maple_agent_leave();
}

void maple_agent_after(uint32_t site, unsigned int kind, const void *addr,
		       uint64_t size, unsigned int flags, bool happened)
{
	struct maple_access acc = { site, kind, (uint64_t)addr, size,
				    !!(flags & MAPLE_EVF_MAYFAIL) };
	struct maple_access open;
	uint64_t sp = (uint64_t)__builtin_frame_address(0);

	if (!maple_agent_on() || !size)
		return;
	maple_agent_enter();
	if (maple_agent_enforces) {
		if (maple_event_is_memory(kind) &&
		    maple_agent_close(site, &open))
			acc.context = open.context;
		maple_enforce_after(&acc, flags, happened);
	} else if (maple_control_values && maple_event_is_memory(kind)) {
		if (maple_agent_close(site, &open) && happened)
			maple_agent_log(&acc, flags);
	} else if (happened && kind == MAPLE_EV_LOCK && records(maple_shm)) {
		flags |= MAPLE_EVF_EXACT;
		if (!maple_section_begins(&acc, flags, sp,
					  maple_interest_quiet(site)))
			maple_ring_put(kind, &acc, 0, flags,
				       maple_control_hits(site), sp);
	}
	maple_agent_leave();
}

/*
 * maple_agent_condition - the caller is about to signal @cond or to wait on it
 *                         (NOTIFY, SLEEP), or, if @done, will do nothing else
 *                         before; what a run that observes needs, notes tell
 */
void maple_agent_condition(uint32_t site, unsigned int kind, const void *cond,
			   bool done)
{
	if (!maple_agent_enforces)
		return;
	if (done)
		maple_agent_after(site, kind, cond, 1, 0, true);
	else
		maple_agent_before(site, kind, cond, 1, 0);
}

/* What the calls of a lock that nobody wants have in common. */
static void unwanted(uint32_t site, unsigned int kind, const void *addr,
		     unsigned int flags, uint64_t sp)
{
	struct maple_access acc = { site, kind, (uint64_t)addr, 1 };

	flags |= MAPLE_EVF_EXACT;
	maple_agent_enter();
	maple_self.stale = true;
	maple_shm->stats.calls++;
	if (kind == MAPLE_EV_LOCK ? !maple_section_begins(&acc, flags, sp, true)
				  : !maple_section_ends(&acc, true))
		maple_ring_put(kind, &acc, 0, flags, 0, sp);
	maple_agent_leave();
}

void maple_agent_locked(uint32_t site, const void *addr, unsigned int flags)
{
	unwanted(site, MAPLE_EV_LOCK, addr, flags,
		 (uint64_t)__builtin_frame_address(0));
}

void maple_agent_unlocks(uint32_t site, const void *addr, unsigned int flags)
{
	unwanted(site, MAPLE_EV_UNLOCK, addr, flags,
		 (uint64_t)__builtin_frame_address(0));
}

void maple_agent_note(unsigned int kind, uint32_t site, const void *addr,
		      uint64_t value, unsigned int flags, uint32_t aux)
{
	struct maple_access acc = { site, kind, (uint64_t)addr, 0 };
	uint64_t sp = (uint64_t)__builtin_frame_address(0);

	if (!maple_agent_on())
		return;
	maple_agent_enter();
	maple_ring_put(kind, &acc, value, flags,
		       aux ? aux : maple_control_hits(site), sp);
	maple_agent_leave();
}

static void note_memory(unsigned int kind, const void *ret, const void *addr,
			uint64_t size)
{
	maple_agent_note(kind, maple_agent_call(ret, kind), addr, size, 0, 0);
}

void maple_agent_allocated(const void *ret, const void *addr, uint64_t size)
{
	if (!maple_agent_on())
		return;
	if (maple_shm->names)
		note_memory(MAPLE_EV_ALLOC, ret, addr, size);
	else
		maple_agent_gets_on();
}

void maple_agent_freed(const void *ret, const void *addr, uint64_t size)
{
	if (!maple_agent_on())
		return;
	if (maple_agent_enforces) {
		maple_agent_enter();
		maple_enforce_freed((uint64_t)addr, size);
		maple_agent_leave();
	}
	if ((!maple_agent_enforces && !maple_agent_controls) ||
	    records(maple_shm) || maple_shm->names ||
	    maple_touched_find((uint64_t)addr, size))
		note_memory(MAPLE_EV_FREE, ret, addr, size);
	else
		maple_agent_gets_on();
}

/* Always in the log then: that is how the write there is known to be an end. */
uint32_t maple_agent_ends(const void *ret, const void *addr, uint64_t size)
{
	uint32_t site;

	if (maple_agent_skips_ends || !maple_agent_on() ||
	    !maple_agent_wants(ret, MAPLE_EV_WRITE, &site) ||
	    site == MAPLE_SITE_NONE) {
		maple_agent_freed(ret, addr, size);
		return MAPLE_SITE_NONE;
	}
	maple_agent_before(site, MAPLE_EV_WRITE, addr, size, MAPLE_EVF_MEMFN);
	maple_agent_note(MAPLE_EV_FREE, site, addr, size, 0, 0);
	return site;
}

void maple_agent_ended(uint32_t site, const void *addr, uint64_t size)
{
	if (site != MAPLE_SITE_NONE)
		maple_agent_after(site, MAPLE_EV_WRITE, addr, size,
				  MAPLE_EVF_MEMFN, true);
}
