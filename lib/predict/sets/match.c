// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which orders of two units no serial order has (Lai, Cheung, Chan: Detecting
 * Atomic-Set Serializability Violations in Multithreaded Programs through
 * Active Randomized Testing, ICSE 2010; the twelfth row is ours), and which
 * of them the program could have: happens-before, without locks, leaves them
 * open, and wherever one of the two goes on after the other it has released, in
 * between, each lock that it held before and goes on to hold, and that the
 * other holds as well. One of these released is not enough.
 *
 * On: two units of two threads on one set. Not for: what is harmless all the
 * same, which nobody can tell.
 */
#include <assert.h>
#include <string.h>
#include "state.h"

#define STEPS  (1u << 21) /* of a run */
#define IROOTS (1u << 16)

/* Events of an iRoot, by the accesses that they would be. */
struct trial {
	uint8_t idiom;
	const struct maple_touch *e[MAPLE_IROOT_EVENTS];
	uint16_t thread[MAPLE_IROOT_EVENTS];
};

static bool overlap(const struct maple_touch *a, const struct maple_touch *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

static bool is_q(const struct maple_set_form *form, unsigned int event)
{
	return form->q >> event & 1;
}

/* No two that happens-before orders would come the other way round. */
static bool is_open(const struct maple_set_form *form, const struct trial *t)
{
	for (unsigned int i = 0; i < form->n; i++)
		for (unsigned int k = i + 1; k < form->n; k++) {
			unsigned int a = form->order[i], b = form->order[k];

			if (is_q(form, a) != is_q(form, b) &&
			    maple_epoch_before(t->e[b]->epoch, t->e[a]->epoch))
				return false;
		}
	return true;
}

/* Whether @other needs lock @i of @set to itself, or @set has it so. */
static bool excludes(const struct maple_lockset *set, uint32_t i,
		     const struct maple_lockset *other)
{
	for (uint32_t k = 0; k < other->n; k++)
		if (other->held[k].lock == set->held[i].lock)
			return !other->held[k].shared || !set->held[i].shared;
	return false;
}

/* Whether @a and @b are in one section that keeps @between out. */
static bool kept_out(const struct maple_lockset *a,
		     const struct maple_lockset *b,
		     const struct maple_lockset *between)
{
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++)
			if (a->held[i].section == b->held[k].section &&
			    excludes(a, i, between))
				return true;
	return false;
}

static bool is_unlocked(const struct maple_set_form *form, const struct trial *t)
{
	for (unsigned int i = 0; i < form->n; i++)
		for (unsigned int k = i + 2; k < form->n; k++) {
			unsigned int a = form->order[i], b = form->order[k];

			if (is_q(form, a) != is_q(form, b))
				continue;
			for (unsigned int x = i + 1; x < k; x++) {
				unsigned int m = form->order[x];

				if (is_q(form, m) != is_q(form, a) &&
				    kept_out(t->e[a]->locks, t->e[b]->locks,
					     t->e[m]->locks))
					return false;
			}
		}
	return true;
}

/* Whether no lock is common to two that conflict. */
static bool is_disjoint(const struct maple_set_form *form, const struct trial *t)
{
	for (unsigned int i = 0; i < form->n; i++)
		for (unsigned int k = 0; k < form->n; k++) {
			const struct maple_lockset *a = t->e[i]->locks;

			if (is_q(form, i) == is_q(form, k))
				continue;
			for (uint32_t l = 0; l < a->n; l++)
				if (excludes(a, l, t->e[k]->locks))
					return false;
		}
	return true;
}

static void end_of(const struct trial *t, unsigned int i,
		   struct maple_predict_end *end)
{
	const struct maple_touch *touch = t->e[i];

	*end = (struct maple_predict_end){
		.thread = t->thread[i],
		.occurrence = touch->occurrence,
		.class = MAPLE_SITE_NONE,
		.nclasses = 1,
		.class_site = { MAPLE_SITE_NONE },
		.class_occurrence = { touch->occurrence },
		.ngates = touch->gate != MAPLE_SITE_NONE,
		.gate = { touch->gate },
	};
}

static void report(struct maple_sets *sets, const struct maple_set_form *form,
		   const struct trial *t, const uint8_t *kind)
{
	struct maple_iroot iroot = { .idiom = t->idiom };
	struct maple_sets_found *found;

	for (unsigned int i = 0; i < form->n; i++) {
		iroot.e[i].site = t->e[i]->site;
		iroot.e[i].kind = kind[i];
	}
	HASH_FIND(hh, sets->found, &iroot, sizeof(iroot), found);
	if (found)
		return;
	if (HASH_COUNT(sets->found) == IROOTS) {
		sets->stats.cut_iroots++;
		return;
	}
	found = calloc(1, sizeof(*found));
	if (!found) {
		sets->stats.no_memory++;
		return;
	}
	found->iroot = iroot;
	found->facts.unserializable = true;
	found->facts.disjoint = is_disjoint(form, t);
	for (unsigned int i = 0; i < form->n; i++)
		end_of(t, i, &found->facts.e[i]);
	HASH_ADD(hh, sets->found, iroot, sizeof(iroot), found);
	if (!found->hh.tbl) {
		free(found);
		sets->stats.no_memory++;
		return;
	}
	sets->stats.predicted++;
}

static bool all_atomic(const struct maple_set_form *form, const struct trial *t)
{
	for (unsigned int i = 0; i < form->n; i++)
		if (!t->e[i]->atomic)
			return false;
	return true;
}

/* The events are there; which rows are they, and can it be? */
static void weigh(struct maple_sets *sets, struct trial *t)
{
	const struct maple_set_form *form = maple_set_form(t->idiom);
	int can = -1; /* not known yet */

	assert(form);
	for (unsigned int r = 0; r < MAPLE_SET_ROWS; r++) {
		const struct maple_set_row *row = &maple_set_rows[r];
		bool fits = row->idiom == t->idiom;

		for (unsigned int i = 0; i < form->n && fits; i++)
			fits = t->e[i]->kinds & row->kind[i];
		if (fits && can < 0)
			can = !all_atomic(form, t) && is_open(form, t) &&
			      is_unlocked(form, t);
		if (fits && can)
			report(sets, form, t, row->kind);
	}
}

/*
 * Whether two accesses of a unit, to two locations, may be to one set: what
 * lies beside each other need not belong together. Two locations that different
 * locks keep are no set, unless somebody has @declared it. Where one alone is
 * kept by any the other's lock may have been forgotten.
 */
static bool belong(const struct maple_touch *a, const struct maple_touch *b,
		   bool declared)
{
	if (declared || !a->locks->n || !b->locks->n)
		return true;
	for (uint32_t i = 0; i < a->locks->n; i++)
		for (uint32_t k = 0; k < b->locks->n; k++)
			if (a->locks->held[i].lock == b->locks->held[k].lock)
				return true;
	return false;
}

/* P has @a before @b; what Q did to the location of both, or to one of each. */
static void match_pair(struct maple_sets *sets, const struct maple_done *p,
		       uint32_t i, uint32_t j, const struct maple_done *q,
		       bool declared)
{
	const struct maple_touch *a = &p->touch[i], *b = &p->touch[j];
	struct trial t = { .thread = { p->thread, q->thread, q->thread,
				       p->thread } };
	bool same = overlap(a, b);

	if (!same && !belong(a, b, declared))
		return;
	for (uint32_t k = 0; k < q->n; k++) {
		const struct maple_touch *x = &q->touch[k];

		sets->stats.steps++;
		if (!overlap(a, x) || overlap(b, x) != same)
			continue;
		t.e[0] = a;
		t.e[1] = x;
		t.e[2] = b;
		t.e[3] = NULL;
		t.idiom = MAPLE_SET_1;
		t.thread[2] = p->thread;
		if (same) {
			weigh(sets, &t);
			continue;
		}
		t.thread[2] = q->thread;
		t.e[3] = b;
		for (uint32_t l = 0; l < q->n; l++) {
			const struct maple_touch *y = &q->touch[l];

			sets->stats.steps++;
			if (l == k || !overlap(b, y) || overlap(a, y) ||
			    overlap(x, y) || !belong(x, y, declared))
				continue;
			t.e[2] = y;
			t.idiom = k < l ? MAPLE_SET_2 : MAPLE_SET_3;
			weigh(sets, &t);
			t.idiom = MAPLE_SET_4;
			if (l < k)
				weigh(sets, &t);
		}
	}
}

/*
 * maple_sets_match - the orders in which unit @q gets into unit @p
 * @declared: the user has said that they are on one set
 */
void maple_sets_match(struct maple_sets *sets, const struct maple_done *p,
		      const struct maple_done *q, bool declared)
{
	assert(p->thread != q->thread && p->n && q->n);
	if (sets->stats.steps >= STEPS) {
		sets->stats.cut_matches++;
		return;
	}
	if (maple_epoch_before(q->touch[q->n - 1].epoch, p->touch[0].epoch) ||
	    maple_epoch_before(p->touch[p->n - 1].epoch, q->touch[0].epoch))
		return;
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t j = i + 1; j < p->n; j++)
			match_pair(sets, p, i, j, q, declared);
}
