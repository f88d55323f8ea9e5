// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * All ways to do any iRoot in a program, from the accesses of each two
 * threads, and of these a sample that the search proves feasible.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "predict/sets/state.h"
#include "simulate.h"

#define MAX_WAYS 40 /* of one iRoot that are searched */

struct access {
	int index;
	uint32_t kind; /* an UPDATE is listed as READ and as WRITE */
	const struct op *op;
};

struct accesses {
	int n;
	struct access a[2 * MAX_OPS];
};

static void collect(const struct program *p, int t, struct accesses *list)
{
	list->n = 0;
	for (int i = 0; i < p->nops[t]; i++) {
		const struct op *op = &p->op[t][i];

		if (!op_is_access(op))
			continue;
		for (uint32_t kind = MAPLE_EV_READ; kind <= MAPLE_EV_UNLOCK;
		     kind++) {
			bool half = op->access == MAPLE_EV_UPDATE &&
				    kind <= MAPLE_EV_WRITE;

			if (half ||
			    (op->access == kind && kind != MAPLE_EV_UPDATE))
				list->a[list->n++] =
					(struct access){ i, kind, op };
		}
	}
}

static bool same(const struct access *x, const struct access *y)
{
	return ranges_meet(x->op->addr, x->op->size, y->op->addr, y->op->size);
}

static bool conflict(const struct access *x, const struct access *y)
{
	uint32_t a = x->kind, b = y->kind;

	return (a == MAPLE_EV_READ && b == MAPLE_EV_WRITE) ||
	       (a == MAPLE_EV_WRITE && b <= MAPLE_EV_WRITE) ||
	       (a == MAPLE_EV_UNLOCK && b == MAPLE_EV_LOCK);
}

/* x then y on one location, in conflict. */
static bool edge(const struct access *x, const struct access *y)
{
	return same(x, y) && conflict(x, y);
}

static bool local_pair(const struct accesses *list, const struct access *x,
		       const struct access *y)
{
	for (int i = 0; i < list->n; i++) {
		const struct access *z = &list->a[i];

		if (z->index > x->index && z->index < y->index &&
		    (same(z, x) || same(z, y)))
			return false;
	}
	return x->index < y->index;
}

static void add(struct tuples *list, int idiom, int p, int q,
		const struct access *const *e)
{
	struct tuple *t;

	if (list->n == list->max) {
		list->max = list->max ? 2 * list->max : 1024;
		list->tuple =
			realloc(list->tuple, list->max * sizeof(*list->tuple));
		assert(list->tuple);
	}
	t = &list->tuple[list->n++];
	memset(t, 0, sizeof(*t));
	t->iroot.idiom = idiom;
	t->p = p;
	t->q = q;
	for (unsigned int i = 0; i < maple_iroot_events(idiom); i++) {
		t->iroot.e[i].site = e[i]->op->site;
		t->iroot.e[i].kind = e[i]->kind;
		t->index[i] = e[i]->index;
	}
}

/* The orders of algorithms.md 17 that P's (a, d) and Q's (b, c) have. */
static void add_set(struct tuples *list, int p, int q,
		    const struct access *const *e, int first, int last)
{
	for (int idiom = first; idiom <= last; idiom++)
		for (int r = 0; r < MAPLE_SET_ROWS; r++) {
			const struct maple_set_row *row = &maple_set_rows[r];
			bool fits = row->idiom == idiom;

			for (unsigned int i = 0;
			     i < maple_iroot_events(idiom) && fits; i++)
				fits = e[i]->kind == row->kind[i];
			if (fits)
				add(list, idiom, p, q, e);
		}
}

/* P has a before d in one unit; Q has b, and what it has besides in its. */
static void add_units(struct tuples *list, int p, int q, const struct access *a,
		      const struct access *d, const struct access *b,
		      const struct accesses *qs)
{
	if (!a->op->unit || a->op->unit != d->op->unit || !b->op->unit ||
	    a->index >= d->index || !same(a, b))
		return;
	if (same(a, d)) {
		add_set(list, p, q, (const struct access *[]){ a, b, d },
			MAPLE_SET_1, MAPLE_SET_1);
		return;
	}
	for (int i = 0; i < qs->n; i++) {
		const struct access *c = &qs->a[i];
		const struct access *const e[] = { a, b, c, d };

		if (c->op->unit != b->op->unit || c->index == b->index ||
		    !same(c, d) || same(c, a) || same(b, d))
			continue;
		if (b->index < c->index)
			add_set(list, p, q, e, MAPLE_SET_2, MAPLE_SET_2);
		else
			add_set(list, p, q, e, MAPLE_SET_3, MAPLE_SET_4);
	}
}

/* What P's pair (a, d) and Q's accesses b, then c, make together. */
static void add_crossed(struct tuples *list, int p, int q,
			const struct access *a, const struct access *d,
			const struct access *b, const struct access *c,
			bool q_pair)
{
	bool mem = a->kind <= MAPLE_EV_WRITE && d->kind <= MAPLE_EV_WRITE;
	bool free_take = a->kind == MAPLE_EV_UNLOCK && d->kind == MAPLE_EV_LOCK;
	bool frees = a->kind == MAPLE_EV_UNLOCK && d->kind == MAPLE_EV_UNLOCK;
	bool takes = a->kind == MAPLE_EV_LOCK && d->kind == MAPLE_EV_LOCK;
	bool one = same(a, d);
	bool apart = !one && !same(a, c) && !same(b, d) && !same(b, c);
	bool apart_x = !one && !same(a, b) && !same(c, d) && !same(b, c);

	if ((mem || free_take) && edge(a, b) && edge(c, d)) {
		if (one && same(a, c))
			add(list, MAPLE_IDIOM_3, p, q,
			    (const struct access *[]){ a, b, c, d });
		else if (apart)
			add(list, MAPLE_IDIOM_4, p, q,
			    (const struct access *[]){ a, b, c, d });
	}
	if ((mem || free_take) && apart_x && q_pair && edge(b, d) && edge(a, c))
		add(list, MAPLE_IDIOM_5, p, q,
		    (const struct access *[]){ a, c, b, d });
	if ((mem || frees) && apart && edge(a, b) && edge(d, c))
		add(list, MAPLE_IDIOM_6, p, q,
		    (const struct access *[]){ a, b, d, c });
	if (takes && apart_x && q_pair && b->kind == MAPLE_EV_LOCK &&
	    c->kind == MAPLE_EV_LOCK && same(b, d) && same(a, c) &&
	    d->op->kind == OP_LOCK && c->op->kind == OP_LOCK &&
	    !a->op->shared && !b->op->shared)
		add(list, MAPLE_IDIOM_DEADLOCK, p, q,
		    (const struct access *[]){ a, c, b, d });
}

static void add_pairs(struct tuples *list, int p, int q,
		      const struct accesses *ps, const struct accesses *qs)
{
	for (int x = 0; x < ps->n; x++) {
		const struct access *a = &ps->a[x];

		for (int u = 0; u < qs->n; u++) {
			if (edge(a, &qs->a[u]))
				add(list, MAPLE_IDIOM_1, p, q,
				    (const struct access *[]){ a, &qs->a[u] });
		}
		for (int y = x + 1; y < ps->n; y++) {
			const struct access *d = &ps->a[y];

			for (int u = 0; u < qs->n; u++)
				add_units(list, p, q, a, d, &qs->a[u], qs);
			if (!local_pair(ps, a, d))
				continue;
			for (int u = 0; u < qs->n; u++) {
				const struct access *b = &qs->a[u];

				if (same(a, d) && a->kind <= MAPLE_EV_WRITE &&
				    edge(a, b) && edge(b, d))
					add(list, MAPLE_IDIOM_2, p, q,
					    (const struct access *[]){ a, b,
								       d });
				for (int v = u + 1; v < qs->n; v++) {
					if (b->index == qs->a[v].index)
						continue;
					add_crossed(
						list, p, q, a, d, b, &qs->a[v],
						local_pair(qs, b, &qs->a[v]));
				}
			}
		}
	}
}

static int compare(const void *x, const void *y)
{
	return memcmp(&((const struct tuple *)x)->iroot,
		      &((const struct tuple *)y)->iroot,
		      sizeof(struct maple_iroot));
}

static void shuffle(struct random *r, struct tuple *t, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int j = random_below(r, i + 1);
		struct tuple swap = t[i];

		t[i] = t[j];
		t[j] = swap;
	}
}

/* One feasible way of the iRoot whose ways are @t[0 .. n). */
static bool any_way(const struct program *p, struct random *r, struct tuple *t,
		    int n, struct tuple *way)
{
	shuffle(r, t, n);
	for (int i = 0; i < n && i < MAX_WAYS; i++) {
		if (search_tuple(p, &t[i])) {
			*way = t[i];
			return true;
		}
	}
	return false;
}

struct group {
	int at, n, key;
};

static int compare_group(const void *x, const void *y)
{
	return ((const struct group *)x)->key - ((const struct group *)y)->key;
}

void search_feasible(const struct program *p, struct random *r, int cap,
		     struct tuples *list)
{
	struct tuples all = { 0 };
	struct group *group;
	int ngroups = 0, got[MAPLE_IDIOMS] = { 0 };

	for (int i = 0; i < p->nthreads * p->nthreads; i++) {
		struct accesses ps, qs;
		int a = i / p->nthreads, b = i % p->nthreads;

		if (a == b)
			continue;
		collect(p, a, &ps);
		collect(p, b, &qs);
		add_pairs(&all, a, b, &ps, &qs);
	}
	list->n = 0;
	if (!all.n)
		return;
	qsort(all.tuple, all.n, sizeof(*all.tuple), compare);
	group = calloc(all.n, sizeof(*group));
	assert(group);
	for (int i = 0; i < all.n; i++) {
		if (!i || compare(&all.tuple[i], &all.tuple[i - 1]))
			group[ngroups++] =
				(struct group){ i, 0,
						random_next(r) & 0x3fffffff };
		group[ngroups - 1].n++;
	}
	qsort(group, ngroups, sizeof(*group), compare_group);
	for (int g = 0; g < ngroups; g++) {
		struct tuple *first = &all.tuple[group[g].at];
		unsigned int idiom = first->iroot.idiom;
		struct tuple way;

		if (got[idiom] >= cap || !any_way(p, r, first, group[g].n, &way))
			continue;
		got[idiom]++;
		if (list->n == list->max) {
			list->max = list->max ? 2 * list->max : 64;
			list->tuple =
				realloc(list->tuple, list->max * sizeof(way));
			assert(list->tuple);
		}
		list->tuple[list->n++] = way;
	}
	free(group);
	free(all.tuple);
}
