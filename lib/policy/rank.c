// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Policies by which the candidate with the highest priority goes on.
 *
 * POS: an operation has a random priority when it is announced. When one is
 * executed, those that are parked and in conflict with it draw anew. So what
 * comes after a conflict is as open as it was before, and what conflicts with
 * nothing costs no choice. Where conflicts are many, as in threads that want
 * one lock all the time, one in so many draws anew (the order's one_in): who
 * lost stays behind until then, and the others make longer stretches.
 *
 * PCT: a thread has a random priority from its birth, above all those of the
 * change points. At the how-manieth point of the run a change point lies is
 * drawn before, and the thread that gets there goes down to its priority, 1 to
 * d - 1, which are assigned at random. A bug of depth d in a run of n threads
 * and k points is found with a probability of at least 1 / (n k^(d-1)). Where a
 * variable is named only accesses to it count as points (PCTVB): of a bug that
 * takes no others k is how many of those there are.
 *
 * Where priorities are those of threads, one that spins goes below all others:
 * else each time that it gives way the other one makes one step, and no more.
 */
#include "base/mix.h"
#include "state.h"

#define ABOVE_CHANGES (1ull << 60)

/* maple_policy_highest - of the first @n candidates */
uint32_t maple_policy_highest(const struct maple_policy *p, uint32_t n)
{
	uint32_t best = p->candidate[0];

	for (uint32_t i = 1; i < n; i++)
		if (p->thread[p->candidate[i]].priority >
		    p->thread[best].priority)
			best = p->candidate[i];
	return best;
}

/* maple_policy_sink - @t goes below all others */
void maple_policy_sink(struct maple_policy *p, uint32_t t)
{
	p->thread[t].priority = p->lowest--;
}

static uint32_t pick(struct maple_policy *p, uint32_t t,
		     enum maple_policy_what what)
{
	return maple_policy_highest(p, p->ncandidates);
}

static void draw_priority(struct maple_policy_thread *t)
{
	t->priority = maple_draw(&t->random) >> 1;
}

static void pos_announce(struct maple_policy *p, uint32_t t)
{
	draw_priority(&p->thread[t]);
}

static bool conflict(const struct maple_policy_op *a,
		     const struct maple_policy_op *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size &&
	       (a->kind != MAPLE_EV_READ || b->kind != MAPLE_EV_READ);
}

static void pos_execute(struct maple_policy *p, uint32_t t)
{
	struct maple_policy_thread *other;
	uint64_t bits;

	for (uint32_t w = 0; w < p->nwords; w++) {
		for (bits = p->parked[w]; bits; bits &= bits - 1) {
			other = &p->thread[w * 64 + __builtin_ctzll(bits)];
			if (conflict(&p->thread[t].op, &other->op) &&
			    maple_policy_drawn(&p->random,
					       p->setup.order->one_in))
				draw_priority(other);
		}
	}
}

static void pct_start(struct maple_policy *p)
{
	uint32_t n = p->setup.order->nchanges, k;

	for (uint32_t i = 0; i < n && i < MAPLE_POLICY_CHANGES; i++) {
		k = maple_policy_below(&p->random, i + 1);
		p->rank[i] = p->rank[k];
		p->rank[k] = i + 1;
	}
}

/* Two alike are as good as impossible. */
static void pct_born(struct maple_policy *p, uint32_t t, uint32_t by)
{
	p->thread[t].priority = maple_draw(&p->thread[t].random) >> 4 |
				ABOVE_CHANGES;
}

static void pct_point(struct maple_policy *p, uint32_t t)
{
	const struct maple_policy_order *o = p->setup.order;

	if (o->size && !maple_policy_is_interesting(p, t))
		return;
	maple_policy_add(&p->total);
	while (p->change < o->nchanges && p->change < MAPLE_POLICY_CHANGES &&
	       p->total >= o->change[p->change])
		p->thread[t].priority = p->rank[p->change++];
}

const struct maple_policy_kind_ops maple_policy_pos = {
	.announce = pos_announce,
	.pick = pick,
	.execute = pos_execute,
};

const struct maple_policy_kind_ops maple_policy_pct = {
	.start = pct_start,
	.born = pct_born,
	.point = pct_point,
	.spin = maple_policy_sink,
	.pick = pick,
};
