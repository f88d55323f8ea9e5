// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Who only waits is to give way, or a policy that is not fair starves the one
 * that he waits for.
 *
 * A thread remembers the values that it found at the last places it read, a
 * place being site and address. The same value again is a repeat; a write of
 * its own, or a place that is new, begins anew. At SPIN << patience repeats it
 * is due to give way.
 *
 *	another value at a place that is known: what it waited for may have
 *	come, so it does spin, and its patience is spent: the next time it is
 *	let go quickly
 *	it has given way: its patience is twice as long, since to look at shared
 *	settings again and again is work, and no spin
 *	nobody else is a candidate: it stays due until somebody is. What falls
 *	due only where it has the lock that all others want would never have an
 *	effect, wherever its period divides that of the loop
 *
 * A call to yield, or a failed round of a spin lock, is due at once.
 *
 * In a LIST this is for schedules that lead elsewhere than the one they were
 * taken from, which would wait forever. A replay sees fewer sites than the run
 * that it repeats, so that more looks like a spin: it takes much longer there.
 * With a policy behind it, a spin that the list knows nothing of is where that
 * one takes over.
 */
#include "state.h"

#define SPIN	      24u
#define PATIENCE_MOST 8u
#define LIST_SHIFT    8u /* 6,144 repeats: some 200 us */

static uint32_t limit(const struct maple_policy *p,
		      const struct maple_policy_thread *t)
{
	bool replay = p->kind == &maple_policy_list && !p->setup.order->behind;

	return SPIN << (t->patience + (replay ? LIST_SHIFT : 0));
}

/* The same value again is a repeat; whether there were enough of them. */
static bool repeats(struct maple_policy *p, struct maple_policy_thread *t)
{
	uint64_t key = t->op.addr * 0x9e3779b97f4a7c15ull ^ t->op.site;
	uint64_t value = t->op.size <= 8 ? p->setup.ops->value(&t->op) : 0;

	for (uint32_t i = 0; i < MAPLE_POLICY_SEEN && i < t->nseen; i++) {
		if (t->seen[i] != key)
			continue;
		if (t->value[i] == value)
			return ++t->repeats >= limit(p, t);
		t->value[i] = value;
		t->repeats = t->patience = 0;
		return false;
	}
	t->repeats = 0;
	t->seen[t->nseen % MAPLE_POLICY_SEEN] = key;
	t->value[t->nseen++ % MAPLE_POLICY_SEEN] = value;
	return false;
}

/* maple_policy_spins - whether @t, which has announced, is to give way */
bool maple_policy_spins(struct maple_policy *p, uint32_t t)
{
	struct maple_policy_thread *at = &p->thread[t];

	at->gave = at->op.kind == MAPLE_EV_NONE;
	if (at->gave)
		return true;
	if (at->op.kind == MAPLE_EV_WRITE)
		at->repeats = 0;
	/* Where a loop polls under a lock, others can go on only here. */
	if (at->op.kind != MAPLE_EV_READ && at->op.kind != MAPLE_EV_UPDATE)
		return at->repeats >= limit(p, at);
	return repeats(p, at);
}

/* maple_policy_gave_way - @t was due, and somebody else was there */
void maple_policy_gave_way(struct maple_policy *p, uint32_t t)
{
	struct maple_policy_thread *at = &p->thread[t];

	at->repeats = 0;
	if (!at->gave && at->patience < PATIENCE_MOST)
		at->patience++;
}
