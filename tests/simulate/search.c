// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The exhaustive search: which orders a program allows at all. Operations are
 * straight lines, so the positions of all threads are the whole state (what
 * is locked, which event has come, follows from them); a graph search over
 * positions says whether some order keeps a tuple's dependencies immediate.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "predict/sets/state.h"
#include "simulate.h"

#define TABLE	   (1u << 20)
#define MAX_STATES 400000 /* beyond: taken for infeasible */

struct need { /* operation to follows from immediately */
	int from_thread, from, to_thread, to;
	uint32_t from_kind, to_kind;
	uint32_t addr, size; /* what both touch */
};

struct goal {
	const struct program *p;
	int nneeds;
	struct need need[2];
	bool ordered; /* the musts come one after the other */
	int nmust;
	int must_thread[MAPLE_IROOT_EVENTS], must[MAPLE_IROOT_EVENTS];
	bool deadlock; /* stand before the musts instead of passing them */
};

typedef uint8_t position[MAX_THREADS + 3];

struct space {
	uint32_t stamp;
	int nstates, nstack;
	uint32_t stamps[TABLE];
	uint64_t keys[TABLE];
	position stack[MAX_STATES + 1];
};

static struct space space;

static bool space_add(const position at)
{
	uint64_t key;
	uint32_t i;

	memcpy(&key, at, sizeof(key));
	i = (key * 0x9e3779b97f4a7c15ull) >> 44;
	while (space.stamps[i % TABLE] == space.stamp) {
		if (space.keys[i % TABLE] == key)
			return false;
		i++;
	}
	space.stamps[i % TABLE] = space.stamp;
	space.keys[i % TABLE] = key;
	memcpy(space.stack[space.nstack++], at, sizeof(position));
	space.nstates++;
	return true;
}

/* What thread @t holds of @lock at @at: 0 nothing, 1 shared, 2 alone. */
static int holds(const struct program *p, const position at, int t, int lock)
{
	int held = 0;

	for (int i = 0; i < at[t]; i++) {
		const struct op *op = &p->op[t][i];

		if (op->object != lock)
			continue;
		if (op->kind == OP_LOCK || op->kind == OP_TRYLOCK ||
		    op->kind == OP_CWAKE)
			held = op->shared ? 1 : 2;
		if (op->kind == OP_UNLOCK || op->kind == OP_CWAIT)
			held = 0;
	}
	return held;
}

static bool lock_free(const struct program *p, const position at, int t,
		      const struct op *op)
{
	for (int u = 0; u < p->nthreads; u++) {
		int held = u == t ? 0 : holds(p, at, u, op->object);

		if (held == 2 || (held == 1 && !op->shared))
			return false;
	}
	return true;
}

static bool passed(const struct program *p, const position at, int kind, int id)
{
	for (int u = 0; u < p->nthreads; u++) {
		for (int i = 0; i < at[u]; i++) {
			const struct op *op = &p->op[u][i];

			if (op->kind == kind &&
			    (kind == OP_SET ? op->event : op->object) == id)
				return true;
		}
	}
	return false;
}

static bool barrier_full(const struct program *p, const position at)
{
	for (int u = 0; u < p->nthreads; u++) {
		for (int i = at[u] + 1; i < p->nops[u]; i++) {
			if (p->op[u][i].kind == OP_BARRIER)
				return false;
		}
	}
	return true;
}

/* Where @t's next operation leads to; -1 if it cannot run now. */
static int next_of(const struct program *p, const position at, int t)
{
	const struct op *op = &p->op[t][at[t]];
	int go = at[t] + 1;

	if (at[t] >= p->nops[t] || (t && !passed(p, at, OP_CREATE, t)))
		return -1;
	switch (op->kind) {
	case OP_LOCK:
		return lock_free(p, at, t, op) ? go : -1;
	case OP_TRYLOCK:
		return lock_free(p, at, t, op) ? go : op->target;
	case OP_CWAIT:
		return passed(p, at, OP_SET, op->event) ? op->target : go;
	case OP_CWAKE:
		return passed(p, at, OP_SET, op->event) &&
				       lock_free(p, at, t, op)
			       ? go
			       : -1;
	case OP_WAIT:
	case OP_SPIN:
		return passed(p, at, OP_SET, op->event) ? go : -1;
	case OP_JOIN:
		return at[op->object] >= p->nops[op->object] ? go : -1;
	case OP_BARRIER:
		return barrier_full(p, at) ? go : -1;
	default:
		return go;
	}
}

/* Whether @t's access @op comes between the ends of @need and breaks it. */
static bool breaks(const struct need *need, int t, const struct op *op)
{
	bool is_lock = op->addr >= LOCK_ADDR;

	if (!ranges_meet(need->addr, need->size, op->addr, op->size))
		return false;
	if (is_lock || op->access != MAPLE_EV_READ)
		return true;
	if (need->from_kind == MAPLE_EV_READ)
		return t == need->from_thread;
	return need->to_kind == MAPLE_EV_WRITE || t == need->to_thread;
}

static bool skips(const struct goal *goal, int t, int from, int to)
{
	for (int i = 0; i < goal->nneeds; i++) {
		const struct need *n = &goal->need[i];

		if ((n->from_thread == t && n->from >= from && n->from < to) ||
		    (n->to_thread == t && n->to >= from && n->to < to))
			return true;
	}
	for (int i = 0; i < goal->nmust; i++) {
		if (goal->must_thread[i] == t && goal->must[i] >= from &&
		    goal->must[i] < to)
			return true;
	}
	return false;
}

static bool allowed(const struct goal *goal, const position at, int t, int to)
{
	const struct op *op = &goal->p->op[t][at[t]];
	bool skip = to != at[t] + 1;

	if (skip)
		return !skips(goal, t, at[t], to);
	for (int i = 0; i < goal->nneeds && op_is_access(op); i++) {
		const struct need *n = &goal->need[i];
		bool from_done = at[n->from_thread] > n->from;
		bool to_done = at[n->to_thread] > n->to;

		if (t == n->to_thread && at[t] == n->to) {
			if (!from_done)
				return false;
		} else if (from_done && !to_done && breaks(n, t, op)) {
			return false;
		}
	}
	for (int i = 1; i < goal->nmust && goal->ordered; i++) {
		if (t == goal->must_thread[i] && at[t] == goal->must[i] &&
		    at[goal->must_thread[i - 1]] <= goal->must[i - 1])
			return false;
	}
	for (int i = 0; i < goal->nmust && goal->deadlock; i++) {
		if (t == goal->must_thread[i] && at[t] == goal->must[i])
			return false;
	}
	return true;
}

static bool reached(const struct goal *goal, const position at)
{
	for (int i = 0; i < goal->nmust; i++) {
		int pc = at[goal->must_thread[i]];

		if (goal->deadlock ? pc != goal->must[i] : pc <= goal->must[i])
			return false;
	}
	return true;
}

static bool feasible(const struct goal *goal)
{
	position at = { 0 };

	space.stamp++;
	space.nstates = space.nstack = 0;
	space_add(at);
	while (space.nstack && space.nstates < MAX_STATES - MAX_THREADS) {
		memcpy(at, space.stack[--space.nstack], sizeof(at));
		if (reached(goal, at))
			return true;
		for (int t = 0; t < goal->p->nthreads; t++) {
			int to = next_of(goal->p, at, t);
			int was = at[t];

			if (to < 0 || !allowed(goal, at, t, to))
				continue;
			/* All leave a barrier together. */
			if (goal->p->op[t][was].kind == OP_BARRIER) {
				position all;

				memcpy(all, at, sizeof(all));
				for (int u = 0; u < goal->p->nthreads; u++)
					all[u] += goal->p->op[u][at[u]].kind ==
						  OP_BARRIER;
				space_add(all);
				continue;
			}
			at[t] = to;
			space_add(at);
			at[t] = was;
		}
	}
	return false;
}

static void need_add(struct goal *goal, const struct tuple *t, int from, int to,
		     int from_thread, int to_thread)
{
	struct need *n = &goal->need[goal->nneeds++];
	const struct op *x = &goal->p->op[from_thread][t->index[from]];
	const struct op *y = &goal->p->op[to_thread][t->index[to]];
	uint32_t end = x->addr + x->size < y->addr + y->size
			       ? x->addr + x->size
			       : y->addr + y->size;

	*n = (struct need){
		.from_thread = from_thread,
		.from = t->index[from],
		.to_thread = to_thread,
		.to = t->index[to],
		.from_kind = t->iroot.e[from].kind,
		.to_kind = t->iroot.e[to].kind,
		.addr = x->addr > y->addr ? x->addr : y->addr,
	};
	n->size = end - n->addr;
}

static void must_add(struct goal *goal, int thread, int index)
{
	goal->must_thread[goal->nmust] = thread;
	goal->must[goal->nmust++] = index;
}

bool search_tuple(const struct program *p, const struct tuple *t)
{
	struct goal goal = { .p = p };
	const int *index = t->index;

	if (t->iroot.idiom == MAPLE_IDIOM_DEADLOCK) {
		goal.deadlock = true;
		must_add(&goal, t->p, index[3]);
		must_add(&goal, t->q, index[1]);
		return feasible(&goal);
	}
	if (t->iroot.idiom >= MAPLE_SET_1) {
		const struct maple_set_form *form =
			maple_set_form(t->iroot.idiom);

		goal.ordered = true;
		for (unsigned int i = 0; i < form->n; i++) {
			unsigned int e = form->order[i];

			must_add(&goal, form->q >> e & 1 ? t->q : t->p,
				 index[e]);
		}
		return feasible(&goal);
	}
	need_add(&goal, t, 0, 1, t->p, t->q);
	switch (t->iroot.idiom) {
	case MAPLE_IDIOM_1:
		must_add(&goal, t->q, index[1]);
		break;
	case MAPLE_IDIOM_2:
		need_add(&goal, t, 1, 2, t->q, t->p);
		must_add(&goal, t->p, index[2]);
		break;
	case MAPLE_IDIOM_6:
		need_add(&goal, t, 2, 3, t->p, t->q);
		must_add(&goal, t->q, index[3]);
		break;
	default:
		need_add(&goal, t, 2, 3, t->q, t->p);
		must_add(&goal, t->p, index[3]);
		must_add(&goal, t->q, index[1]);
	}
	return feasible(&goal);
}
