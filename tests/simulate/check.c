// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The checker: does the order that really was executed expose the iRoot? By
 * the observer's rules over the log (algorithms.md 4), byte by byte, knowing
 * nothing of plans, roles or holds.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simulate.h"

#define GRAINS	 (0x9000u / GRAIN)
#define MAX_DEPS 16384

struct grain {
	int writer;		 /* last entry that wrote it, -1: none */
	int reader[MAX_THREADS]; /* last read since, by thread */
};

/* Entry from, as kind, immediately before entry to, as kind. */
struct dep {
	int from, to;
	uint8_t from_kind, to_kind;
};

struct deps {
	int n;
	struct dep dep[MAX_DEPS];
};

static bool reads(const struct entry *e)
{
	return e->kind == MAPLE_EV_READ || e->kind == MAPLE_EV_UPDATE;
}

static bool writes(const struct entry *e)
{
	return e->kind != MAPLE_EV_READ;
}

/* What the half of @e that changes something is called. */
static uint8_t change_kind(const struct entry *e)
{
	return e->kind == MAPLE_EV_UPDATE ? MAPLE_EV_WRITE : e->kind;
}

static void dep_add(struct deps *deps, int from, int from_kind, int to,
		    int to_kind)
{
	assert(deps->n < MAX_DEPS);
	deps->dep[deps->n++] = (struct dep){ from, to, from_kind, to_kind };
}

static void grain_access(struct deps *deps, struct grain *g,
			 const struct log *log, int i)
{
	const struct entry *e = &log->e[i];
	bool read = false, between = false;

	for (int t = 0; t < MAX_THREADS; t++) {
		read |= g->reader[t] >= 0;
		between |= g->reader[t] >= 0 && g->reader[t] != g->writer;
	}
	if (reads(e) && g->reader[e->thread] < 0 && g->writer >= 0 &&
	    log->e[g->writer].thread != e->thread)
		dep_add(deps, g->writer, change_kind(&log->e[g->writer]), i,
			MAPLE_EV_READ);
	if (writes(e)) {
		for (int t = 0; t < MAX_THREADS; t++) {
			if (t != e->thread && g->reader[t] >= 0)
				dep_add(deps, g->reader[t], MAPLE_EV_READ, i,
					change_kind(e));
		}
		/* A writer that only itself has read since is its own read. */
		if ((!read || !between) && g->writer >= 0 &&
		    log->e[g->writer].thread != e->thread)
			dep_add(deps, g->writer, change_kind(&log->e[g->writer]),
				i, change_kind(e));
		for (int t = 0; t < MAX_THREADS; t++)
			g->reader[t] = -1;
		g->writer = i;
	}
	if (reads(e))
		g->reader[e->thread] = i;
}

static void deps_of(const struct log *log, struct deps *deps)
{
	static struct grain grain[GRAINS];

	memset(grain, 0xff, sizeof(grain)); /* -1 everywhere */
	deps->n = 0;
	for (int i = 0; i < log->n; i++) {
		const struct entry *e = &log->e[i];

		for (uint32_t at = e->addr / GRAIN;
		     at * GRAIN < e->addr + e->size; at++) {
			assert(at < GRAINS);
			grain_access(deps, &grain[at], log, i);
		}
	}
}

static bool meet(const struct log *log, int i, int j)
{
	return ranges_meet(log->e[i].addr, log->e[i].size, log->e[j].addr,
			   log->e[j].size);
}

/* A pair of one thread that touches neither end's location in between. */
static bool local_pair(const struct log *log, int i, int j)
{
	if (i >= j || log->e[i].thread != log->e[j].thread)
		return false;
	for (int x = i + 1; x < j; x++) {
		if (log->e[x].thread == log->e[i].thread &&
		    (meet(log, x, i) || meet(log, x, j)))
			return false;
	}
	return true;
}

static bool compound(const struct log *log, uint32_t idiom, int e0, int e1,
		     int e2, int e3)
{
	const struct entry *e = log->e;
	bool same = meet(log, e0, e2);
	bool crossed = e[e0].thread == e[e3].thread &&
		       e[e1].thread == e[e2].thread &&
		       e[e0].thread != e[e1].thread;

	switch (idiom) {
	case MAPLE_IDIOM_2: /* here e1 and e2 are the same entry */
		return e1 == e2 && e[e0].thread == e[e3].thread && same &&
		       meet(log, e0, e3) && local_pair(log, e0, e3);
	case MAPLE_IDIOM_3:
		return same && crossed && e1 < e2 && meet(log, e0, e3) &&
		       local_pair(log, e0, e3);
	case MAPLE_IDIOM_4:
		return !same && !meet(log, e0, e3) && crossed && e1 < e2 &&
		       local_pair(log, e0, e3);
	case MAPLE_IDIOM_5:
		return !same && !meet(log, e0, e3) && crossed &&
		       local_pair(log, e0, e3) && local_pair(log, e2, e1);
	case MAPLE_IDIOM_6:
		return !same && e[e0].thread == e[e2].thread &&
		       e[e1].thread == e[e3].thread &&
		       local_pair(log, e0, e2) && e1 < e3;
	default:
		return false;
	}
}

static bool dep_is(const struct log *log, const struct dep *d,
		   const struct maple_iroot *r, int from, int to)
{
	return log->e[d->from].site == r->e[from].site &&
	       log->e[d->to].site == r->e[to].site &&
	       d->from_kind == r->e[from].kind && d->to_kind == r->e[to].kind;
}

bool check_exposed(const struct log *log, const struct maple_iroot *iroot)
{
	static struct deps deps;
	bool three = iroot->idiom == MAPLE_IDIOM_2;

	deps_of(log, &deps);
	for (int i = 0; i < deps.n; i++) {
		const struct dep *x = &deps.dep[i];

		if (!dep_is(log, x, iroot, 0, 1))
			continue;
		if (iroot->idiom == MAPLE_IDIOM_1)
			return true;
		for (int j = 0; j < deps.n; j++) {
			const struct dep *y = &deps.dep[j];

			if (dep_is(log, y, iroot, three ? 1 : 2,
				   three ? 2 : 3) &&
			    compound(log, iroot->idiom, x->from, x->to, y->from,
				     y->to))
				return true;
		}
	}
	return false;
}

static bool took(const struct log *log, int t, const struct op *op,
		 uint32_t site)
{
	for (int i = 0; i < log->n; i++) {
		const struct entry *e = &log->e[i];

		if (e->thread == t && e->site == site &&
		    e->kind == MAPLE_EV_LOCK && e->addr == op->addr)
			return true;
	}
	return false;
}

/* P blocks at e3, which Q holds since e2; Q blocks at e1, P's since e0. */
bool check_deadlock(const struct program *p, const struct run *run,
		    const struct maple_iroot *iroot)
{
	for (int i = 0; i < p->nthreads * p->nthreads; i++) {
		int a = i / p->nthreads, b = i % p->nthreads;
		const struct op *x, *y;

		if (run->end != DEADLOCK || a == b || run->blocked_at[a] < 0 ||
		    run->blocked_at[b] < 0)
			continue;
		x = &p->op[a][run->blocked_at[a]];
		y = &p->op[b][run->blocked_at[b]];
		if (x->kind == OP_LOCK && y->kind == OP_LOCK &&
		    x->site == iroot->e[3].site && y->site == iroot->e[1].site &&
		    run->owner[x->object] == b && run->owner[y->object] == a &&
		    took(&run->log, a, y, iroot->e[0].site) &&
		    took(&run->log, b, x, iroot->e[2].site))
			return true;
	}
	return false;
}

static const struct self_test self_tests[] = {
	{ 1, "WR", "pWx0 qRx1", true },
	{ 1, "WR", "qRx1 pWx0", false },
	{ 1, "WR", "pWx0 rWx9 qRx1", false },
	{ 1, "WR", "pWx0 rRx9 qRx1", true },
	{ 1, "WR", "pWx0 qRx9 qRx1", false },
	{ 1, "WR", "pWx0 qRy1", false },
	{ 1, "WR", "pWx0 pRx1", false },
	{ 1, "WR", "pRx0 qRx1", false },
	{ 1, "RW", "pRx0 rRx9 qWx1", true },
	{ 1, "RW", "pRx0 pRx9 qWx1", false },
	{ 1, "RW", "pRx0 pWx9 qWx1", false },
	{ 1, "WW", "pWx0 qWx1", true },
	{ 1, "WW", "pWx0 rRx9 qWx1", false },
	{ 1, "WR", "pUx0 qRx1", true },
	{ 1, "RW", "pUx0 qUx1", true },
	{ 1, "WW", "pUx0 qUx1", true },
	{ 1, "WR", "pWx0 rUx9 qRx1", false },
	{ 1, "WR", "pWl0 qRh1", false },
	{ 1, "WR", "pWx0 rWl9 qRx1", true },
	{ 1, "WR", "pWl0 rWx9 qRx1", false },
	{ 1, "ML", "pMm0 qLm1", true },
	{ 1, "ML", "pMm0 rLm9 rMm8 qLm1", false },
	{ 2, "RWR", "pRx0 qWx1 pRx2", true },
	{ 2, "RWR", "pRx0 qWx1 rRx2", false },
	{ 2, "RWR", "pRx0 qWx1 qWx9 pRx2", false },
	{ 2, "RWW", "pUx0 qWx1 pUx2", true },
	{ 2, "RWW", "pUx0 qWx1 qRx9 pWx2", false },
	{ 3, "WRWR", "pWx0 qRx1 qWx2 pRx3", true },
	{ 3, "WRWR", "pWx0 qRx1 qWx2 qWx9 pRx3", false },
	{ 3, "WRWR", "pWx0 qRx1 rWx2 pRx3", false },
	{ 3, "WRWR", "pWx0 qRx1 pRx9 qWx2 pRx3", false },
	{ 4, "WRWR", "pWx0 qRx1 qWy2 pRy3", true },
	{ 4, "WRWR", "qWy2 pWx0 qRx1 pRy3", false },
	{ 4, "WRWR", "pWx0 pRy9 qRx1 qWy2 pRy3", false },
	{ 5, "WRWR", "pWx0 qWy2 qRx1 pRy3", true },
	{ 5, "WRWR", "qWy2 pWx0 pRy3 qRx1", true },
	{ 5, "WRWR", "pWx0 qWy2 qRy9 qRx1 pRy3", false },
	{ 5, "WRWR", "pWx0 qRx1 qWy2 pRy3", false },
	{ 6, "WRWR", "pWx0 qRx1 pWy2 qRy3", true },
	{ 6, "WRWR", "pWx0 pWy2 qRx1 qRy3", true },
	{ 6, "WRWR", "pWx0 pWx9 pWy2 qRx1 qRy3", false },
	{ 6, "WRWR", "pWx0 pWy2 qRy3 qRx1", false },
};

static uint32_t kind_of(char c)
{
	switch (c) {
	case 'R':
		return MAPLE_EV_READ;
	case 'W':
		return MAPLE_EV_WRITE;
	case 'U':
		return MAPLE_EV_UPDATE;
	case 'L':
		return MAPLE_EV_LOCK;
	default:
		return MAPLE_EV_UNLOCK;
	}
}

/*
 * One access: thread, unit if it has one, kind, variable, site. x and y are
 * variables, l and h the lower and upper half of x, m a mutex.
 */
static struct entry entry_of(const char *s)
{
	struct entry e = {
		.thread = *s++ - 'p',
		.addr = VAR_ADDR,
		.size = 2 * GRAIN,
	};

	if (*s >= '0' && *s <= '9')
		e.unit = (uint8_t)(*s++ - '0');
	e.kind = kind_of(s[0]);
	e.site = (uint32_t)(s[2] - '0');
	if (s[1] == 'y')
		e.addr += 16;
	if (s[1] == 'h')
		e.addr += GRAIN;
	if (s[1] == 'h' || s[1] == 'l')
		e.size = GRAIN;
	if (s[1] == 'm')
		e.addr = LOCK_ADDR;
	return e;
}

int self_test_with(bool (*exposed)(const struct log *log,
				   const struct maple_iroot *iroot),
		   const struct self_test *test, size_t n)
{
	static struct log log;
	int wrong = 0;

	for (; n; n--, test++) {
		struct maple_iroot iroot = { test->idiom };

		for (int e = 0; test->kinds[e]; e++) {
			iroot.e[e].site = e;
			iroot.e[e].kind = kind_of(test->kinds[e]);
		}
		log.n = 0;
		for (const char *s = test->log; s; s = strchr(s, ' ')) {
			s += *s == ' ';
			log.e[log.n++] = entry_of(s);
		}
		if (exposed(&log, &iroot) != test->exposed) {
			printf("self-test: idiom %u: '%s' is judged wrongly\n",
			       test->idiom, test->log);
			wrong++;
		}
	}
	return wrong;
}

int check_self_test(void)
{
	return self_test_with(check_exposed, self_tests,
			      sizeof(self_tests) / sizeof(*self_tests));
}
