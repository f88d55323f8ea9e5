// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The run's own time. Threads that sleep, or wait with a timeout, stand at a
 * point like all others, so nothing depends on when a timer of the kernel
 * fires.
 *
 * Whose timeout is over is a candidate. Of all waits one in HASTY is, too,
 * before that: a machine that is slow enough shows that order. The others are
 * none, as a timeout of seconds hardly ever ends before what takes
 * microseconds. Where nobody else is a candidate, time jumps to the next end.
 */
#include "state.h"

#define HASTY 8
#define ASKED 64 /* points of a thread in a row, until it is asked again */

/* Time 0 would be no end of a wait. */
void maple_policy_time_start(struct maple_policy *p)
{
	p->now = 1;
	p->jumped = MAPLE_POLICY_NONE;
}

uint64_t maple_policy_now(const struct maple_policy *p)
{
	return *(volatile const uint64_t *)&p->now;
}

void maple_policy_pass(struct maple_policy *p, uint64_t ns)
{
	__asm__ volatile("addq %1,%0" : "+m"(p->now) : "r"(ns) : "cc");
}

/* Who follows a list is let go early only where the list says so. */
void maple_policy_time_announce(struct maple_policy *p, uint32_t t)
{
	struct maple_policy_thread *at = &p->thread[t];
	bool went_on = p->asker == t && maple_event_is_memory(at->op.kind);

	/* Between accesses of a thread hardly anybody is woken. */
	if (!went_on || ++p->asked % ASKED == 0)
		p->outside = MAPLE_POLICY_UNASKED;
	p->asker = t;
	at->hasty = false;
	if (!at->op.until)
		return;
	__atomic_fetch_add(&p->ntimed, 1, __ATOMIC_RELAXED);
	at->hasty = p->kind != &maple_policy_list && !at->op.patient &&
		    !maple_policy_below(&at->random, HASTY);
}

void maple_policy_time_execute(struct maple_policy *p, uint32_t t)
{
	if (p->thread[t].op.until)
		__atomic_fetch_sub(&p->ntimed, 1, __ATOMIC_RELAXED);
	p->thread[t].op.until = 0;
}

/* While others are waited for that are outside, nobody is in haste. */
static bool may_hurry(struct maple_policy *p)
{
	if (p->outside == MAPLE_POLICY_UNASKED)
		p->outside = p->setup.ops->outside() ? MAPLE_POLICY_YES
						     : MAPLE_POLICY_NO;
	return p->outside == MAPLE_POLICY_NO;
}

/* maple_policy_ends_early - whether the wait of @t may, if somebody says so */
bool maple_policy_ends_early(struct maple_policy *p, uint32_t t)
{
	return p->thread[t].op.until && may_hurry(p);
}

/* maple_policy_timed_out - whether the wait of @t may be over by itself */
bool maple_policy_timed_out(struct maple_policy *p, uint32_t t)
{
	const struct maple_policy_thread *at = &p->thread[t];

	return at->op.until &&
	       (at->op.until <= p->now || (at->hasty && may_hurry(p)));
}

/* maple_policy_is_early - whether @t, which goes on, only does so in haste */
bool maple_policy_is_early(const struct maple_policy *p, uint32_t t)
{
	const struct maple_policy_op *op = &p->thread[t].op;

	return op->until > p->now && p->jumped != t &&
	       !(op->peek && p->setup.ops->enabled(t, op));
}

static void earlier(struct maple_policy *p, uint32_t t)
{
	uint64_t until = p->thread[t].op.until;
	uint32_t best = p->jumped;

	if (until &&
	    (best == MAPLE_POLICY_NONE || until < p->thread[best].op.until ||
	     (until == p->thread[best].op.until && t < best)))
		p->jumped = t;
}

/*
 * maple_policy_next_timeout - the only candidate, of all that are parked, and
 * @self unless it is NONE, is the one whose wait ends first; false: none does
 */
bool maple_policy_next_timeout(struct maple_policy *p, uint32_t self)
{
	uint64_t bits;

	p->jumped = MAPLE_POLICY_NONE;
	for (uint32_t w = 0; p->ntimed && w < p->nwords; w++)
		for (bits = p->parked[w]; bits; bits &= bits - 1)
			earlier(p, w * 64 + __builtin_ctzll(bits));
	if (self != MAPLE_POLICY_NONE)
		earlier(p, self);
	if (p->jumped == MAPLE_POLICY_NONE)
		return false;
	p->candidate[0] = p->jumped;
	p->ncandidates = 1;
	return true;
}

void maple_policy_expire(struct maple_policy *p, uint32_t t, uint64_t until)
{
	if (until <= p->now)
		return;
	if (p->jumped == t || maple_policy_alone(p))
		p->setup.counts->jumps++;
	else
		p->setup.counts->early++;
	p->now = until;
}
