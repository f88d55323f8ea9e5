// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Small programs that are made up, and carried out on paper: threads that
 * access few variables, under locks and not, and wait for each other. What must
 * be true of each event is noted as it happens, not read off the trace.
 */
#include <assert.h>
#include <string.h>
#include "order.h"

#define LOCKS	3
#define CONDS	2
#define BYTES	16 /* of memory */
#define MEMORY	0x1000
#define LOCK_AT 0x2000
#define COND_AT 0x3000

static uint64_t state;

void dice_seed(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull + 1;
}

uint32_t dice(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(((state >> 33) * n) >> 31);
}

struct op {
	uint8_t kind;
	bool shared;
	uint32_t what; /* lock, condition, thread, or first byte */
	uint32_t size;
};

struct program {
	uint32_t nthreads, nlocks, nvariables;
	uint32_t at[4], size[4]; /* of variables */
	struct op op[THREADS][OPS];
	uint32_t nops[THREADS];
	bool overlaps;
};

struct writing {
	struct program *g;
	uint32_t t;
	uint32_t held[4], nheld; /* locks, in order */
	bool shared[4];
};

static bool room(const struct writing *w, uint32_t more)
{
	return w->g->nops[w->t] + more + w->nheld + THREADS <= OPS;
}

static void put(struct writing *w, uint8_t kind, bool shared, uint32_t what,
		uint32_t size)
{
	uint32_t *n = &w->g->nops[w->t];

	assert(*n < OPS);
	w->g->op[w->t][(*n)++] = (struct op){ kind, shared, what, size };
}

static void write_access(struct writing *w)
{
	static const uint8_t kinds[] = { MAPLE_EV_READ, MAPLE_EV_READ,
					 MAPLE_EV_WRITE, MAPLE_EV_WRITE,
					 MAPLE_EV_UPDATE };
	uint32_t v = dice(w->g->nvariables);

	if (room(w, 1))
		put(w, kinds[dice(5)], false, w->g->at[v], w->g->size[v]);
}

static void write_lock(struct writing *w)
{
	uint32_t lock = dice(w->g->nlocks);
	bool shared = lock == 0 && dice(2);

	if (w->nheld == 3 || !room(w, 2))
		return;
	/* Again by who has it: a mutex may be recursive. */
	for (uint32_t i = 0; i < w->nheld; i++)
		if (w->held[i] == lock && lock == 0)
			return;
	put(w, MAPLE_EV_LOCK, shared, lock, 0);
	w->shared[w->nheld] = shared;
	w->held[w->nheld++] = lock;
}

static void write_unlock(struct writing *w)
{
	if (!w->nheld)
		return;
	w->nheld--;
	put(w, MAPLE_EV_UNLOCK, w->shared[w->nheld], w->held[w->nheld], 0);
}

static void write_wait(struct writing *w)
{
	uint32_t lock, cond = dice(CONDS);

	if (w->nheld != 1 || w->held[0] == 0 || !room(w, 4))
		return;
	lock = w->held[0];
	put(w, MAPLE_EV_WAIT, false, cond, 0);
	put(w, MAPLE_EV_UNLOCK, false, lock, 0);
	put(w, MAPLE_EV_WAKE, false, cond, 0);
	put(w, MAPLE_EV_LOCK, false, lock, 0);
}

static void write_body(struct writing *w, uint32_t items)
{
	for (uint32_t i = 0; i < items; i++) {
		uint32_t what = dice(20);

		if (what < 12 || !w->g->nlocks)
			write_access(w);
		else if (what < 15)
			write_lock(w);
		else if (what < 17)
			write_unlock(w);
		else if (what < 18)
			write_wait(w);
		else if (room(w, 1))
			put(w, dice(2) ? MAPLE_EV_SIGNAL : MAPLE_EV_BROADCAST,
			    false, dice(CONDS), 0);
	}
}

static void write_thread(struct program *g, uint32_t t)
{
	struct writing w = { .g = g, .t = t };

	if (t)
		put(&w, MAPLE_EV_START, false, 0, 0);
	for (uint32_t i = 1; i < g->nthreads && !t; i++) {
		write_body(&w, dice(3));
		put(&w, MAPLE_EV_CREATE, false, i, 0);
	}
	write_body(&w, 2 + dice(g->nvariables < 3 ? 14 : 8));
	while (w.nheld)
		write_unlock(&w);
	for (uint32_t i = 1; i < g->nthreads && !t; i++)
		if (dice(2)) {
			put(&w, MAPLE_EV_JOIN, false, i, 0);
			write_access(&w);
		}
	if (t)
		put(&w, MAPLE_EV_EXIT, false, 0, 0);
}

static void make(struct program *g)
{
	*g = (struct program){ .nthreads = 2 + dice(THREADS - 1),
			       .nlocks = dice(LOCKS + 1),
			       .nvariables = 1 + dice(dice(2) ? 2 : 4),
			       .overlaps = dice(3) == 0 };
	for (uint32_t i = 0; i < g->nvariables; i++) {
		g->size[i] = 1 + dice(8);
		g->at[i] = g->overlaps ? dice(BYTES - 8) : 0;
		if (!g->overlaps) {
			g->size[i] = 4;
			g->at[i] = 4 * i;
		}
	}
	for (uint32_t t = 0; t < g->nthreads; t++)
		write_thread(g, t);
}

/* ---- A run. ---- */

struct machine {
	const struct program *g;
	struct paper *p;
	uint32_t pc[THREADS];
	uint32_t born[THREADS], ended[THREADS]; /* events; or NONE */
	uint32_t owner[LOCKS], depth[LOCKS], readers[LOCKS];
	uint32_t wait[THREADS], woken[THREADS]; /* events; or NONE */
	uint32_t open[THREADS][8], nopen[THREADS];
	uint32_t wrote[BYTES];
};

static bool can_go(struct machine *m, uint32_t t)
{
	const struct op *op = &m->g->op[t][m->pc[t]];

	if (m->pc[t] == m->g->nops[t] || (t && m->born[t] == NONE))
		return false;
	switch (op->kind) {
	case MAPLE_EV_LOCK:
		if (op->shared)
			return m->owner[op->what] == NONE;
		return (m->owner[op->what] == NONE && !m->readers[op->what]) ||
		       m->owner[op->what] == t;
	case MAPLE_EV_JOIN:
		return m->ended[op->what] != NONE;
	case MAPLE_EV_WAKE:
		return m->woken[t] != NONE || dice(16) == 0;
	default:
		return true;
	}
}

static void do_lock(struct machine *m, uint32_t t, const struct op *op,
		    uint32_t i)
{
	m->open[t][m->nopen[t]++] = i;
	if (op->shared) {
		m->readers[op->what]++;
	} else {
		m->owner[op->what] = t;
		m->depth[op->what]++;
	}
}

static void do_unlock(struct machine *m, uint32_t t, const struct op *op,
		      uint32_t i)
{
	uint32_t lock = m->open[t][--m->nopen[t]];

	m->p->truth[lock].end = i;
	m->p->truth[i].lock = lock;
	if (op->shared)
		m->readers[op->what]--;
	else if (!--m->depth[op->what])
		m->owner[op->what] = NONE;
}

static void do_access(struct machine *m, uint32_t i, const struct op *op)
{
	const struct maple_event *e = &m->p->event[i];

	for (uint32_t k = 0; k < op->size; k++) {
		if (reads(e))
			m->p->truth[i].writer[k] = m->wrote[op->what + k];
		if (writes(e))
			m->wrote[op->what + k] = i;
	}
}

static void do_other(struct machine *m, uint32_t t, uint32_t i,
		     const struct op *op)
{
	struct truth *truth = &m->p->truth[i];

	switch (op->kind) {
	case MAPLE_EV_CREATE:
		m->born[op->what] = i;
		break;
	case MAPLE_EV_START:
		truth->need = m->born[t];
		break;
	case MAPLE_EV_EXIT:
		m->ended[t] = i;
		break;
	case MAPLE_EV_JOIN:
		truth->need = m->ended[op->what];
		break;
	case MAPLE_EV_WAIT:
		m->wait[t] = i;
		m->woken[t] = NONE;
		break;
	case MAPLE_EV_WAKE:
		truth->wait = m->wait[t];
		truth->need = m->woken[t];
		m->wait[t] = NONE;
		break;
	default: /* signals */
		for (uint32_t k = 0; k < m->g->nthreads; k++)
			if (m->wait[k] != NONE &&
			    m->p->event[m->wait[k]].addr == m->p->event[i].addr)
				m->woken[k] = i;
	}
}

static uint64_t address(const struct op *op)
{
	switch (op->kind) {
	case MAPLE_EV_LOCK:
	case MAPLE_EV_UNLOCK:
		return LOCK_AT + 64 * op->what;
	case MAPLE_EV_SIGNAL:
	case MAPLE_EV_BROADCAST:
	case MAPLE_EV_WAIT:
	case MAPLE_EV_WAKE:
		return COND_AT + 64 * op->what;
	default:
		return MEMORY + op->what;
	}
}

static void step(struct machine *m, uint32_t t)
{
	const struct op *op = &m->g->op[t][m->pc[t]];
	bool names = op->kind == MAPLE_EV_CREATE || op->kind == MAPLE_EV_JOIN;
	uint32_t i = m->p->n++;

	m->p->event[i] = (struct maple_event){
		.thread = (uint16_t)t,
		.kind = op->kind,
		.site = 100 * t + m->pc[t],
		.addr = address(op),
		.size = op->size,
		.flags = op->shared ? MAPLE_EVF_SHARED : 0,
		.aux = names ? op->what : 1,
	};
	m->p->truth[i] = (struct truth){ NONE, NONE, NONE, NONE, { 0 }, NONE };
	m->pc[t]++;
	if (op->kind == MAPLE_EV_LOCK)
		do_lock(m, t, op, i);
	else if (op->kind == MAPLE_EV_UNLOCK)
		do_unlock(m, t, op, i);
	else if (maple_event_is_memory(op->kind))
		do_access(m, i, op);
	else
		do_other(m, t, i, op);
}

/* Words that several threads touch, and one of them writes to, are shared. */
static bool is_shared(const struct paper *p, uint64_t word)
{
	uint32_t thread = NONE;
	bool several = false, written = false;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct maple_event *e = &p->event[i];

		if (!maple_event_is_memory(e->kind) || e->addr / 8 > word ||
		    (e->addr + e->size - 1) / 8 < word)
			continue;
		several |= thread != NONE && thread != e->thread;
		thread = e->thread;
		written |= writes(e);
	}
	return several && written;
}

static void number(struct paper *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct maple_event *e = &p->event[i];

		if (maple_event_is_memory(e->kind) &&
		    !is_shared(p, e->addr / 8) &&
		    !is_shared(p, (e->addr + e->size - 1) / 8))
			continue;
		p->truth[i].in_model = p->nmodel;
		p->of_model[p->nmodel++] = i;
	}
}

static void cut(struct paper *p, uint32_t n)
{
	p->n = n;
	for (uint32_t i = 0; i < n; i++)
		if (p->truth[i].end != NONE && p->truth[i].end >= n)
			p->truth[i].end = NONE;
}

void paper_run(struct paper *p)
{
	struct program g;
	struct machine m = { .g = &g, .p = p };
	uint32_t now = 0, idle = 0;

	make(&g);
	p->n = p->nmodel = 0;
	memset(m.born, 0xff, sizeof(m.born));
	memset(m.ended, 0xff, sizeof(m.ended));
	memset(m.owner, 0xff, sizeof(m.owner));
	memset(m.wait, 0xff, sizeof(m.wait));
	memset(m.woken, 0xff, sizeof(m.woken));
	memset(m.wrote, 0xff, sizeof(m.wrote));
	/* Who is stuck is stuck: what there is is a run all the same. */
	while (idle < 200) {
		if (dice(3) == 0)
			now = dice(g.nthreads);
		if (can_go(&m, now)) {
			step(&m, now);
			idle = 0;
		} else {
			now = dice(g.nthreads);
			idle++;
		}
	}
	if (dice(3) == 0)
		cut(p, 1 + dice(p->n));
	number(p);
}
