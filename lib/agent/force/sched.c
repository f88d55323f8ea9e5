// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Priorities, and the one CPU that all threads of the run share. Every
 * priority is set with SCHED_RESET_ON_FORK, so that no process that the target
 * starts, whatever it is, inherits a real-time priority.
 */
#include <sched.h>
#include <sys/resource.h>
#include "agent/core.h"
#include "agent/raw.h"
#include "base/mix.h"

#define LEVELS (MAPLE_PRIO_NORM_LAST - MAPLE_PRIO_NORM_FIRST + 1)
#define NICES  38 /* -20 to 17; the last two are for change points */
/*
 * Yields that count as a spin (algorithms.md 7, 10). Events in between do not
 * matter: who waits for a flag reads it. To give way too often is no harm.
 */
#define YIELDS	 100
#define DELAY_US 50000 /* RandDelay sleeps less than this */

static uint8_t shuffled[LEVELS]; /* 0 ... LEVELS - 1, by the seed */

static void shuffle(uint64_t seed, unsigned int n)
{
	unsigned int j;

	for (unsigned int i = 0; i < n; i++) {
		j = maple_draw(&seed) % (i + 1);
		shuffled[i] = shuffled[j];
		shuffled[j] = i;
	}
}

static bool real_time(const struct maple_shm *shm)
{
	return maple_shm_owns_sched(shm) &&
	       shm->sched != MAPLE_SCHEDULE_PCTLARGE;
}

/* PCT: above the levels that its change points lead to. */
static unsigned int pct_first(const struct maple_shm *shm)
{
	return shm->nchanges < MAPLE_PRIO_NORM_FIRST  ? MAPLE_PRIO_NORM_FIRST
	       : shm->nchanges < MAPLE_PRIO_NORM_LAST ? shm->nchanges + 1
						      : MAPLE_PRIO_NORM_LAST;
}

static unsigned int pct_levels(const struct maple_shm *shm)
{
	return MAPLE_PRIO_NORM_LAST - pct_first(shm) + 1;
}

static void count(struct maple_shm *shm, long ret)
{
	if (!raw_failed(ret)) {
		shm->stats.priorities++;
	} else {
		shm->stats.refused++;
		shm->stats.refused_errno = -ret;
	}
}

/* maple_sched_set - gives @tid a real-time priority; 0: the caller */
bool maple_sched_set(int tid, unsigned int prio)
{
	struct sched_param p = { prio };
	long ret;

	if (!maple_shm_has_priorities(maple_shm))
		return true;
	ret = raw3(SYS_sched_setscheduler, tid,
		   SCHED_FIFO | SCHED_RESET_ON_FORK, &p);
	if (ret != -3) /* ESRCH: it has just ended */
		count(maple_shm, ret);
	return !raw_failed(ret);
}

static void set_nice(int nice)
{
	count(maple_shm, raw3(SYS_setpriority, PRIO_PROCESS, 0, nice));
}

/* maple_sched_level - from now on thread @number has @prio */
void maple_sched_level(uint32_t number, unsigned int prio)
{
	struct maple_shm_thread *t = &maple_shm->thread[number];

	t->prio = prio;
	if (t->tid && t->alive && !*(volatile uint32_t *)&t->demoted)
		maple_sched_set(t->tid, prio);
}

/*
 * maple_sched_settle - the caller takes the level that it should have
 *
 * A spinner that the campaign has demoted stays below everyone until its
 * slice is over, even if each round of its spin comes through here.
 */
void maple_sched_settle(void)
{
	struct maple_shm_thread *t = &maple_shm->thread[maple_self.number];
	struct sched_param none = { 0 };

	if (*(volatile uint32_t *)&t->demoted)
		raw3(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
	/* Also when the slice ended just before that call. */
	if (!*(volatile uint32_t *)&t->demoted && t->prio)
		maple_sched_set(0, t->prio);
}

/*
 * maple_sched_first - the priority that thread @number begins with, 0 for
 * none; with a plan the automaton gives it
 */
unsigned int maple_sched_first(uint32_t number)
{
	const struct maple_shm *shm = maple_shm;
	unsigned int n = number < LEVELS ? number : LEVELS - 1;

	switch (shm->sched) {
	case MAPLE_SCHEDULE_OLDER:
		return MAPLE_PRIO_NORM_LAST - n;
	case MAPLE_SCHEDULE_YOUNGER:
		return MAPLE_PRIO_NORM_FIRST + n;
	case MAPLE_SCHEDULE_PCT:
		return pct_first(shm) + shuffled[number % pct_levels(shm)];
	case MAPLE_SCHEDULE_TURNS: /* above those that have met change points */
		return pct_first(shm);
	case MAPLE_SCHEDULE_CONTROL: /* in transit, but for the first one */
		return number ? MAPLE_PRIO_HIGH : MAPLE_PRIO_NORM_FIRST;
	case MAPLE_SCHEDULE_PLAN:
		return maple_agent_enforces ? 0 : MAPLE_PRIO_NORM_LAST - n;
	default:
		return 0;
	}
}

/* maple_sched_begin - the calling thread, @number, takes its place */
void maple_sched_begin(uint32_t number)
{
	struct maple_shm *shm = maple_shm;

	if (shm->sched == MAPLE_SCHEDULE_PCTLARGE)
		set_nice(-20 + shuffled[number % NICES]);
	else if (shm->thread[number].prio)
		maple_sched_set(0, shm->thread[number].prio);
}

/* Uniform below DELAY_US, the same for the same seed and change point. */
static void delay(uint64_t seed, unsigned int change)
{
	struct timespec t = { 0 };

	seed += change;
	t.tv_nsec = maple_draw(&seed) % DELAY_US * 1000;
	raw2(SYS_nanosleep, &t, NULL);
}

/*
 * maple_sched_change - the caller has met change point @change, and is about
 * to make the access that it stands at
 */
void maple_sched_change(unsigned int change)
{
	struct maple_shm *shm = maple_shm;
	unsigned int left = change < shm->nchanges ? shm->nchanges - change : 1;

	if (shm->sched == MAPLE_SCHEDULE_RANDDELAY)
		delay(shm->seed, change);
	else if (shm->sched == MAPLE_SCHEDULE_PCTLARGE)
		set_nice(left >= 2 ? 18 : 19);
	else if (real_time(shm))
		maple_sched_level(maple_self.number, left);
}

void maple_agent_yield(void)
{
	struct maple_shm *shm = maple_shm;
	unsigned int prio;

	if (!maple_agent_on())
		return;
	if (maple_agent_controls) {
		maple_control_yield();
		return;
	}
	if (++maple_self.yields < YIELDS)
		return;
	maple_agent_enter();
	maple_self.yields = 0;
	if (maple_agent_enforces) {
		maple_enforce_spin();
	} else if (real_time(shm)) {
		/* Runs again once nobody else can, and then as before. */
		prio = shm->thread[maple_self.number].prio;
		maple_sched_set(0, MAPLE_PRIO_MIN);
		maple_sched_set(0, prio);
	}
	maple_agent_leave();
}

void maple_agent_turn(void)
{
	if (maple_shm->sched == MAPLE_SCHEDULE_TURNS)
		raw0(SYS_sched_yield);
}

/* maple_sched_take - the one CPU, and the calling thread's priority */
void maple_sched_take(void)
{
	struct maple_shm *shm = maple_shm;
	uint64_t mask[16] = { 0 };
	uint32_t n = maple_self.number;

	maple_ring_shared = true;
	if (!maple_shm_owns_sched(shm)) {
		maple_ring_start();
		return;
	}
	if (shm->cpu >= 0 && shm->cpu < 1024) {
		mask[shm->cpu / 64] = 1ull << shm->cpu % 64;
		shm->stats.pinned = !raw_failed(
			raw3(SYS_sched_setaffinity, 0, sizeof(mask), mask));
	}
	maple_ring_shared = !shm->stats.pinned;
	if (n != MAPLE_THREAD_NONE && shm->thread[n].prio)
		maple_sched_set(0, shm->thread[n].prio);
	maple_ring_start();
}

/*
 * maple_sched_put_back - policy, priority and affinity of @tid as they were
 * before the run; 0: the caller
 */
void maple_sched_put_back(struct maple_shm *shm, int tid)
{
	struct sched_param p = { shm->old_priority };

	if (!maple_shm_owns_sched(shm))
		return;
	/* Without privileges the flag stays; it does no harm by itself. */
	if (raw_failed(raw3(SYS_sched_setscheduler, tid, shm->old_policy, &p)))
		raw3(SYS_sched_setscheduler, tid,
		     shm->old_policy | SCHED_RESET_ON_FORK, &p);
	if (shm->sched == MAPLE_SCHEDULE_PCTLARGE)
		raw3(SYS_setpriority, PRIO_PROCESS, tid, shm->old_nice);
	raw3(SYS_sched_setaffinity, tid, sizeof(shm->old_affinity),
	     shm->old_affinity);
}

/*
 * A target that gives up its privileges is to keep its priorities. Children
 * inherit the limits, which only ever permit more.
 */
static void raise_limit(int resource, uint64_t to)
{
	struct rlimit limit;

	if (raw_failed(raw4(SYS_prlimit64, 0, resource, NULL, &limit)))
		return;
	if (limit.rlim_max < to)
		limit.rlim_max = to;
	limit.rlim_cur = limit.rlim_max;
	raw4(SYS_prlimit64, 0, resource, &limit, NULL);
}

/* maple_sched_start - remembers what was before the run; draws its order */
void maple_sched_start(void)
{
	struct maple_shm *shm = maple_shm;
	struct sched_param p = { 0 };

	shm->old_policy = raw1(SYS_sched_getscheduler, 0);
	raw2(SYS_sched_getparam, 0, &p);
	shm->old_priority = p.sched_priority;
	/* The kernel's own way to say it: 20 - nice. */
	shm->old_nice = 20 - (int)raw2(SYS_getpriority, PRIO_PROCESS, 0);
	raw3(SYS_sched_getaffinity, 0, sizeof(shm->old_affinity),
	     shm->old_affinity);
	if (maple_shm_owns_sched(shm) && !maple_joined) {
		raise_limit(RLIMIT_RTPRIO, MAPLE_PRIO_HOOK);
		raise_limit(RLIMIT_NICE, 40);
	}
	shuffle(shm->seed,
		shm->sched == MAPLE_SCHEDULE_PCTLARGE ? NICES : pct_levels(shm));
}
