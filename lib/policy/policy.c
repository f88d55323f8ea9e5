// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Decisions: who is a candidate, what the policy makes of it, and the log. The
 * rules are algorithms.md 10.
 *
 * What two threads may write at a time are bits of parked[], by one instruction
 * each, places in the log, and what is counted; all else is written by its
 * owner, or by who decides.
 */
#include "state.h"

static const struct maple_policy_kind_ops *const kinds[MAPLE_POLICIES] = {
	[MAPLE_POLICY_RW] = &maple_policy_walk,
	[MAPLE_POLICY_POS] = &maple_policy_pos,
	[MAPLE_POLICY_PCT] = &maple_policy_pct,
	[MAPLE_POLICY_SURW] = &maple_policy_surw,
	[MAPLE_POLICY_LIST] = &maple_policy_list,
	[MAPLE_POLICY_SEEK] = &maple_policy_seek,
};

size_t maple_policy_size(void)
{
	return sizeof(struct maple_policy);
}

/* One instruction each: nobody of this CPU comes between. */
static void set_parked(struct maple_policy *p, uint32_t t)
{
	__asm__ volatile("orq %1,%0"
			 : "+m"(p->parked[t / 64])
			 : "r"(1ull << t % 64)
			 : "cc");
}

static void clear_parked(struct maple_policy *p, uint32_t t)
{
	__asm__ volatile("andq %1,%0"
			 : "+m"(p->parked[t / 64])
			 : "r"(~(1ull << t % 64))
			 : "cc");
}

bool maple_policy_is_parked(const struct maple_policy *p, uint32_t t)
{
	return p->parked[t / 64] >> t % 64 & 1;
}

bool maple_policy_alone(const struct maple_policy *p)
{
	return *(volatile const uint32_t *)&p->nlive < 2;
}

uint32_t maple_policy_chosen(const struct maple_policy *p)
{
	return *(volatile const uint32_t *)&p->chosen;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static uint32_t find_name(const struct maple_policy *p, const char *name)
{
	for (uint32_t i = 0; i < p->setup.nnames; i++)
		if (same(p->setup.name[i].text, name))
			return i;
	return MAPLE_POLICY_NONE;
}

void maple_policy_born(struct maple_policy *p, uint32_t t, const char *name,
		       uint32_t by)
{
	struct maple_policy_thread *child = &p->thread[t];
	uint32_t words = t / 64 + 1, had = p->nwords;

	child->live = true;
	child->name = find_name(p, name);
	child->random = maple_policy_seed(p->setup.order->seed, t + 1);
	child->hits = &child->own;
	child->op.site = child->from = MAPLE_SITE_NONE;
	while (had < words &&
	       !__atomic_compare_exchange_n(&p->nwords, &had, words, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&p->nlive, 1, __ATOMIC_RELAXED);
	if (p->kind->born)
		p->kind->born(p, t, by);
}

void maple_policy_start(struct maple_policy *p,
			const struct maple_policy_setup *setup)
{
	p->setup = *setup;
	p->kind = kinds[setup->order->policy];
	p->random = maple_policy_seed(setup->order->seed, 0);
	p->intended = MAPLE_POLICY_NONE;
	*setup->nlog = 0;
	maple_policy_time_start(p);
	if (p->kind->start)
		p->kind->start(p);
	maple_policy_born(p, 0, "0", 0);
}

/*
 * maple_policy_take_over - the list is over: from here on the policy behind it
 *                          decides, with @t, or NONE, before its choice
 *
 * What it does at a thread's birth and points it does for those that are there.
 * Who is in transit comes to its next point by itself.
 */
void maple_policy_take_over(struct maple_policy *p, uint32_t t)
{
	p->kind = kinds[p->setup.order->behind - 1];
	if (p->kind->start)
		p->kind->start(p);
	for (uint32_t i = 0; i < p->nwords * 64; i++) {
		if (!p->thread[i].live)
			continue;
		if (p->kind->born)
			p->kind->born(p, i, i);
		if (p->kind->announce &&
		    (i == t || maple_policy_is_parked(p, i)))
			p->kind->announce(p, i);
	}
}

void maple_policy_exit(struct maple_policy *p, uint32_t t)
{
	if (p->thread[t].live) {
		p->thread[t].live = false;
		__atomic_fetch_sub(&p->nlive, 1, __ATOMIC_RELAXED);
	}
	clear_parked(p, t);
}

uint32_t maple_policy_hits(const struct maple_policy *p, uint32_t t,
			   uint32_t site)
{
	return p->thread[t].op.site == site ? p->thread[t].hit : 0;
}

void maple_policy_count(struct maple_policy *p, uint32_t t, uint32_t site)
{
	struct maple_policy_thread *at = &p->thread[t];
	struct maple_policy_hit *hit = maple_policy_hit(p, at->hits, site);

	at->op.site = site;
	at->hit = hit ? ++hit->count : 0;
	if (!hit)
		maple_policy_add(&p->setup.counts->uncounted);
}

void maple_policy_announce(struct maple_policy *p, uint32_t t,
			   const struct maple_policy_op *op)
{
	const struct maple_policy_order *o = p->setup.order;
	struct maple_policy_thread *at = &p->thread[t];

	at->from = at->op.site;
	at->from_hit = at->hit;
	at->op = *op;
	at->blind = o->blind && op->peek &&
		    maple_policy_drawn(&at->random, o->one_in);
	maple_policy_count(p, t, op->site);
	maple_policy_time_announce(p, t);
	if (p->kind->announce)
		p->kind->announce(p, t);
	at->due = maple_policy_spins(p, t);
}

/* ---- The log. ---- */

static uint32_t take_place(uint32_t *n)
{
	uint32_t one = 1;

	__asm__ volatile("xaddl %0,%1" : "+r"(one), "+m"(*n) : : "cc");
	return one;
}

static void note(struct maple_policy *p, uint32_t t,
		 enum maple_policy_what what, uint32_t next)
{
	const struct maple_policy_thread *thread = p->thread;
	uint32_t at = MAPLE_POLICY_ENTRIES;

	if (*p->setup.nlog < MAPLE_POLICY_ENTRIES)
		at = take_place(p->setup.nlog);
	if (at >= MAPLE_POLICY_ENTRIES) {
		maple_policy_add(&p->setup.counts->over);
		return;
	}
	p->setup.log[at] = (struct maple_policy_switch){
		.thread = t,
		.next = next,
		.what = what,
		.site = thread[t].op.site,
		.hit = thread[t].hit,
		.next_site = thread[next].op.site,
		.next_hit = thread[next].hit,
	};
}

/* ---- Choices. ---- */

static bool may_go(struct maple_policy *p, uint32_t t, bool any)
{
	const struct maple_policy_op *op = &p->thread[t].op;

	if (any || maple_policy_timed_out(p, t))
		return true;
	if (!op->event && !op->until && p->thread[t].blind)
		return true;
	return op->peek ? p->setup.ops->enabled(t, op) : !op->event;
}

/* Who is parked, and @self unless it is NONE; with @any, who would block, too. */
static void collect(struct maple_policy *p, uint32_t self, bool any)
{
	uint64_t bits;
	uint32_t t;

	if (self == MAPLE_POLICY_NONE)
		p->outside = MAPLE_POLICY_UNASKED;
	p->ncandidates = 0;
	for (uint32_t w = 0; w < p->nwords; w++) {
		for (bits = p->parked[w]; bits; bits &= bits - 1) {
			t = w * 64 + __builtin_ctzll(bits);
			if (may_go(p, t, any))
				p->candidate[p->ncandidates++] = t;
		}
	}
	if (self != MAPLE_POLICY_NONE && may_go(p, self, any))
		p->candidate[p->ncandidates++] = self;
}

/*
 * If nobody can go on, time does, and if that helps nobody, somebody is to
 * block where all can see it.
 */
static void collect_some(struct maple_policy *p, uint32_t self)
{
	p->jumped = MAPLE_POLICY_NONE;
	collect(p, self, false);
	if (p->ncandidates || maple_policy_next_timeout(p, self))
		return;
	p->setup.counts->disabled++;
	collect(p, self, true);
}

/* Before who spins gives way, if somebody is there; whether it does. */
static bool gives_way(struct maple_policy *p, uint32_t t)
{
	if (!p->thread[t].due)
		return false;
	collect(p, MAPLE_POLICY_NONE, false);
	if (!p->ncandidates)
		return false;
	p->setup.counts->yields++;
	maple_policy_gave_way(p, t);
	if (p->kind->spin)
		p->kind->spin(p, t);
	return true;
}

static void one_more(struct maple_policy *p, uint32_t t)
{
	maple_policy_add(&p->setup.counts->points);
	if (p->kind->point)
		p->kind->point(p, t);
}

uint32_t maple_policy_decide(struct maple_policy *p, uint32_t t)
{
	uint32_t next;

	one_more(p, t);
	if (!gives_way(p, t))
		collect_some(p, t);
	p->setup.counts->open += p->ncandidates > 1;
	next = p->ncandidates > 1 || p->kind == &maple_policy_list
		       ? p->kind->pick(p, t, MAPLE_POLICY_AT)
		       : p->candidate[0];
	if (next == t) {
		/* A list would not let it go on by itself. */
		if (maple_policy_is_early(p, t))
			note(p, t, MAPLE_POLICY_AT, t);
		return t;
	}
	p->setup.counts->switches++;
	note(p, t, MAPLE_POLICY_AT, next);
	set_parked(p, t);
	clear_parked(p, next);
	*(volatile uint32_t *)&p->chosen = next;
	return next;
}

/* Who is chosen, or was so before nobody is. */
static uint32_t chosen_last(const struct maple_policy *p)
{
	uint32_t now = maple_policy_chosen(p);

	return now == MAPLE_POLICY_NONE ? p->last : now;
}

bool maple_policy_waits(struct maple_policy *p, uint32_t self)
{
	if (!p->ntimed)
		return false;
	collect(p, self, false);
	return !p->ncandidates && maple_policy_next_timeout(p, self) &&
	       p->thread[p->jumped].op.until > p->now &&
	       p->setup.ops->outside();
}

void maple_policy_rest(struct maple_policy *p, uint32_t t)
{
	one_more(p, t);
	p->last = t;
	set_parked(p, t);
	*(volatile uint32_t *)&p->chosen = MAPLE_POLICY_NONE;
}

uint32_t maple_policy_fall(struct maple_policy *p)
{
	uint32_t was = chosen_last(p), next;

	p->setup.counts->falls++;
	collect_some(p, MAPLE_POLICY_NONE);
	next = p->kind->pick(p, was, MAPLE_POLICY_BLOCKED);
	note(p, was, MAPLE_POLICY_BLOCKED, next);
	clear_parked(p, next);
	*(volatile uint32_t *)&p->chosen = next;
	return next;
}

void maple_policy_park(struct maple_policy *p, uint32_t t)
{
	set_parked(p, t);
}

void maple_policy_arrive(struct maple_policy *p, uint32_t t)
{
	one_more(p, t);
	maple_policy_add(&p->setup.counts->transits);
	note(p, t, MAPLE_POLICY_ARRIVED, chosen_last(p));
	set_parked(p, t);
}

void maple_policy_execute(struct maple_policy *p, uint32_t t)
{
	maple_policy_time_execute(p, t);
	if (p->kind->execute)
		p->kind->execute(p, t);
}
