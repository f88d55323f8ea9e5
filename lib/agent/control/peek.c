// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether a lock can be had, from libc's own words (algorithms.md 10, rule 8).
 *
 * On one CPU, with all others parked, what a word says is exact. Its layout is
 * glibc's, and tried at start with locks of our own; what does not look as
 * expected is not looked at: then who wants it is a candidate at any time, and
 * the kernel decides who gets it. A lock may be in memory that is gone by now,
 * so words are read by stub.S.
 */
#include <pthread.h>
#include <semaphore.h>
#include "agent/core.h"
#include "agent/raw.h"

/* Words of an int each, from a lock's first byte. */
#define MUTEX_OWNER   2
#define MUTEX_KIND    4
#define RWLOCK_WRITER 6
#define READERS_SHIFT 3
#define OWNER_DIED    0x40000000u /* of a robust mutex: it can be had */

static_assert(offsetof(pthread_mutex_t, __data.__owner) == 4 * MUTEX_OWNER &&
		      offsetof(pthread_mutex_t, __data.__kind) ==
			      4 * MUTEX_KIND &&
		      offsetof(pthread_rwlock_t, __data.__cur_writer) ==
			      4 * RWLOCK_WRITER,
	      "as glibc has it");

static bool known[MAPLE_PEEK_SEM + 1];
static uint32_t spin_free; /* what is in a spin lock that nobody has */

static uint32_t word(uint64_t addr, unsigned int i)
{
	return maple_stub_load_word(addr + 4 * i);
}

/* Whether its owner does not wait for itself. */
static bool is_had_again(uint64_t mutex)
{
	uint32_t kind = word(mutex, MUTEX_KIND) & 3;

	return kind == PTHREAD_MUTEX_RECURSIVE ||
	       kind == PTHREAD_MUTEX_ERRORCHECK;
}

static bool is_free(unsigned int peek, uint64_t addr, int tid)
{
	uint32_t first = word(addr, 0);
	int writer = peek == MAPLE_PEEK_RDLOCK || peek == MAPLE_PEEK_WRLOCK
			     ? (int)word(addr, RWLOCK_WRITER)
			     : 0;

	switch (peek) {
	case MAPLE_PEEK_MUTEX:
		return !first || first & OWNER_DIED ||
		       ((int)word(addr, MUTEX_OWNER) == tid &&
			is_had_again(addr));
	/* Its writer is told that it is. */
	case MAPLE_PEEK_RDLOCK:
		return !writer || writer == tid;
	case MAPLE_PEEK_WRLOCK:
		return writer == tid || (!writer && !(first >> READERS_SHIFT));
	case MAPLE_PEEK_SPIN:
		return first == spin_free;
	case MAPLE_PEEK_SEM:
		return first != 0;
	}
	return true;
}

/* maple_peek_enabled - whether @op, of thread @thread, would not block now */
bool maple_peek_enabled(uint32_t thread, const struct maple_policy_op *op)
{
	if (op->peek == MAPLE_PEEK_WAITER)
		return maple_waiters_woken(thread);
	if (op->peek == MAPLE_PEEK_SLEEPER)
		return maple_sleepers_woken(thread);
	if (op->peek == MAPLE_PEEK_TIMER || op->peek == MAPLE_PEEK_DEATH)
		return *(volatile uint64_t *)op->addr != op->until;
	return op->addr & 3 || op->peek > MAPLE_PEEK_SEM || !known[op->peek] ||
	       is_free(op->peek, op->addr, maple_shm->thread[thread].tid);
}

/* maple_peek_memory - up to 8 bytes that the caller is about to read */
uint64_t maple_peek_memory(uint64_t addr, uint64_t size)
{
	uint64_t value;

	if (maple_net_has(addr, size) && maple_net_read(addr, size, &value))
		return value;
	if (size == 4 && !(addr & 3))
		return word(addr, 0);
	if (size == 8 && !(addr & 3))
		return word(addr, 0) | (uint64_t)word(addr, 1) << 32;
	return maple_ring_peek(addr, size);
}

/* maple_peek_value - the same, of what @op reads */
uint64_t maple_peek_value(const struct maple_policy_op *op)
{
	return maple_peek_memory(op->addr, op->size);
}

static void try_mutex(void)
{
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	int self = raw0(SYS_gettid);
	bool right = is_free(MAPLE_PEEK_MUTEX, (uint64_t)&m, -1);

	pthread_mutex_lock(&m);
	right &= !is_free(MAPLE_PEEK_MUTEX, (uint64_t)&m, -1) &&
		 is_free(MAPLE_PEEK_MUTEX, (uint64_t)&m, self);
	pthread_mutex_unlock(&m);
	pthread_mutex_lock(&once);
	right &= !is_free(MAPLE_PEEK_MUTEX, (uint64_t)&once, self);
	pthread_mutex_unlock(&once);
	known[MAPLE_PEEK_MUTEX] = right;
}

static void try_rwlock(void)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	uint64_t at = (uint64_t)&l;
	bool right = is_free(MAPLE_PEEK_WRLOCK, at, -1) &&
		     is_free(MAPLE_PEEK_RDLOCK, at, -1);

	pthread_rwlock_rdlock(&l);
	right &= !is_free(MAPLE_PEEK_WRLOCK, at, -1) &&
		 is_free(MAPLE_PEEK_RDLOCK, at, -1);
	pthread_rwlock_unlock(&l);
	pthread_rwlock_wrlock(&l);
	right &= !is_free(MAPLE_PEEK_WRLOCK, at, -1) &&
		 !is_free(MAPLE_PEEK_RDLOCK, at, -1);
	pthread_rwlock_unlock(&l);
	known[MAPLE_PEEK_WRLOCK] = known[MAPLE_PEEK_RDLOCK] = right;
}

static void try_spin(void)
{
	pthread_spinlock_t l;

	pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
	spin_free = *(volatile uint32_t *)&l;
	pthread_spin_lock(&l);
	known[MAPLE_PEEK_SPIN] = *(volatile uint32_t *)&l != spin_free;
	pthread_spin_unlock(&l);
}

static void try_semaphore(void)
{
	sem_t s;
	bool right;

	sem_init(&s, 0, 0);
	right = !is_free(MAPLE_PEEK_SEM, (uint64_t)&s, 0);
	sem_post(&s);
	right &= is_free(MAPLE_PEEK_SEM, (uint64_t)&s, 0);
	sem_wait(&s);
	right &= !is_free(MAPLE_PEEK_SEM, (uint64_t)&s, 0);
	sem_destroy(&s);
	known[MAPLE_PEEK_SEM] = right;
}

/* maple_peek_start - in a thread that the run does not know yet */
void maple_peek_start(void)
{
	try_mutex();
	try_rwlock();
	try_spin();
	try_semaphore();
}
