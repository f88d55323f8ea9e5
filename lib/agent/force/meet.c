// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Meetings: two threads that are about to write go on at the same moment, on
 * two CPUs, and what each has written is not yet to be seen by the other when
 * it reads what that one writes. Only the CPUs' store buffers do that
 * (algorithms.md 16).
 *
 * Whoever comes to one of the run's places, a few times, and later on at hits
 * that are powers of two, waits for another thread at one of them with other
 * memory. Both then read what the other is to write, so that the read to come
 * is served by their own cache; and at a time that both see on the CPU's clock
 * they go on, behind a few writes of ours to memory that no cache has. A CPU
 * lets its writes be seen in their order, so the program's comes late.
 *
 * With a hit at its first place the run is the control of another one: the two
 * come together in the same way, and then one goes, and the other later on.
 *
 * One meeting at a time. Who is neither the first nor the second goes by.
 */
#include "agent/core.h"
#include "agent/raw.h"

#define IN_VAIN	  4	 /* waits for whom nobody came: then there are few */
#define MEETINGS  1000	 /* of a run */
#define LEAST_US  1000	 /* that is waited, doubled ... */
#define DOUBLINGS 6	 /* ... fewer times than that, as the run's seed says */
#define LOOKS	  100000 /* at what the other does */
#define LEAD	  20000	 /* cycles, in which both see when it is time */
#define LINES	  56 /* of 64 bytes: as many writes may wait, or more, ... */
#define STEPS	  7  /* ... but not on each CPU: of so many the seed draws */
#define APART	  4000000 /* cycles, which is long after */

/*
 * The first goes from FREE by COMING to WAITING and sleeps, the second by
 * MEETING to MET, and the first, when it is awake, to AWAKE. GO is the second's
 * to say, when it is awake as well. LATE: one has waited too long for the
 * other. From there, and from GO, the first goes to FREE.
 */
enum { FREE, COMING, WAITING, MEETING, MET, AWAKE, GO, LATE };

static uint32_t state;	  /* a futex word */
static uint64_t place[2]; /* what the first, and the second, write */
static struct line {
	uint64_t word[8];
} slow[2][LINES] __attribute__((aligned(64)));
static int32_t sleeper; /* the first's tid; and the CPUs that it had, */
static uint64_t cpus[16];
static long ncpus;		/* ... so many bytes of them */
static uint64_t when;		/* GO: by the CPU's clock */
static uint32_t vain, meetings; /* so far */

static bool move(uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&state, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void become(uint32_t to)
{
	__atomic_store_n(&state, to, __ATOMIC_RELEASE);
}

/* Whether it has become @to in time; if not, it is LATE from here on. */
static bool await(uint32_t from, uint32_t to)
{
	uint32_t now;

	for (uint32_t i = 0; i < LOOKS; i++) {
		now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
		if (now != from)
			return now == to;
		__builtin_ia32_pause();
	}
	return !move(from, LATE) && await(from, to);
}

/* @tid, the first, which sleeps, wakes on any CPU but the caller's. */
static void send_away(int32_t tid)
{
	uint64_t rest[16];
	uint32_t cpu = 0;

	ncpus = raw3(SYS_sched_getaffinity, tid, sizeof(cpus), cpus);
	raw3(SYS_getcpu, &cpu, NULL, NULL);
	__builtin_memcpy(rest, cpus, sizeof(rest));
	if (ncpus > 0 && cpu < 8 * sizeof(rest)) {
		rest[cpu / 64] &= ~(1ull << cpu % 64);
		raw3(SYS_sched_setaffinity, tid, ncpus, rest);
	}
}

static void bring_back(int32_t tid)
{
	if (ncpus > 0)
		raw3(SYS_sched_setaffinity, tid, ncpus, cpus);
}

/* How many of ours the program's write has to wait for in this run. */
static unsigned int lines(void)
{
	return LINES - (maple_shm->seed >> 8) % STEPS * (LINES / STEPS);
}

/*
 * What stands in no cache takes long to write, and what comes after waits. The
 * pages are there by then: a fault would empty the buffer.
 */
static void prepare(bool second)
{
	unsigned int n = lines();

	for (unsigned int i = 0; i < n; i++) {
		*(volatile uint64_t *)slow[second][i].word = 0;
		__asm__ volatile("clflush %0" : "+m"(slow[second][i]));
	}
	__asm__ volatile("mfence" ::: "memory");
}

/*
 * Until the program's read no system call comes after this, nothing that is
 * locked, and nothing that reads what another CPU has: the CPU would make up
 * for what it had read too early.
 */
static void go_on(bool second)
{
	bool later = second && maple_shm->change[0].hit;
	unsigned int n = lines();
	uint64_t at = when + (later ? APART : 0);

	while (__builtin_ia32_rdtsc() < at)
		;
	for (unsigned int i = 0; i < n; i++)
		*(volatile uint64_t *)slow[second][i].word = at;
}

static void come_first(void)
{
	uint32_t us = LEAST_US << maple_shm->seed % DOUBLINGS;
	bool met;

	raw_futex_wait_us(&state, WAITING, us);
	if (move(WAITING, FREE)) {
		vain++;
		return;
	}
	met = await(MEETING, MET);
	bring_back(0);
	maple_ring_peek(place[1], 1);
	prepare(false);
	if (met && move(MET, AWAKE) && await(AWAKE, GO))
		go_on(false);
	become(FREE);
}

static void come_second(void)
{
	raw_futex_wake(&state);
	maple_ring_peek(place[0], 1);
	prepare(true);
	if (!await(MET, AWAKE))
		return;
	when = __builtin_ia32_rdtsc() + LEAD;
	if (!move(AWAKE, GO))
		return;
	meetings++;
	maple_shm->stats.changes_done++;
	go_on(true);
}

/*
 * Whether to wait for somebody at a place that was come to so many times: at
 * first, and later on now and then.
 */
static bool waits(uint32_t hits)
{
	return meetings < MEETINGS && (vain < IN_VAIN || !(hits & (hits - 1)));
}

/*
 * maple_meet - the caller is about to do @acc at one of the run's places, which
 * has had so many @hits with this one
 *
 * Context: inside the agent, of a thread whose hook does no more.
 */
void maple_meet(const struct maple_access *acc, uint32_t hits)
{
	uint32_t now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
	int32_t first;

	if (now == FREE && waits(hits) && move(FREE, COMING)) {
		place[0] = acc->addr;
		sleeper = maple_shm->thread[maple_self.number].tid;
		become(WAITING);
		come_first();
	} else if (now == WAITING && place[0] != acc->addr &&
		   move(WAITING, MEETING)) {
		place[1] = acc->addr;
		first = sleeper; /* one that gives up is another's, soon */
		send_away(first);
		if (move(MEETING, MET))
			come_second();
		else
			bring_back(first);
	}
}
