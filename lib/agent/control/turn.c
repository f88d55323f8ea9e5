// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Controlled runs without real-time priorities (algorithms.md 10).
 *
 * Priorities say who has the CPU, and so who may decide. Without them who
 * stands at a point sleeps on a word of its own until it is chosen, and there
 * are two things to be done by hand:
 *
 *   A lock stands for the turn: threads in transit, who would otherwise have
 *   come and gone before the chosen one goes on, run beside it. So it looks
 *   whether some other thread is under way before it decides, and gives way to
 *   it. Who was seen asleep needs not be looked at again before something was
 *   done that may have woken it.
 *
 *   That the chosen one has blocked is seen by nobody. So one of those who
 *   stand, the one who came last, sleeps for a moment only, and looks.
 *
 * All threads are on one CPU all the same: that takes no right.
 */
#include <sys/resource.h>
#include "agent/core.h"
#include "agent/raw.h"

#define LOOK_US	 60    /* until the first look, and twice as long each time, */
#define MOST_US	 1000  /* ... up to this */
#define OTHER_US 50000 /* of who needs not look */
#define YIELDS	 8     /* before a nap, where something is about to happen */
#define NAP_NS	 20000
#define ACCESSES 64	/* in a row, after which all are looked at again */
#define UNBORN	 100000 /* looks that a thread has to begin */

bool maple_turn_sleeps;

static uint32_t lock;
static uint32_t word[MAPLE_THREADS]; /* of who stands: 1, it is to wake */
static volatile uint32_t looks;	     /* who looks */
/* By thread: it waits for the lock, or for one that is new, and has not blocked. */
static volatile uint8_t comes[MAPLE_THREADS];
/* ... when it was last seen asleep: in this age. */
static uint32_t asleep[MAPLE_THREADS], age;
static uint32_t accesses, unborn;

/* maple_turn_start - how this run's threads are held */
void maple_turn_start(void)
{
	maple_turn_sleeps = maple_shm->control.sleeps;
	age = 1;
}

/* maple_turn_take - the caller is the only one to decide, or to arrive */
void maple_turn_take(void)
{
	uint32_t self = maple_self.number;

	if (!maple_turn_sleeps)
		return;
	comes[self] = true;
	maple_lock_take(&lock);
	comes[self] = false;
}

void maple_turn_give(void)
{
	if (maple_turn_sleeps)
		maple_lock_give(&lock);
}

/* The @n-th time in a row that the caller has nothing to do but to wait. */
static void give_way(uint32_t n)
{
	const struct timespec nap = { 0, NAP_NS };

	if (n < YIELDS)
		raw0(SYS_sched_yield);
	else
		raw2(SYS_nanosleep, &nap, NULL);
}

/* maple_turn_stir - something was done that may have woken anybody */
void maple_turn_stir(void)
{
	age++;
	accesses = 0;
}

/* maple_turn_access - an access, which wakes nobody; others may by themselves */
void maple_turn_access(void)
{
	if (++accesses >= ACCESSES)
		maple_turn_stir();
}

/*
 * How often the caller has lost the CPU, and one. Where that is as before, no
 * other thread of the program has run: they are all on this one.
 */
static uint64_t losses(void)
{
	struct rusage usage = { 0 };

	raw2(SYS_getrusage, RUSAGE_THREAD, &usage);
	return 1 + (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static bool is_under_way(uint32_t i)
{
	const struct maple_shm_thread *t = &maple_shm->thread[i];
	char state;

	if (comes[i])
		return true;
	if (!t->tid) /* announced; if it is not to come, it has no priority */
		return !t->alive && t->prio && unborn++ < UNBORN;
	state = maple_waits_state(t->tid);
	return state == 't' || maple_detained(i, state) ||
	       (state == 'R' && !*(const volatile uint32_t *)&t->demoted);
}

/*
 * Whether nobody else would do something if it were let. Also who is ending.
 * What was seen holds together if nobody has run meanwhile: who was asleep may
 * have been woken by one that sleeps now, who runs may be about to take the lock.
 */
static bool is_quiet(bool (*parked)(uint32_t thread), bool anew)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS; i++) {
		if (i == maple_self.number || parked(i) ||
		    (!anew && asleep[i] == age))
			continue;
		if (!before)
			before = losses();
		if (is_under_way(i))
			return false;
		if (!anew) /* or it is known before the next call wakes it */
			asleep[i] = age;
	}
	if (before && losses() != before) {
		__builtin_memset(asleep, 0, sizeof(asleep));
		return false;
	}
	unborn = 0;
	return true;
}

/*
 * maple_turn_settle - the chosen one returns when no other is under way
 *
 * Who is may want the lock, so it looks without.
 */
void maple_turn_settle(bool (*parked)(uint32_t thread))
{
	uint32_t n = 0;

	while (!is_quiet(parked, false) && maple_control_decides()) {
		maple_turn_give();
		do
			give_way(n++);
		while (!is_quiet(parked, false) && maple_control_decides());
		maple_turn_take();
	}
}

/*
 * maple_turn_await - returns when @thread, which is new, has come to its first
 *                    point or its first wait, or has ended
 */
void maple_turn_await(bool (*parked)(uint32_t thread), uint32_t thread)
{
	uint32_t self = maple_self.number, n = 0;

	comes[self] = true;
	while (!parked(thread) && is_under_way(thread) &&
	       maple_control_decides())
		give_way(n++);
	comes[self] = false;
}

/* maple_turn_wake - @thread goes on, or looks */
void maple_turn_wake(uint32_t thread)
{
	if (thread >= MAPLE_THREADS)
		return;
	asleep[thread] = 0;
	__atomic_store_n(&word[thread], 1, __ATOMIC_RELEASE);
	raw_futex_wake(&word[thread]);
}

/* Nobody is held any more. */
static void wake_all(void)
{
	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS; i++)
		maple_turn_wake(i);
}

/* maple_turn_look - the chosen one blocks, or ends: who looks does so now */
void maple_turn_look(void)
{
	maple_turn_stir();
	maple_turn_wake(looks);
}

/* maple_turn_leave - the caller goes on; if it looked, another one is to */
void maple_turn_leave(bool (*parked)(uint32_t thread))
{
	if (!maple_control_decides())
		wake_all();
	for (uint32_t i = 0; i < maple_shm->nthreads && i < MAPLE_THREADS &&
			     looks == maple_self.number;
	     i++)
		if (i != maple_self.number && parked(i)) {
			looks = i;
			maple_turn_wake(i);
		}
}

/* maple_turn_stand - the caller, which stands at a point, is who looks */
void maple_turn_stand(void)
{
	looks = maple_self.number;
	word[looks] = 0;
}

/* Whether nobody else can run, soon; the caller stands, and has the lock. */
static bool comes_to_rest(bool (*parked)(uint32_t thread))
{
	uint32_t n = 0;

	maple_turn_give();
	while (!is_quiet(parked, true) && parked(maple_self.number) &&
	       n < YIELDS)
		give_way(n++);
	maple_turn_take();
	return parked(maple_self.number) && is_quiet(parked, true);
}

/*
 * maple_turn_sleep - the caller, which stands, does so for a while
 * @us: how long it slept before; 0: not yet
 *
 * Returns whether nobody else can run, so that it is to choose who goes on.
 */
bool maple_turn_sleep(bool (*parked)(uint32_t thread), uint32_t *us)
{
	uint32_t self = maple_self.number;
	bool woken;

	*us = *us ? *us * 2 : LOOK_US;
	if (*us > MOST_US)
		*us = MOST_US;
	maple_turn_give();
	raw_futex_wait_us(&word[self], 0, looks == self ? *us : OTHER_US);
	maple_turn_take();
	woken = word[self];
	word[self] = 0;
	if (looks != self || !parked(self))
		return false;
	if (woken) {
		*us = 0;
		return comes_to_rest(parked);
	}
	return is_quiet(parked, true);
}
