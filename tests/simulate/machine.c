// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The machine: one CPU, strict priorities, first in first out among equals,
 * as SCHED_FIFO has it (a raised thread goes to the end of its new level, a
 * lowered one to the head). With an automaton it plays the agent's part: it
 * makes the calls that automaton.h asks for around each access and applies
 * the level changes, in no other way.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "simulate.h"

#define MAX_STEPS 20000
#define SLICE	  10 /* machine time for the automaton's 100 ms */
#define SPIN_MAX  50 /* steps until a spinner is noticed */
#define SPIN_TIME 40

enum state { NEW, READY, BLOCKED, ASLEEP, DONE };

struct thread {
	enum state state;
	int pc;
	int prio;
	long queued; /* order within its level */
	long wake;
	bool asked; /* before() was called for the access at pc */
	bool owes;  /* ... and after() is to come */
	enum maple_verdict verdict;
	bool slice; /* asleep by the automaton's verdict */
	bool in_barrier;
	int spins;
	long spin_end;
	int spin_prio;
};

struct lock {
	int writer; /* thread, or -1 */
	int readers;
};

struct machine {
	const struct program *p;
	const struct maple_plan *plan; /* nplans of them */
	unsigned int nplans, now_plan;
	struct maple_auto *a;
	struct run *run;
	struct thread thread[MAX_THREADS];
	struct lock lock[MAX_LOCKS];
	bool event[MAX_EVENTS];
	bool younger;
	int current;
	long now, tail, head, tick;
};

static void set_prio(struct machine *m, int t, int prio)
{
	struct thread *thread = &m->thread[t];

	if (thread->prio == prio)
		return;
	thread->queued = prio > thread->prio ? ++m->tail : --m->head;
	thread->prio = prio;
}

static int pick(const struct machine *m)
{
	int best = -1;

	for (int t = 0; t < m->p->nthreads; t++) {
		const struct thread *x = &m->thread[t];
		const struct thread *y = &m->thread[best < 0 ? t : best];

		if (x->state != READY)
			continue;
		if (best < 0 || x->prio > y->prio ||
		    (x->prio == y->prio && x->queued < y->queued))
			best = t;
	}
	return best;
}

static void ready(struct machine *m, int t)
{
	m->thread[t].state = READY;
	m->thread[t].queued = ++m->tail;
}

static void apply_changes(struct machine *m, int self)
{
	unsigned int t, prio;
	int last = 1000;

	while (maple_auto_change(m->a, self, &t, &prio)) {
		bool raise = (int)prio > m->thread[t].prio;

		/* The contract: raises first, then the rest, self last. */
		assert(last > 0 || !raise);
		assert(last >= 0);
		last = raise ? 1 : (int)t == self ? -1 : 0;
		set_prio(m, t, prio);
		if (m->thread[t].slice && raise) { /* no use to sleep on */
			m->thread[t].slice = false;
			ready(m, t);
		}
	}
}

static unsigned int roles_of(const struct machine *m, int t)
{
	char name[MAPLE_PLAN_NAME];
	unsigned int roles = 0;

	profile_name(name, t);
	for (int r = 0; r < MAPLE_PLAN_ROLES; r++)
		roles |= !strcmp(name, m->plan[m->now_plan].hint[r]) << r;
	return roles;
}

static void start(struct machine *m, int t)
{
	ready(m, t);
	if (!m->a) {
		m->thread[t].prio = m->younger ? 20 + t : 60 - t;
		return;
	}
	maple_auto_start(m->a, t, roles_of(m, t));
	apply_changes(m, m->current);
}

/* As in the agent: whose first step somebody comes to, once one is over. */
static void next_plan(struct machine *m, uint32_t site)
{
	struct maple_auto_result *result = &m->run->all[m->now_plan];

	maple_auto_result(m->a, result);
	if (!result->finished)
		return;
	for (unsigned int i = 0; i < m->nplans; i++) {
		if (m->run->begun >> i & 1 ||
		    !maple_plan_begins(&m->plan[i], site))
			continue;
		m->run->begun |= 1u << i;
		m->now_plan = i;
		maple_auto_next(m->a, &m->plan[i]);
		for (int t = 0; t < m->p->nthreads; t++)
			maple_auto_hint(m->a, t, roles_of(m, t));
		return;
	}
}

static struct maple_waits others_wait(const struct machine *m, int self)
{
	struct maple_waits waits = { 0 };

	for (int t = 0; t < m->p->nthreads; t++) {
		if (t != self && m->thread[t].state == ASLEEP &&
		    !m->thread[t].slice)
			maple_waits_add(&waits, t, MAPLE_ENDS_SOON);
	}
	return waits;
}

static struct maple_access access_of(const struct op *op)
{
	return (struct maple_access){ op->site, op->access, op->addr, op->size,
				      op->kind == OP_TRYLOCK };
}

/* What the agent's stub would let pass: the automaton must have said so. */
static bool ignored(struct machine *m, int t, const struct maple_access *acc)
{
	uint64_t addr, size;

	for (unsigned int v = 0; v < MAPLE_PLAN_VARS; v++) {
		maple_auto_about(m->a, v, &addr, &size);
		if (ranges_meet(addr, size, acc->addr, acc->size))
			return false;
	}
	if (!maple_auto_ignores(m->a, t, acc))
		return false;
	assert(maple_auto_glance(m->a, t, acc));
	assert(!maple_auto_minds(m->a, t, acc));
	return true;
}

/* The agent's part before an access; false if the thread must not do it. */
static bool agent_before(struct machine *m, int t, const struct op *op)
{
	struct thread *thread = &m->thread[t];
	struct maple_access acc = access_of(op);

	if (!thread->asked) {
		thread->asked = true;
		if (op->kind != OP_CWAKE)
			next_plan(m, op->site);
		thread->owes = op->kind != OP_CWAKE &&
			       maple_auto_hooked(m->a, op->site);
		thread->verdict = MAPLE_GO;
		if (thread->owes && ignored(m, t, &acc))
			thread->owes = false;
		if (!thread->owes)
			return true;
		thread->verdict = maple_auto_skim(m->a, t, &acc)
					  ? MAPLE_GO
					  : maple_auto_before(m->a, t, &acc);
		apply_changes(m, t);
		if (pick(m) != t)
			return false;
	}
	while (thread->owes &&
	       (thread->verdict != MAPLE_GO || maple_auto_moved(m->a, t))) {
		struct maple_waits waits = others_wait(m, t);

		thread->verdict = maple_auto_resumed(m->a, t, &waits);
		apply_changes(m, t);
		if (thread->verdict == MAPLE_SLEEP) {
			thread->state = ASLEEP;
			thread->slice = true;
			thread->wake = m->now + SLICE;
			return false;
		}
		if (pick(m) != t)
			return false;
	}
	return true;
}

static void agent_after(struct machine *m, int t, const struct op *op,
			bool happened)
{
	struct thread *thread = &m->thread[t];
	struct maple_access acc = access_of(op);
	uint64_t addr, size;

	thread->asked = false;
	if (!m->a)
		return;
	if (thread->owes) {
		if (!maple_auto_skimmed(m->a, t, &acc, happened))
			maple_auto_after(m->a, t, &acc, happened);
	} else if (op->kind == OP_CWAKE) {
		if (maple_auto_hooked(m->a, op->site))
			maple_auto_after(m->a, t, &acc, happened);
	} else if (maple_auto_watched(m->a, &addr, &size) &&
		   ranges_meet(addr, size, op->addr, op->size) && happened) {
		maple_auto_watch(m->a, t, &acc);
	}
	thread->owes = false;
	apply_changes(m, t);
}

static void happened(struct machine *m, int t, const struct op *op)
{
	struct log *log = &m->run->log;

	assert(log->n < MAX_LOG);
	log->e[log->n++] = (struct entry){ t,	     m->thread[t].pc,
					   op->site, op->access,
					   op->addr, op->size };
	m->thread[t].pc++;
	agent_after(m, t, op, true);
}

static void wake_all(struct machine *m, unsigned int kinds)
{
	for (int t = 0; t < m->p->nthreads; t++) {
		if (m->thread[t].state == BLOCKED &&
		    (kinds >> m->p->op[t][m->thread[t].pc].kind & 1))
			ready(m, t);
	}
}

static bool lock_take(struct machine *m, int t, const struct op *op)
{
	struct lock *lock = &m->lock[op->object];

	if (lock->writer >= 0 || (lock->readers && !op->shared))
		return false;
	if (op->shared)
		lock->readers++;
	else
		lock->writer = t;
	return true;
}

static void lock_drop(struct machine *m, const struct op *op)
{
	struct lock *lock = &m->lock[op->object];

	if (op->shared)
		lock->readers--;
	else
		lock->writer = -1;
	/* They try again by priority: a lock has no queue of its own. */
	wake_all(m, 1u << OP_LOCK | 1u << OP_CWAKE);
}

static void do_access(struct machine *m, int t, const struct op *op)
{
	struct thread *thread = &m->thread[t];

	switch (op->kind) {
	case OP_LOCK:
		if (lock_take(m, t, op))
			happened(m, t, op);
		else
			thread->state = BLOCKED;
		break;
	case OP_TRYLOCK:
		if (lock_take(m, t, op)) {
			happened(m, t, op);
		} else {
			thread->pc = op->target;
			agent_after(m, t, op, false);
		}
		break;
	case OP_CWAIT:
	case OP_UNLOCK:
		lock_drop(m, op);
		happened(m, t, op);
		break;
	case OP_CWAKE:
		if (m->event[op->event] && lock_take(m, t, op))
			happened(m, t, op);
		else
			thread->state = BLOCKED;
		break;
	default:
		happened(m, t, op);
	}
}

static void spin(struct machine *m, int t)
{
	struct thread *thread = &m->thread[t];

	if (++thread->spins < SPIN_MAX)
		return;
	thread->spins = 0;
	thread->spin_end = m->now + SPIN_TIME;
	if (m->a) {
		maple_auto_spin(m->a, t);
		apply_changes(m, t);
		m->tick = thread->spin_end;
	} else {
		thread->spin_prio = thread->spin_prio ? thread->spin_prio
						      : thread->prio;
		set_prio(m, t, 0);
	}
}

static void barrier(struct machine *m, int t)
{
	int wanted = 0, there = 0;

	m->thread[t].in_barrier = true;
	for (int u = 0; u < m->p->nthreads; u++) {
		there += m->thread[u].in_barrier;
		for (int i = 0; i < m->p->nops[u]; i++)
			wanted += m->p->op[u][i].kind == OP_BARRIER;
	}
	if (there < wanted) {
		m->thread[t].state = BLOCKED;
		return;
	}
	for (int u = 0; u < m->p->nthreads; u++) {
		if (!m->thread[u].in_barrier)
			continue;
		m->thread[u].in_barrier = false;
		m->thread[u].pc++;
		if (u != t)
			ready(m, u);
	}
}

static void do_other(struct machine *m, int t, const struct op *op)
{
	struct thread *thread = &m->thread[t];

	switch (op->kind) {
	case OP_CREATE:
		thread->pc++;
		start(m, op->object);
		break;
	case OP_JOIN:
		if (m->thread[op->object].state == DONE)
			thread->pc++;
		else
			thread->state = BLOCKED;
		break;
	case OP_BARRIER:
		barrier(m, t);
		break;
	case OP_SPIN:
	case OP_WAIT:
		if (m->event[op->event])
			thread->pc++;
		else if (op->kind == OP_SPIN)
			spin(m, t);
		else
			thread->state = BLOCKED;
		break;
	case OP_SET:
		thread->pc++;
		m->event[op->event] = true;
		wake_all(m, 1u << OP_WAIT | 1u << OP_CWAKE);
		break;
	case OP_SLEEP:
		thread->pc++;
		thread->state = ASLEEP;
		thread->wake = m->now + op->time;
		break;
	default:
		assert(!"operation");
	}
}

static void step(struct machine *m, int t)
{
	struct thread *thread = &m->thread[t];
	const struct op *op = &m->p->op[t][thread->pc];

	m->current = t;
	if (thread->pc >= m->p->nops[t]) {
		thread->state = DONE;
		wake_all(m, 1u << OP_JOIN);
		if (m->a) {
			maple_auto_exit(m->a, t);
			apply_changes(m, t);
		}
		return;
	}
	if (op->kind == OP_CWAIT && !thread->asked && m->event[op->event]) {
		thread->pc = op->target;
		return;
	}
	if (op_is_access(op)) {
		if (m->a && !agent_before(m, t, op))
			return;
		m->now++;
		do_access(m, t, op);
	} else {
		m->now++;
		do_other(m, t, op);
	}
}

static void time_passes(struct machine *m)
{
	for (int t = 0; t < m->p->nthreads; t++) {
		struct thread *thread = &m->thread[t];

		if (thread->state == ASLEEP && thread->wake <= m->now) {
			thread->slice = false;
			ready(m, t);
		}
		if (!m->a && thread->spin_prio && thread->spin_end <= m->now) {
			set_prio(m, t, thread->spin_prio);
			thread->spin_prio = 0;
		}
	}
	if (m->a && m->tick && m->tick <= m->now) {
		m->tick = 0;
		maple_auto_tick(m->a, 0);
		apply_changes(m, -1);
	}
}

/* All that is left spins for what nobody will bring any more. */
static bool only_spinners(const struct machine *m)
{
	bool spins = false;

	for (int t = 0; t < m->p->nthreads; t++) {
		const struct thread *thread = &m->thread[t];
		const struct op *op = &m->p->op[t][thread->pc];

		if (thread->state == ASLEEP)
			return false;
		if (thread->state != READY)
			continue;
		if (thread->pc >= m->p->nops[t] || op->kind != OP_SPIN ||
		    m->event[op->event])
			return false;
		spins = true;
	}
	return spins;
}

/* Nobody is ready: the next sleeper, or the end. */
static bool skip_time(struct machine *m)
{
	long next = -1;

	for (int t = 0; t < m->p->nthreads; t++) {
		if (m->thread[t].state == ASLEEP &&
		    (next < 0 || m->thread[t].wake < next))
			next = m->thread[t].wake;
	}
	if (next > m->now)
		m->now = next;
	return next >= 0;
}

static void conclude(struct machine *m)
{
	for (int t = 0; t < m->p->nthreads; t++) {
		const struct thread *thread = &m->thread[t];

		m->run->blocked_at[t] = thread->state == BLOCKED ? thread->pc
								 : -1;
		if (thread->state == DONE || thread->state == NEW)
			continue;
		if (m->run->end == ENDED)
			m->run->end = DEADLOCK;
		if (thread->owes && thread->verdict != MAPLE_GO)
			m->run->held++;
	}
	for (int i = 0; i < MAX_LOCKS; i++)
		m->run->owner[i] = m->lock[i].writer;
}

void machine_run(const struct program *p, const struct maple_plan *plan,
		 unsigned int nplans, bool younger, struct run *run)
{
	struct machine m = { .p = p,
			     .plan = plan,
			     .nplans = nplans,
			     .run = run,
			     .younger = younger };
	int steps = 0;

	memset(run->all, 0, sizeof(run->all));
	run->begun = 1;
	if (plan) {
		m.a = malloc(maple_auto_size(MAPLE_THREADS));
		assert(m.a);
		maple_auto_init(m.a, plan);
	}
	run->end = ENDED;
	run->held = 0;
	run->log.n = 0;
	for (int i = 0; i < MAX_LOCKS; i++)
		m.lock[i].writer = -1;
	start(&m, 0);
	for (;;) {
		int t;

		if (++steps > MAX_STEPS) {
			run->end = LIVELOCK;
			break;
		}
		time_passes(&m);
		if (only_spinners(&m))
			break;
		t = pick(&m);
		if (t >= 0)
			step(&m, t);
		else if (!skip_time(&m))
			break;
	}
	conclude(&m);
	if (m.a)
		maple_auto_result(m.a, &run->all[m.now_plan]);
	run->result = run->all[0];
	free(m.a);
}
