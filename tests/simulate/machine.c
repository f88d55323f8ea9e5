// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The machine: one CPU, strict priorities, first in first out among equals,
 * as SCHED_FIFO has it (a raised thread goes to the end of its new level, a
 * lowered one to the head). With an automaton it plays the agent's part, by the
 * driver that agent and module have as well. A thread that is in it has a
 * stack of its own there, so that it may lose the CPU inside.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "../../lib/plan/drive.h"
#include "../hooked_site.h"
#include "simulate.h"

#define MAX_STEPS 20000
#define SLICE	  10 /* machine time for the automaton's 100 ms */
#define SPIN_MAX  50 /* steps until a spinner is noticed */
#define SPIN_TIME 40
#define STACK	  (64 * 1024)

enum state { NEW, READY, BLOCKED, ASLEEP, DONE };

struct thread {
	enum state state;
	int pc;
	int prio;
	long queued; /* order within its level */
	long wake;
	bool asked;  /* before() was called for the access at pc */
	bool owes;   /* ... and after() is to come */
	bool inside; /* in the driver, there: */
	ucontext_t context;
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
	struct maple_auto *a; /* NULL: none */
	struct maple_drive drive;
	uint64_t watch_addr, watch_size;
	uint32_t moves, exposed; /* plans said to be */
	ucontext_t machine;	 /* outside of all threads */
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

/* Who is in the driver. */
struct turn {
	struct machine *m;
	int t;	    /* -1: no thread */
	int last;   /* change of a level */
	bool stays; /* does not lose the CPU before it is out again */
};

static void set_watch(void *who, uint64_t addr, uint64_t size)
{
	struct turn *turn = who;

	turn->m->watch_addr = addr;
	turn->m->watch_size = size;
	turn->last = 1000;
}

static void set_level(void *who, unsigned int t, unsigned int prio)
{
	struct turn *turn = who;
	struct machine *m = turn->m;
	bool raise = (int)prio > m->thread[t].prio;

	/* The contract: raises first, then the rest, self last. */
	assert(turn->last > 0 || !raise);
	assert(turn->last >= 0);
	turn->last = raise ? 1 : (int)t == turn->t ? -1 : 0;
	set_prio(m, (int)t, (int)prio);
	if (m->thread[t].slice && raise) { /* no use to sleep on */
		m->thread[t].slice = false;
		ready(m, (int)t);
	}
}

static void log_move(void *who, unsigned int kind,
		     const struct maple_access *acc, uint32_t aux)
{
	struct turn *turn = who;
	bool of_access = kind == MAPLE_EV_HOLD || kind == MAPLE_EV_RELEASE;

	assert(of_access == !!acc);
	assert(kind != MAPLE_EV_STEP || aux < MAPLE_PLAN_STEPS);
	turn->m->exposed += kind == MAPLE_EV_EXPOSED;
}

/* Until it is the thread's turn again. */
static void lose_cpu(struct machine *m, int t)
{
	swapcontext(&m->thread[t].context, &m->machine);
}

static uint32_t leave_it(void *who)
{
	struct turn *turn = who;
	uint32_t moves = ++turn->m->moves;

	if (!turn->stays && pick(turn->m) != turn->t)
		lose_cpu(turn->m, turn->t);
	return moves;
}

static void sleep_slice(void *who, uint32_t moves)
{
	struct turn *turn = who;
	struct thread *thread = &turn->m->thread[turn->t];

	if (turn->m->moves != moves)
		return;
	thread->state = ASLEEP;
	thread->slice = true;
	thread->wake = turn->m->now + SLICE;
	lose_cpu(turn->m, turn->t);
}

static bool stands(void *who, enum maple_verdict verdict)
{
	struct turn *turn = who;

	return verdict == MAPLE_GO &&
	       !maple_auto_moved(turn->m->a, (unsigned int)turn->t);
}

static void enter_again(void *who, struct maple_waits *waits)
{
	const struct turn *turn = who;
	const struct machine *m = turn->m;

	*waits = (struct maple_waits){ 0 };
	for (int t = 0; t < m->p->nthreads; t++) {
		if (t != turn->t && m->thread[t].state == ASLEEP &&
		    !m->thread[t].slice)
			maple_waits_add(waits, t, MAPLE_ENDS_SOON);
	}
}

static const struct maple_drive_ops ops = {
	.again = enter_again,
	.watch = set_watch,
	.level = set_level,
	.log = log_move,
	.leave = leave_it,
	.sleep = sleep_slice,
	.stands = stands,
};

/* After a call of the automaton's that was not about an access to come. */
static void leave(struct machine *m, int self)
{
	struct turn turn = { .m = m, .t = self, .stays = true };

	maple_drive_leave(&m->drive, (unsigned int)self, &ops, &turn);
}

static unsigned int roles_of(const struct machine *m, int t)
{
	char name[MAPLE_PLAN_NAME];

	profile_name(name, t);
	return maple_plan_roles(&m->plan[m->now_plan], name);
}

static void start(struct machine *m, int t)
{
	ready(m, t);
	if (!m->a) {
		m->thread[t].prio = m->younger ? 20 + t : 60 - t;
		return;
	}
	maple_auto_start(m->a, t, roles_of(m, t));
	leave(m, m->current);
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
		maple_drive_follow(&m->drive, &m->plan[i]);
		for (int t = 0; t < m->p->nthreads; t++)
			maple_auto_hint(m->a, t, roles_of(m, t));
		return;
	}
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

static struct machine *running;

/* On a stack of its own: the thread that has the CPU is about to access. */
static void stand_before(void)
{
	struct machine *m = running;
	int t = m->current;
	struct maple_access acc = access_of(&m->p->op[t][m->thread[t].pc]);
	struct turn turn = { .m = m, .t = t };

	maple_drive_before(&m->drive, (unsigned int)t, &acc, &ops, &turn);
	m->thread[t].inside = false;
}

static void enter(struct machine *m, int t)
{
	static char stack[MAX_THREADS][STACK];
	ucontext_t *context = &m->thread[t].context;

	getcontext(context);
	context->uc_stack.ss_sp = stack[t];
	context->uc_stack.ss_size = STACK;
	context->uc_link = &m->machine;
	makecontext(context, stand_before, 0);
	m->thread[t].inside = true;
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
			       site_is_hooked(m->a, op->site);
		if (thread->owes && ignored(m, t, &acc))
			thread->owes = false;
		if (thread->owes && !maple_auto_skim(m->a, t, &acc))
			enter(m, t);
	}
	if (thread->inside) {
		running = m;
		swapcontext(&m->machine, &thread->context);
	}
	return !thread->inside;
}

static void agent_after(struct machine *m, int t, const struct op *op,
			bool happened)
{
	struct thread *thread = &m->thread[t];
	struct maple_access acc = access_of(op);

	thread->asked = false;
	if (!m->a)
		return;
	if (thread->owes) {
		if (!maple_auto_skimmed(m->a, t, &acc, happened))
			maple_auto_after(m->a, t, &acc, happened);
	} else if (op->kind == OP_CWAKE) {
		if (site_is_hooked(m->a, op->site))
			maple_auto_after(m->a, t, &acc, happened);
	} else if (ranges_meet(m->watch_addr, m->watch_size, op->addr,
			       op->size) &&
		   happened) {
		maple_auto_watch(m->a, t, &acc);
	}
	thread->owes = false;
	leave(m, t);
}

static void happened(struct machine *m, int t, const struct op *op)
{
	struct log *log = &m->run->log;

	assert(log->n < MAX_LOG);
	log->e[log->n++] =
		(struct entry){ t,	  m->thread[t].pc, op->site, op->access,
				op->addr, op->size,	   op->unit };
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
		leave(m, t);
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
			leave(m, t);
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
		leave(m, -1);
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
		m->run->held += thread->inside;
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
		maple_drive_start(&m.drive, m.a, plan);
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
	for (unsigned int i = 0; i < nplans; i++)
		m.exposed -= run->all[i].exposed;
	assert(!m.exposed); /* each was told */
	run->result = run->all[0];
	free(m.a);
}
