// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * SURW, selectively uniform random walk: all orders of the accesses to one
 * variable are as likely as each other, however many other points there are.
 *
 * How many interesting accesses each thread will make is known beforehand, its
 * weight; those of threads that are not born count for who will create them.
 * One thread is intended, drawn by its weight. A candidate before an
 * interesting access is not eligible unless it is the intended one, and the
 * others go on by a base that is drawn for each run. After an interesting
 * access the thread's weight is one less and somebody is intended anew.
 *
 * Weights are guesses, and threads wait for each other. So who stands there
 * without being expected counts one at once; where nobody is eligible, one of
 * the candidates is intended; and an intended one that spins is given up.
 */
#include "base/mix.h"
#include "state.h"

static uint64_t weight(const struct maple_policy_thread *t)
{
	return t->live ? (uint64_t)t->weight + t->unborn : 0;
}

static void intend(struct maple_policy *p)
{
	uint64_t sum = 0, at;

	p->intended = MAPLE_POLICY_NONE;
	for (uint32_t t = 0; t < p->nwords * 64; t++)
		sum += weight(&p->thread[t]);
	if (!sum)
		return;
	at = maple_policy_below(&p->random, sum);
	for (uint32_t t = 0; t < p->nwords * 64; t++) {
		if (at < weight(&p->thread[t])) {
			p->intended = t;
			return;
		}
		at -= weight(&p->thread[t]);
	}
}

/* Whether the thread called @a is an ancestor of the one called @b. */
static bool is_ancestor(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return !*a && *b == '.';
}

/* All that is expected of those that @t will create, and they in turn. */
static uint32_t expected_below(const struct maple_policy *p, uint32_t t)
{
	const struct maple_policy_setup *s = &p->setup;
	uint32_t name = p->thread[t].name, sum = 0;

	if (name == MAPLE_POLICY_NONE)
		return 0;
	for (uint32_t i = 0; i < s->nnames; i++)
		if (s->weight[i] &&
		    is_ancestor(s->name[name].text, s->name[i].text))
			sum += s->weight[i];
	return sum;
}

/* What @by was intended for may be what @t is to do. */
static void born(struct maple_policy *p, uint32_t t, uint32_t by)
{
	struct maple_policy_thread *child = &p->thread[t];
	struct maple_policy_thread *parent = &p->thread[by];
	uint64_t before = weight(parent);
	uint32_t own;

	child->priority = maple_draw(&child->random) >> 1;
	if (!p->setup.weight || child->name == MAPLE_POLICY_NONE)
		return;
	child->weight = p->setup.weight[child->name];
	child->unborn = expected_below(p, t);
	if (t == by) { /* the first one */
		intend(p);
		return;
	}
	own = child->weight + child->unborn;
	parent->unborn -= own < parent->unborn ? own : parent->unborn;
	if (p->intended == by && before &&
	    maple_policy_below(&p->random, before) < own)
		p->intended = t;
	else if (p->intended == MAPLE_POLICY_NONE)
		intend(p);
}

/* Brings those that are eligible to the front; how many there are. */
static uint32_t sort_out(struct maple_policy *p)
{
	uint32_t free = 0, t;

	for (uint32_t i = 0; i < p->ncandidates; i++) {
		t = p->candidate[i];
		if (t != p->intended && maple_policy_is_interesting(p, t))
			continue;
		p->candidate[i] = p->candidate[free];
		p->candidate[free++] = t;
	}
	return free;
}

static void expect_unexpected(struct maple_policy *p)
{
	bool more = false;

	for (uint32_t i = 0; i < p->ncandidates; i++) {
		struct maple_policy_thread *t = &p->thread[p->candidate[i]];

		if (!t->weight &&
		    maple_policy_is_interesting(p, p->candidate[i]))
			t->weight = more = 1;
	}
	if (more)
		intend(p);
}

static bool among(const struct maple_policy *p, uint32_t n, uint32_t t)
{
	for (uint32_t i = 0; i < n; i++)
		if (p->candidate[i] == t)
			return true;
	return false;
}

static uint32_t pick(struct maple_policy *p, uint32_t t,
		     enum maple_policy_what what)
{
	uint32_t base = p->setup.order->size ? p->setup.order->base
					     : MAPLE_POLICY_WALK;
	uint32_t n;

	expect_unexpected(p);
	n = sort_out(p);
	if (!n) {
		/* Who is intended cannot come here: another one is. */
		p->intended = p->candidate[maple_policy_below(&p->random,
							      p->ncandidates)];
		n = sort_out(p);
	}
	if (base == MAPLE_POLICY_RANKED)
		return maple_policy_highest(p, n);
	if (base == MAPLE_POLICY_STRAIGHT && among(p, n, p->intended))
		return p->intended;
	if (base == MAPLE_POLICY_STRAIGHT && among(p, n, t))
		return t;
	return p->candidate[maple_policy_below(&p->random, n)];
}

/* It will not come to anything by itself. */
static void spin(struct maple_policy *p, uint32_t t)
{
	p->thread[t].weight = 0;
	maple_policy_sink(p, t);
	p->intended =
		p->candidate[maple_policy_below(&p->random, p->ncandidates)];
}

static void execute(struct maple_policy *p, uint32_t t)
{
	if (!maple_policy_is_interesting(p, t))
		return;
	if (p->thread[t].weight)
		p->thread[t].weight--;
	intend(p);
}

const struct maple_policy_kind_ops maple_policy_surw = {
	.born = born,
	.spin = spin,
	.pick = pick,
	.execute = execute,
};
