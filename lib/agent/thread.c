// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Threads of the run: their numbers in order of appearance, names that last
 * ("0.2.1"), priorities, and the one CPU that they share.
 *
 * Every priority is set with SCHED_RESET_ON_FORK, so that no process that the
 * target starts, whatever it is, inherits a real-time priority.
 */
#include <sched.h>
#include <sys/resource.h>
#include "core.h"
#include "raw.h"

#define LEVELS (MAPLE_PRIO_NORM_LAST - MAPLE_PRIO_NORM_FIRST + 1)
#define NICES  38  /* -20 to 17; the last two are for change points */
/*
 * Yields that count as a spin (algorithms.md 7, 10). Events in between do not
 * matter: who waits for a flag reads it. To give way too often is no harm.
 */
#define YIELDS 100
#define ARMED  64  /* threads that arm the quiet sites again */

__thread struct maple_agent_thread maple_self
	__attribute__((tls_model("initial-exec"))) = {
		.number = MAPLE_THREAD_NONE,
	};

static uint8_t shuffled[LEVELS]; /* 0 ... LEVELS - 1, by the seed */
static uint32_t detached = MAPLE_THREAD_NONE; /* number to get back */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static void shuffle(uint64_t seed, unsigned int n)
{
	unsigned int j;

	for (unsigned int i = 0; i < n; i++) {
		j = next_random(&seed) % (i + 1);
		shuffled[i] = shuffled[j];
		shuffled[j] = i;
	}
}

static bool real_time(const struct maple_shm *shm)
{
	return shm->sched != MAPLE_SCHED_NATIVE &&
	       shm->sched != MAPLE_SCHED_PCTLARGE;
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

/* maple_thread_set - gives @tid a real-time priority; 0: the caller */
bool maple_thread_set(int tid, unsigned int prio)
{
	struct sched_param p = { prio };
	long ret = raw3(SYS_sched_setscheduler, tid,
			SCHED_FIFO | SCHED_RESET_ON_FORK, &p);

	if (ret != -3) /* ESRCH: it has just ended */
		count(maple_shm, ret);
	return !raw_failed(ret);
}

static void set_nice(int tid, int nice)
{
	count(maple_shm, raw3(SYS_setpriority, PRIO_PROCESS, tid, nice));
}

/* maple_thread_level - from now on thread @number has @prio */
void maple_thread_level(uint32_t number, unsigned int prio)
{
	struct maple_shm_thread *t = &maple_shm->thread[number];

	t->prio = prio;
	if (t->tid && t->alive && !*(volatile uint32_t *)&t->demoted)
		maple_thread_set(t->tid, prio);
}

/*
 * maple_thread_settle - the caller takes the level that it should have
 *
 * A spinner that the campaign has demoted stays below everyone until its
 * slice is over, even if each round of its spin comes through here.
 */
void maple_thread_settle(void)
{
	struct maple_shm_thread *t = &maple_shm->thread[maple_self.number];
	struct sched_param none = { 0 };

	if (*(volatile uint32_t *)&t->demoted)
		raw3(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
	/* Also when the slice ended just before that call. */
	if (!*(volatile uint32_t *)&t->demoted && t->prio)
		maple_thread_set(0, t->prio);
}

/* The priority that thread @number begins with; PLAN: the automaton's. */
static unsigned int first_prio(const struct maple_shm *shm, uint32_t number)
{
	unsigned int n = number < LEVELS ? number : LEVELS - 1;

	switch (shm->sched) {
	case MAPLE_SCHED_OLDER:
		return MAPLE_PRIO_NORM_LAST - n;
	case MAPLE_SCHED_YOUNGER:
		return MAPLE_PRIO_NORM_FIRST + n;
	case MAPLE_SCHED_PCT:
		return MAPLE_PRIO_NORM_FIRST + shuffled[number % LEVELS];
	case MAPLE_SCHED_PLAN:
		return maple_agent_enforces ? 0 : MAPLE_PRIO_NORM_LAST - n;
	default:
		return 0;
	}
}

/* maple_thread_drop_to - the caller has met PCT change point @change */
void maple_thread_drop_to(unsigned int change)
{
	struct maple_shm *shm = maple_shm;
	unsigned int left = change < shm->nchanges ? shm->nchanges - change : 1;

	if (real_time(shm))
		maple_thread_level(maple_self.number, left);
	else if (shm->sched == MAPLE_SCHED_PCTLARGE)
		set_nice(0, left >= 2 ? 18 : 19);
}

static unsigned int put_number(char *to, unsigned int n)
{
	char digits[12];
	unsigned int i = 0, len = 0;

	do {
		digits[i++] = '0' + n % 10;
		n /= 10;
	} while (n);
	while (i)
		to[len++] = digits[--i];
	return len;
}

/* "0.2" is the second child of "0"; a name that is too long ends in '+'. */
static void name_child(struct maple_shm_thread *t,
		       struct maple_shm_thread *parent)
{
	unsigned int n = 0;

	while (parent->name[n] && n < MAPLE_SHM_NAME - 1) {
		t->name[n] = parent->name[n];
		n++;
	}
	if (n + 12 >= MAPLE_SHM_NAME) {
		t->name[MAPLE_SHM_NAME - 2] = '+';
		t->name[MAPLE_SHM_NAME - 1] = 0;
		return;
	}
	t->name[n++] = '.';
	n += put_number(t->name + n, __atomic_add_fetch(&parent->born, 1,
							__ATOMIC_RELAXED));
	t->name[n] = 0;
}

uint32_t maple_agent_thread_new(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_thread *t;
	uint32_t n;

	if (!maple_agent_on())
		return MAPLE_THREAD_NONE;
	n = __atomic_load_n(&shm->nthreads, __ATOMIC_RELAXED);
	do {
		if (n >= MAPLE_THREADS) {
			shm->stats.threads_over++;
			return MAPLE_THREAD_NONE;
		}
	} while (!__atomic_compare_exchange_n(&shm->nthreads, &n, n + 1, false,
					      __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	maple_agent_enter();
	t = &shm->thread[n];
	t->tid = 0;
	t->alive = 0;
	t->pthread = 0;
	t->demoted = 0;
	t->events = 0;
	t->born = 0;
	t->pthread = 0;
	t->parent = maple_self.number;
	name_child(t, &shm->thread[maple_self.number]);
	t->prio = first_prio(shm, n);
	if (maple_agent_enforces)
		maple_enforce_born(n);
	else if (shm->budget && (n < ARMED || !(n & (n - 1))))
		maple_patch_rearm();
	maple_agent_leave();
	return n;
}

void maple_agent_thread_drop(uint32_t number)
{
	if (!maple_shm || number >= MAPLE_THREADS)
		return;
	if (maple_agent_enforces) {
		maple_agent_enter();
		maple_enforce_exit(number);
		maple_agent_leave();
	}
	maple_shm->thread[number].prio = 0;
}

unsigned int maple_agent_thread_prio(uint32_t number)
{
	if (!maple_shm || number >= MAPLE_THREADS)
		return 0;
	return maple_shm->thread[number].prio;
}

void maple_agent_thread_start(uint32_t number, const void *stack,
			      uint64_t size)
{
	struct maple_shm *shm = maple_shm;
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_START,
				    (uint64_t)stack, size };
	struct maple_shm_thread *t;

	if (!shm || number >= MAPLE_THREADS)
		return;
	maple_agent_enter();
	maple_self.number = number;
	maple_self.clock = 0;
	maple_self.yields = 0;
	t = &shm->thread[number];
	t->pthread = (uint64_t)__builtin_thread_pointer();
	t->tid = raw0(SYS_gettid);
	t->alive = 1;
	if (shm->sched == MAPLE_SCHED_PCTLARGE)
		set_nice(0, -20 + shuffled[number % NICES]);
	else if (t->prio)
		maple_thread_set(0, t->prio);
	maple_fault_stack();
	maple_ring_put(MAPLE_EV_START, &acc, 0, 0, 0, 0);
	maple_agent_leave();
}

void maple_agent_thread_exit(void)
{
	struct maple_access acc = { MAPLE_SITE_NONE, MAPLE_EV_EXIT, 0, 0 };
	uint32_t number = maple_self.number;

	if (!maple_shm || number == MAPLE_THREAD_NONE)
		return;
	maple_agent_enter();
	maple_ring_put(MAPLE_EV_EXIT, &acc, 0, 0, 0, 0);
	maple_shm->thread[number].alive = 0;
	if (maple_agent_enforces)
		maple_enforce_exit(number);
	maple_self.number = MAPLE_THREAD_NONE;
	maple_fault_stack_drop();
	maple_agent_leave();
}

uint32_t maple_agent_thread_find(uint64_t pthread)
{
	const struct maple_shm *shm = maple_shm;

	if (!shm)
		return MAPLE_THREAD_NONE;
	/* A pthread_t may be used again: the last one is meant. */
	for (uint32_t i = shm->nthreads; i-- > 0;)
		if (shm->thread[i].pthread == pthread)
			return i;
	return MAPLE_THREAD_NONE;
}

void maple_agent_yield(void)
{
	struct maple_shm *shm = maple_shm;
	unsigned int prio;

	if (!maple_agent_on() || ++maple_self.yields < YIELDS)
		return;
	maple_agent_enter();
	maple_self.yields = 0;
	if (maple_agent_enforces) {
		maple_enforce_spin();
	} else if (real_time(shm)) {
		/* Runs again once nobody else can, and then as before. */
		prio = shm->thread[maple_self.number].prio;
		maple_thread_set(0, MAPLE_PRIO_MIN);
		maple_thread_set(0, prio);
	}
	maple_agent_leave();
}

/* maple_thread_take - the one CPU, and the calling thread's priority */
void maple_thread_take(void)
{
	struct maple_shm *shm = maple_shm;
	uint64_t mask[16] = { 0 };
	uint32_t n = maple_self.number;

	maple_ring_shared = true;
	if (shm->sched == MAPLE_SCHED_NATIVE)
		return;
	if (shm->cpu >= 0 && shm->cpu < 1024) {
		mask[shm->cpu / 64] = 1ull << shm->cpu % 64;
		shm->stats.pinned = !raw_failed(raw3(SYS_sched_setaffinity, 0,
						     sizeof(mask), mask));
	}
	maple_ring_shared = !shm->stats.pinned;
	if (n != MAPLE_THREAD_NONE && shm->thread[n].prio)
		maple_thread_set(0, shm->thread[n].prio);
}

/*
 * maple_thread_put_back - policy, priority and affinity of the calling thread
 * as they were before the run
 */
void maple_thread_put_back(struct maple_shm *shm)
{
	struct sched_param p = { shm->old_priority };

	if (shm->sched == MAPLE_SCHED_NATIVE)
		return;
	/* Without privileges the flag stays; it does no harm by itself. */
	if (raw_failed(raw3(SYS_sched_setscheduler, 0, shm->old_policy, &p)))
		raw3(SYS_sched_setscheduler, 0,
		     shm->old_policy | SCHED_RESET_ON_FORK, &p);
	if (shm->sched == MAPLE_SCHED_PCTLARGE)
		raw3(SYS_setpriority, PRIO_PROCESS, 0, shm->old_nice);
	raw3(SYS_sched_setaffinity, 0, sizeof(shm->old_affinity),
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

/* maple_thread_main - the main thread becomes thread 0 of the run */
void maple_thread_main(void)
{
	struct maple_shm *shm = maple_shm;
	struct maple_shm_thread *t = &shm->thread[0];
	struct sched_param p = { 0 };

	shm->old_policy = raw1(SYS_sched_getscheduler, 0);
	raw2(SYS_sched_getparam, 0, &p);
	shm->old_priority = p.sched_priority;
	/* The kernel's own way to say it: 20 - nice. */
	shm->old_nice = 20 - (int)raw2(SYS_getpriority, PRIO_PROCESS, 0);
	raw3(SYS_sched_getaffinity, 0, sizeof(shm->old_affinity),
	     shm->old_affinity);
	if (shm->sched != MAPLE_SCHED_NATIVE) {
		raise_limit(RLIMIT_RTPRIO, MAPLE_PRIO_HOOK);
		raise_limit(RLIMIT_NICE, 40);
	}
	shuffle(shm->seed, shm->sched == MAPLE_SCHED_PCTLARGE ? NICES : LEVELS);
	*t = (struct maple_shm_thread){ .parent = MAPLE_THREAD_NONE,
					.name = "0" };
	shm->nthreads = 1;
	t->prio = first_prio(shm, 0);
	if (maple_agent_enforces)
		maple_enforce_born(0);
	maple_thread_take();
	maple_agent_thread_start(0, NULL, 0);
}

/* MADV_WIPEONFORK page: zero in a forked child, shared with a vforked one. */
static uint32_t *in_parent;

void maple_thread_watch_fork(void)
{
	in_parent = maple_lock_memory(4096);
	if (!in_parent)
		return;
	raw3(SYS_madvise, in_parent, 4096, 18); /* MADV_WIPEONFORK */
	*in_parent = 1;
}

void maple_agent_detach(void)
{
	struct maple_shm *shm = maple_shm;
	bool ours;

	if (!shm)
		return;
	ours = raw0(SYS_getpid) == shm->pid;
	maple_thread_put_back(shm);
	if (!ours && in_parent && *in_parent)
		return; /* vforked: the memory is still the target's */
	detached = maple_self.number;
	maple_self.number = MAPLE_THREAD_NONE;
	if (ours)
		__atomic_store_n(&shm->state, MAPLE_AGENT_REPLACED,
				 __ATOMIC_RELEASE);
	else
		maple_shm = NULL;
}

void maple_agent_attach(void)
{
	struct maple_shm *shm = maple_shm;

	if (!shm || raw0(SYS_getpid) != shm->pid)
		return;
	maple_self.number = detached;
	maple_thread_take();
	__atomic_store_n(&shm->state, MAPLE_AGENT_RUNNING, __ATOMIC_RELEASE);
}

void maple_agent_exiting(void)
{
	uint32_t running = MAPLE_AGENT_RUNNING;

	if (maple_shm)
		__atomic_compare_exchange_n(&maple_shm->state, &running,
					    MAPLE_AGENT_EXITING, false,
					    __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
}
