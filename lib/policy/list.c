// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * LIST: what was logged, or what is left of it, once more.
 *
 * An entry says who goes on when its thread comes to its place, whatever
 * happened elsewhere. Where no entry says anything, or names who does not
 * stand at a point, a thread goes on as long as it can, and then the one that
 * is first in number, or last if the order says so; or, if it says that, they
 * go by turns, point by point. Whether the one that is
 * named would block is not asked: it did so in the run that the entry is of.
 *
 * Entries of one thread and site hang together and are passed in the order of
 * their hits, so what to look up at a point is in the table that its hits are
 * counted in.
 *
 * A list may be the beginning of a run: then another policy takes over behind
 * its last entry, or where the run goes another way than the list says.
 */
#include "state.h"

static void start(struct maple_policy *p)
{
	const struct maple_policy_setup *s = &p->setup;
	const struct maple_policy_switch *e;
	struct maple_policy_hits *hits;
	struct maple_policy_hit *hit;

	p->by_name = s->ops->memory((s->nnames + 1) * sizeof(*p->by_name));
	p->thread_of = s->ops->memory((s->nnames + 1) * sizeof(*p->thread_of));
	p->follows = s->ops->memory((s->nlist + 1) * sizeof(*p->follows));
	if (!p->by_name || !p->thread_of || !p->follows) {
		s->counts->uncounted++;
		p->thread_of = NULL;
		return;
	}
	for (uint32_t i = 0; i < s->nnames; i++)
		p->thread_of[i] = MAPLE_POLICY_NONE;
	for (uint32_t i = s->nlist; i-- > 0;) {
		e = &s->list[i];
		if (e->what == MAPLE_POLICY_ARRIVED || e->thread >= s->nnames)
			continue;
		hits = p->by_name[e->thread];
		if (!hits)
			hits = s->ops->memory(sizeof(*hits));
		p->by_name[e->thread] = hits;
		hit = hits ? maple_policy_hit(p, hits, e->site) : NULL;
		if (!hit) {
			s->counts->uncounted++;
			continue;
		}
		p->follows[i] = hit->entry;
		hit->entry = i;
		p->left++;
	}
	if (s->order->behind && !p->left)
		maple_policy_take_over(p, MAPLE_POLICY_NONE);
}

static void born(struct maple_policy *p, uint32_t t, uint32_t by)
{
	uint32_t name = p->thread[t].name;

	if (!p->thread_of || name == MAPLE_POLICY_NONE)
		return;
	p->thread_of[name] = t;
	if (p->by_name[name])
		p->thread[t].hits = p->by_name[name];
}

/*
 * The entry of @t for its @hits-th time at @site that is due, which is then
 * passed; or NULL.
 */
static const struct maple_policy_switch *take_at(struct maple_policy *p,
						 uint32_t t, uint32_t site,
						 uint32_t hits,
						 enum maple_policy_what what)
{
	struct maple_policy_hit *hit =
		maple_policy_hit(p, p->thread[t].hits, site);
	const struct maple_policy_switch *e;

	while (hit && hit->entry != MAPLE_POLICY_NONE) {
		e = &p->setup.list[hit->entry];
		if (e->hit > hits || (e->hit == hits && e->what > what))
			break;
		p->strays |= hit->entry < p->passed;
		p->passed = hit->entry;
		p->left--;
		hit->entry = p->follows[hit->entry];
		if (e->hit == hits && e->what == what)
			return e;
	}
	return NULL;
}

/* That it has gone on from a point is told before where it has come to. */
static const struct maple_policy_switch *
take(struct maple_policy *p, uint32_t t, enum maple_policy_what what)
{
	const struct maple_policy_thread *at = &p->thread[t];
	const struct maple_policy_switch *e;

	if (what == MAPLE_POLICY_BLOCKED) {
		e = take_at(p, t, at->op.site, at->hit, what);
		return e ? e
			 : take_at(p, t, at->op.site, at->hit,
				   MAPLE_POLICY_AFTER);
	}
	e = take_at(p, t, at->from, at->from_hit, MAPLE_POLICY_AFTER);
	return e ? e : take_at(p, t, at->op.site, at->hit, what);
}

/* The next one by turns, behind @t; itself if nobody else can go on. */
static uint32_t pick_turn(const struct maple_policy *p, uint32_t t, bool back)
{
	uint32_t next = MAPLE_POLICY_NONE, first = MAPLE_POLICY_NONE;

	for (uint32_t i = 0; i < p->ncandidates; i++) {
		uint32_t c = p->candidate[i];
		bool behind = back ? c < t : c > t;
		uint32_t *best = behind ? &next : &first;

		if (c != t && (*best == MAPLE_POLICY_NONE ||
			       (back ? c > *best : c < *best)))
			*best = c;
	}
	if (next != MAPLE_POLICY_NONE)
		return next;
	return first == MAPLE_POLICY_NONE ? t : first;
}

/* Who is the first to go on where the list says nothing. */
static uint32_t pick_first(const struct maple_policy *p, uint32_t t,
			   enum maple_policy_what what)
{
	uint32_t base = p->setup.order->base;
	bool youngest = base == MAPLE_POLICY_YOUNGEST;
	uint32_t first = MAPLE_POLICY_NONE;

	if (base == MAPLE_POLICY_TURNS || base == MAPLE_POLICY_TURNS_BACK)
		return pick_turn(p, t, base == MAPLE_POLICY_TURNS_BACK);
	for (uint32_t i = 0; i < p->ncandidates; i++) {
		if (p->candidate[i] == t && what == MAPLE_POLICY_AT)
			return t;
		if (first == MAPLE_POLICY_NONE ||
		    (p->candidate[i] > first) == youngest)
			first = p->candidate[i];
	}
	return first;
}

/* Whether @t, which stands at a point, goes on as an entry says. */
static bool goes_on(struct maple_policy *p, uint32_t t)
{
	return !p->setup.order->made || !maple_policy_is_early(p, t) ||
	       maple_policy_ends_early(p, t);
}

/* Who @e says; NONE: there is no entry, or who it names does not stand. */
static uint32_t follow(struct maple_policy *p, uint32_t t,
		       enum maple_policy_what what,
		       const struct maple_policy_switch *e)
{
	uint32_t next;

	if (e) {
		next = e->next < p->setup.nnames ? p->thread_of[e->next]
						 : MAPLE_POLICY_NONE;
		if (next != MAPLE_POLICY_NONE &&
		    (maple_policy_is_parked(p, next) ||
		     (next == t && what == MAPLE_POLICY_AT && goes_on(p, t)))) {
			p->setup.counts->followed++;
			if (p->setup.ops->follows)
				p->setup.ops->follows(e - p->setup.list, t,
						      next);
			return next;
		}
		p->setup.counts->missed++;
	}
	return MAPLE_POLICY_NONE;
}

static void spin(struct maple_policy *p, uint32_t t)
{
	p->spun = true;
}

static uint32_t pick(struct maple_policy *p, uint32_t t,
		     enum maple_policy_what what)
{
	const struct maple_policy_switch *e = p->thread_of ? take(p, t, what)
							   : NULL;
	uint32_t next = follow(p, t, what, e);

	p->strays |= (e || p->spun) && next == MAPLE_POLICY_NONE;
	p->spun = false;
	if (p->setup.order->behind && (p->strays || !p->left)) {
		maple_policy_take_over(
			p, what == MAPLE_POLICY_AT ? t : MAPLE_POLICY_NONE);
		if (next == MAPLE_POLICY_NONE && p->ncandidates > 1)
			return p->kind->pick(p, t, what);
	}
	return next == MAPLE_POLICY_NONE ? pick_first(p, t, what) : next;
}

const struct maple_policy_kind_ops maple_policy_list = {
	.start = start,
	.born = born,
	.spin = spin,
	.pick = pick,
};
