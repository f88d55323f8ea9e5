// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton (lib/plan) at work in the target. A thread that comes to one
 * of the plan's accesses asks it; what it answers is carried out by real
 * priorities: a held thread is only lowered, and sleeps only where the one it
 * waits for sleeps itself.
 *
 *	raise to HOOK, lock
 *	before(), or resumed()
 *	others' new levels; log; unlock
 *	own level: here the CPU may go, and come back later
 *	GO and nobody has moved? then the access happens
 *
 * Whoever has the lock stands at HOOK, above every other thread of the
 * target, and does not sleep: on one CPU a thread that runs below HOOK knows
 * that the lock is free.
 */
#include "core.h"
#include "enforce.h"
#include "raw.h"

#define TICK_MS 10 /* of CPU time: a spinner's slice (rule 10) */
#define OPEN	4  /* accesses begun and not done: handlers nest */

/* Of so many accesses that could pass quickly one is not, to see the time. */
#define SELDOM 4096

static struct maple_auto *automaton;
static uint32_t lock;
static uint32_t moves;		      /* futex word: raised by each move */
static uint32_t quick;		      /* accesses that passed, since a tick */
static struct maple_auto_result said; /* what the log has said of it */
static const struct maple_plan *plan_now;
static void *result_now; /* where its result goes */

struct open {
	struct maple_access acc;
	uint64_t was; /* what stood there, if the plan is about it */
};

static __thread struct open open_access[OPEN]
	__attribute__((tls_model("initial-exec")));
/* Of the access that was closed last. */
static __thread uint64_t was __attribute__((tls_model("initial-exec")));

/* maple_agent_open - @acc is about to happen, and after() is to know it */
void maple_agent_open(const struct maple_access *acc)
{
	struct open *open;

	if (maple_self.nopen == OPEN) { /* left by longjmp */
		for (unsigned int i = 1; i < OPEN; i++)
			open_access[i - 1] = open_access[i];
		maple_self.nopen--;
	}
	open = &open_access[maple_self.nopen++];
	open->acc = *acc;
	open->was = 0;
	if (!said.finished &&
	    maple_auto_minds(automaton, maple_self.number, acc))
		open->was = maple_ring_peek(acc->addr, acc->size);
}

/* maple_agent_close - the access at @site that was begun last */
bool maple_agent_close(uint32_t site, struct maple_access *acc)
{
	for (unsigned int i = maple_self.nopen; i-- > 0;) {
		if (open_access[i].acc.site != site)
			continue;
		*acc = open_access[i].acc;
		was = open_access[i].was;
		/* A second operand of the same instruction stays open. */
		for (maple_self.nopen--; i < maple_self.nopen; i++)
			open_access[i] = open_access[i + 1];
		return true;
	}
	return false;
}

/* maple_agent_is_open - whether an access there is known to the automaton */
bool maple_agent_is_open(uint64_t addr, uint64_t size)
{
	for (unsigned int i = 0; i < maple_self.nopen; i++)
		if (open_access[i].acc.addr < addr + size &&
		    addr < open_access[i].acc.addr + open_access[i].acc.size)
			return true;
	return false;
}

static void log_event(unsigned int kind, const struct maple_access *acc,
		      uint64_t value, uint32_t aux)
{
	static const struct maple_access none = { MAPLE_SITE_NONE, 0, 0, 0 };

	maple_ring_put(kind, acc ? acc : &none, value, 0, aux,
		       (uint64_t)__builtin_frame_address(0));
}

/* maple_enforce_over - whether the automaton has nothing left to do */
bool maple_enforce_over(void)
{
	uint64_t all = (1ull << maple_shm->nthen) - 1;

	return said.finished && !(all & ~maple_shm->begun);
}

/* Says what has become of the plan since the last move. */
static void log_moves(void)
{
	struct maple_auto_result *now = result_now;
	bool over = maple_enforce_over();

	static_assert(sizeof(*now) <= sizeof(maple_shm->auto_result), "fits");
	maple_auto_result(automaton, now);
	/* The caller's access has been logged right before. */
	if (now->executed != said.executed)
		log_event(MAPLE_EV_STEP, NULL, was, now->last_step);
	if (now->attempts != said.attempts)
		log_event(MAPLE_EV_GIVEUP, NULL, 0, now->attempts);
	if (now->exposed && !said.exposed)
		log_event(MAPLE_EV_EXPOSED, NULL, 0, 0);
	said = *now;
	if (!over && maple_enforce_over())
		maple_section_start();
}

static void enter(void)
{
	maple_sched_set(0, MAPLE_PRIO_HOOK);
	maple_lock_take(&lock);
}

/*
 * Carries out what the automaton has decided, and leaves it. Returns the
 * number of moves so far.
 */
static uint32_t leave(void)
{
	unsigned int self = maple_self.number, t, prio;
	uint64_t addr = 0, size = 0;
	uint32_t n;

	while (maple_auto_change(automaton, self, &t, &prio)) {
		if (t != self)
			maple_sched_level(t, prio);
		else
			maple_shm->thread[self].prio = prio;
	}
	log_moves();
	if (!maple_auto_watched(automaton, &addr, &size))
		size = 0;
	maple_watch_arm(addr, size);
	n = __atomic_add_fetch(&moves, 1, __ATOMIC_RELAXED);
	raw_futex_wake(&moves);
	maple_lock_give(&lock);
	if (self != MAPLE_THREAD_NONE)
		maple_sched_settle();
	return n;
}

/* The CPU time since the last step bounds the attempt. */
static void tick(void)
{
	static uint64_t began_ms, last_ms;
	static uint32_t attempts, steps;
	uint64_t now = maple_enforce_cpu_ms();

	if (!began_ms || attempts != said.attempts || steps != said.steps) {
		began_ms = now;
		attempts = said.attempts;
		steps = said.steps;
	}
	if (now - last_ms < TICK_MS)
		return;
	last_ms = now;
	maple_auto_tick(automaton, now - began_ms);
}

/* For which roles of the plan thread @number is the hint. */
static unsigned int roles_of(uint32_t number)
{
	const char *name = maple_shm->thread[number].name, *hint;
	unsigned int roles = 0, i;

	for (unsigned int r = 0; r < MAPLE_PLAN_ROLES; r++) {
		hint = plan_now->hint[r];
		for (i = 0; hint[i] && hint[i] == name[i]; i++)
			;
		if (i && hint[i] == name[i])
			roles |= 1u << r;
	}
	return roles;
}

/* Which of the plans that follow can begin at @site; -1: none. */
static int follower(uint32_t site)
{
	for (uint32_t i = 0; i < maple_shm->nthen && i < MAPLE_SHM_THEN; i++) {
		if (!(maple_shm->begun >> i & 1) &&
		    maple_plan_begins(&maple_shm->then[i], site))
			return (int)i;
	}
	return -1;
}

/*
 * The plan before has finished, and somebody has come to where then[i] begins:
 * until now all went on as that one had left it, to show what comes of it.
 */
static void follow(int i)
{
	maple_shm->begun |= 1ull << i;
	log_event(MAPLE_EV_NEXT, NULL, 0, (uint32_t)i);
	plan_now = &maple_shm->then[i];
	result_now = maple_shm->then_result[i];
	maple_auto_next(automaton, plan_now);
	maple_auto_result(automaton, &said);
	for (uint32_t t = 0; t < maple_shm->nthreads && t < MAPLE_THREADS; t++)
		maple_auto_hint(automaton, t, roles_of(t));
}

/* With what is there now; a lock has no value. */
static void log_access(const struct maple_access *acc, unsigned int flags)
{
	uint64_t value = 0, sp = (uint64_t)__builtin_frame_address(0);

	flags |= MAPLE_EVF_EXACT;
	if (maple_event_is_memory(acc->kind)) {
		value = maple_ring_peek(acc->addr, acc->size);
		flags |= acc->size <= sizeof(value) ? MAPLE_EVF_VALUED : 0;
	}
	if (acc->kind == MAPLE_EV_LOCK &&
	    maple_section_begins(acc, flags, sp, maple_call_quiet(acc->site)))
		return;
	if (acc->kind == MAPLE_EV_UNLOCK &&
	    maple_section_ends(acc, maple_call_quiet(acc->site)))
		return;
	maple_ring_put(acc->kind, acc, value, flags, 0, sp);
}

/*
 * Whether @acc may happen at once. Nobody else is inside: we run below HOOK.
 */
static bool passes(const struct maple_access *acc)
{
	unsigned int t = maple_self.number;

	if (++quick < SELDOM)
		return maple_auto_glance(automaton, t, acc) ||
		       maple_auto_skim(automaton, t, acc);
	quick = 0;
	return false;
}

/* maple_enforce_passed - @hits were let pass by stub.S */
void maple_enforce_passed(uint32_t hits)
{
	quick += hits;
}

/* Returns when @acc may happen. */
static void ask(const struct maple_access *acc)
{
	unsigned int t = maple_self.number;
	enum maple_verdict verdict;
	struct maple_waits waits;
	bool held = false;
	uint32_t n;
	int next;

	next = said.finished ? follower(acc->site) : -1;
	if (next < 0 && (said.finished || passes(acc)))
		return;
	enter();
	if (next >= 0)
		follow(next);
	tick();
	verdict = maple_auto_before(automaton, t, acc);
	for (;;) {
		if (verdict != MAPLE_GO && !held) {
			log_event(MAPLE_EV_HOLD, acc, 0, verdict);
			held = true;
		}
		n = leave();
		if (verdict == MAPLE_SLEEP)
			raw_futex_wait(&moves, n, maple_shm->plan.slice_ms);
		if (verdict == MAPLE_GO && !maple_auto_moved(automaton, t))
			break;
		enter();
		tick();
		maple_enforce_waits(&moves, &waits);
		verdict = maple_auto_resumed(automaton, t, &waits);
	}
	if (held)
		log_event(MAPLE_EV_RELEASE, acc, 0, 0);
}

/*
 * maple_enforce_before - the calling thread stands before @acc; returns when
 * it is to happen, true if the plans name its site
 *
 * Locks that they do not name are logged, for who holds what. An UNLOCK is
 * logged here, before another thread's LOCK can follow it.
 */
bool maple_enforce_before(const struct maple_access *acc, unsigned int flags)
{
	bool wanted = maple_wanted(acc->site);

	if (wanted)
		ask(acc);
	if (acc->kind == MAPLE_EV_UNLOCK)
		log_access(acc, flags);
	return wanted;
}

/* What was not logged before it happened. */
static void log_done(const struct maple_access *acc, unsigned int flags)
{
	if (acc->kind != MAPLE_EV_UNLOCK)
		log_access(acc, flags);
}

/* maple_enforce_after - @acc of the calling thread has happened, or not */
void maple_enforce_after(const struct maple_access *acc, unsigned int flags,
			 bool happened)
{
	if (!maple_wanted(acc->site)) {
		if (happened && acc->kind == MAPLE_EV_LOCK)
			log_access(acc, flags);
		return;
	}
	if (!said.finished &&
	    maple_auto_skimmed(automaton, maple_self.number, acc, happened)) {
		log_done(acc, flags);
		return;
	}
	if (said.finished ||
	    !maple_auto_minds(automaton, maple_self.number, acc)) {
		/* A hot site must not fill the log with what matters not. */
		if (happened &&
		    (!maple_self.stale || !maple_event_is_memory(acc->kind)))
			log_done(acc, flags);
		return;
	}
	enter();
	if (happened)
		log_done(acc, flags);
	maple_auto_after(automaton, maple_self.number, acc, happened);
	leave();
}

/* maple_enforce_unannounced - the caller has written there, past all hooks */
void maple_enforce_unannounced(uint64_t addr, uint64_t size)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_WRITE, addr,
				    size };

	enter();
	maple_auto_watch(automaton, maple_self.number, &acc);
	leave();
}

/*
 * maple_enforce_freed - [addr, addr + size) ends to be what the attempt may
 * be about: memory at the same address will be another variable
 */
void maple_enforce_freed(uint64_t addr, uint64_t size)
{
	if (size && maple_auto_concerns(automaton, addr, size))
		maple_enforce_unannounced(addr, size);
}

/* maple_enforce_born - thread @number is about to appear */
void maple_enforce_born(uint32_t number)
{
	enter();
	maple_auto_start(automaton, number, roles_of(number));
	leave();
}

void maple_enforce_exit(uint32_t number)
{
	enter();
	maple_watch_drop(number);
	maple_auto_exit(automaton, number);
	leave();
}

void maple_enforce_spin(void)
{
	enter();
	maple_auto_spin(automaton, maple_self.number);
	leave();
	enter();
	maple_auto_tick(automaton, 0);
	leave();
}

/* maple_enforce_ahead - what an enforced run needs, whatever its plan */
void maple_enforce_ahead(void)
{
	automaton = maple_lock_memory(maple_auto_size(MAPLE_THREADS));
	if (!automaton)
		return;
	maple_lock_populate((uint64_t)automaton,
			    (uint64_t)automaton +
				    maple_auto_size(MAPLE_AGENT_FEW));
	maple_watch_start();
}

/* Those that may follow are looked through before their turn comes. */
static bool plans_valid(void)
{
	for (uint32_t i = 0; i < maple_shm->nthen; i++) {
		if (i == MAPLE_SHM_THEN ||
		    !maple_plan_valid(&maple_shm->then[i]))
			return false;
	}
	return maple_plan_valid(plan_now);
}

/* maple_enforce_start - the automaton for the plan of this run */
void maple_enforce_start(void)
{
	plan_now = &maple_shm->plan;
	result_now = maple_shm->auto_result;
	if (!automaton)
		maple_enforce_ahead();
	if (!automaton || !plans_valid()) {
		maple_agent_enforces = false;
		return;
	}
	maple_auto_init(automaton, plan_now);
	maple_pass_start(automaton);
	if (!maple_wanted_start())
		maple_section_start();
}
