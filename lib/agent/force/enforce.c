// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The automaton (lib/plan, driven by drive.c) at work in the target.
 *
 * Whoever has the lock stands at HOOK, above every other thread of the
 * target, and does not sleep: on one CPU a thread that runs below HOOK knows
 * that the lock is free.
 */
#include "agent/core.h"
#include "enforce.h"
#include "plan/drive.h"
#include "agent/raw.h"

#define OPEN 4 /* accesses begun and not done: handlers nest */

/* Of so many accesses that could pass quickly one is not, to see the time. */
#define SELDOM 4096

static struct maple_drive drive;
static uint32_t lock;
static uint32_t moves; /* futex word: raised by each move */
static uint32_t quick; /* accesses that passed, since a tick */
static bool over;      /* maple_enforce_over(), and locks know */
static bool callers;   /* maple_enforce_callers() */
static const struct maple_plan *plan_now;
static void *result_now; /* where its result goes */

struct open {
	struct maple_access acc;
	uint64_t was; /* what stood there, if plan or list is about it */
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
	if (maple_agent_controls ||
	    (!drive.said.finished &&
	     maple_auto_minds(drive.automaton, maple_self.number, acc)))
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

	return drive.said.finished && !(all & ~maple_shm->begun);
}

/* maple_enforce_callers - whether the plans are about who calls a function */
bool maple_enforce_callers(void)
{
	return callers;
}

static bool asks_callers(const struct maple_plan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (plan->step[i].context != MAPLE_CONTEXT_ANY)
			return true;
	return false;
}

static void enter(void)
{
	maple_sched_set(0, MAPLE_PRIO_HOOK);
	maple_lock_take(&lock);
}

static void set_watch(void *who, uint64_t addr, uint64_t size)
{
	maple_watch_arm(addr, size);
}

static void set_level(void *who, unsigned int t, unsigned int prio)
{
	if (t != maple_self.number)
		maple_sched_level(t, prio);
	else
		maple_shm->thread[t].prio = prio;
}

static void log_move(void *who, unsigned int kind,
		     const struct maple_access *acc, uint32_t aux)
{
	log_event(kind, acc, kind == MAPLE_EV_STEP ? was : 0, aux);
}

static uint32_t leave_it(void *who)
{
	struct maple_auto_result *result = result_now;
	uint32_t n;

	static_assert(sizeof(*result) <= sizeof(maple_shm->auto_result), "fits");
	*result = drive.said;
	if (!over && maple_enforce_over()) {
		over = true;
		maple_section_start();
	}
	n = __atomic_add_fetch(&moves, 1, __ATOMIC_RELAXED);
	raw_futex_wake(&moves);
	maple_lock_give(&lock);
	if (maple_self.number != MAPLE_THREAD_NONE)
		maple_sched_settle();
	return n;
}

static void sleep_slice(void *who, uint32_t n)
{
	uint32_t us = maple_shm->slice_us ?: maple_shm->plan.slice_ms * 1000;

	raw_futex_wait_us(&moves, n, us);
}

static bool stands(void *who, enum maple_verdict verdict)
{
	return maple_joined_left ||
	       (verdict == MAPLE_GO &&
		!maple_auto_moved(drive.automaton, maple_self.number));
}

static void enter_again(void *who, struct maple_waits *waits)
{
	enter();
	maple_drive_tick(&drive, maple_enforce_cpu_ms());
	maple_enforce_waits(&moves, waits);
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

static void leave(void)
{
	maple_drive_leave(&drive, maple_self.number, &ops, NULL);
}

/* For which roles of the plan thread @number is the hint. */
static unsigned int roles_of(uint32_t number)
{
	return maple_plan_roles(plan_now, maple_shm->thread[number].name);
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
	maple_drive_follow(&drive, plan_now);
	for (uint32_t t = 0; t < maple_shm->nthreads && t < MAPLE_THREADS; t++)
		maple_auto_hint(drive.automaton, t, roles_of(t));
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
	    maple_section_begins(acc, flags, sp,
				 maple_interest_quiet(acc->site)))
		return;
	if (acc->kind == MAPLE_EV_UNLOCK &&
	    maple_section_ends(acc, maple_interest_quiet(acc->site)))
		return;
	maple_ring_put(acc->kind, acc, value, flags, acc->context, sp);
}

/*
 * maple_agent_log - @acc, which was closed right before, with what stood there
 *                   before and stands there now
 */
void maple_agent_log(const struct maple_access *acc, unsigned int flags)
{
	log_access(acc, flags);
	log_event(MAPLE_EV_STEP, NULL, was, 0);
}

/*
 * Whether @acc may happen at once. Nobody else is inside: we run below HOOK.
 */
static bool passes(const struct maple_access *acc)
{
	unsigned int t = maple_self.number;

	if (++quick < SELDOM)
		return maple_auto_glance(drive.automaton, t, acc) ||
		       maple_auto_skim(drive.automaton, t, acc);
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
	int next = drive.said.finished ? follower(acc->site) : -1;

	if (next < 0 && (drive.said.finished || passes(acc)))
		return;
	enter();
	if (next >= 0)
		follow(next);
	maple_drive_tick(&drive, maple_enforce_cpu_ms());
	maple_drive_before(&drive, maple_self.number, acc, &ops, NULL);
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
	bool wanted = maple_interest_wanted(acc->site);

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
	if (!maple_interest_wanted(acc->site)) {
		if (happened && acc->kind == MAPLE_EV_LOCK)
			log_access(acc, flags);
		return;
	}
	if (!drive.said.finished &&
	    maple_auto_skimmed(drive.automaton, maple_self.number, acc,
			       happened)) {
		log_done(acc, flags);
		return;
	}
	if (drive.said.finished ||
	    !maple_auto_minds(drive.automaton, maple_self.number, acc)) {
		/* A hot site must not fill the log with what matters not. */
		if (happened &&
		    (!maple_self.stale || !maple_event_is_memory(acc->kind)))
			log_done(acc, flags);
		return;
	}
	enter();
	if (happened)
		log_done(acc, flags);
	maple_auto_after(drive.automaton, maple_self.number, acc, happened);
	leave();
}

/* maple_enforce_unannounced - the caller has written there, past all hooks */
void maple_enforce_unannounced(uint64_t addr, uint64_t size)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_WRITE, addr,
				    size };

	enter();
	maple_auto_watch(drive.automaton, maple_self.number, &acc);
	leave();
}

/*
 * maple_enforce_freed - [addr, addr + size) ends to be what the attempt may
 * be about: memory at the same address will be another variable
 */
void maple_enforce_freed(uint64_t addr, uint64_t size)
{
	if (size && maple_auto_concerns(drive.automaton, addr, size))
		maple_enforce_unannounced(addr, size);
}

/* maple_enforce_born - thread @number is about to appear */
void maple_enforce_born(uint32_t number)
{
	enter();
	maple_auto_start(drive.automaton, number, roles_of(number));
	leave();
}

void maple_enforce_exit(uint32_t number)
{
	enter();
	maple_watch_drop(number);
	maple_auto_exit(drive.automaton, number);
	leave();
}

void maple_enforce_spin(void)
{
	enter();
	maple_auto_spin(drive.automaton, maple_self.number);
	leave();
	enter();
	maple_auto_tick(drive.automaton, 0);
	leave();
}

/* maple_enforce_wake - whoever sleeps in the automaton looks again */
void maple_enforce_wake(void)
{
	__atomic_add_fetch(&moves, 1, __ATOMIC_RELAXED);
	raw_futex_wake(&moves);
}

/* maple_enforce_ahead - what an enforced run needs, whatever its plan */
void maple_enforce_ahead(void)
{
	drive.automaton = maple_lock_memory(maple_auto_size(MAPLE_THREADS));
	if (!drive.automaton)
		return;
	maple_lock_populate((uint64_t)drive.automaton,
			    (uint64_t)drive.automaton +
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
	if (!drive.automaton)
		maple_enforce_ahead();
	if (!drive.automaton || !plans_valid()) {
		maple_agent_enforces = false;
		return;
	}
	callers = asks_callers(plan_now);
	for (uint32_t i = 0; i < maple_shm->nthen; i++)
		callers |= asks_callers(&maple_shm->then[i]);
	maple_drive_start(&drive, drive.automaton, plan_now);
	maple_pass_start(drive.automaton);
	if (!maple_interest_plans())
		maple_section_start();
}
