// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Whether a lock can be had is read from libc's own words
 * (lib/agent/control/peek.c). libc itself says whether that is right: whoever
 * would not block is whoever's trylock() succeeds, or whose lock() tells of an
 * error.
 *
 * beside: guests
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "agent/core.h"

#define TIMES 2000 /* things that are done to a lock */

struct maple_shm *maple_shm;
__thread struct maple_agent_thread maple_self
	__attribute__((tls_model("initial-exec")));

uint32_t maple_stub_load_word(uint64_t addr)
{
	return *(volatile uint32_t *)addr;
}

/* Nobody waits for anything else here. */
bool maple_waiters_woken(uint32_t thread)
{
	abort();
}

bool maple_sleepers_woken(uint32_t thread)
{
	abort();
}

bool maple_net_has(uint64_t addr, uint64_t size)
{
	abort();
}

bool maple_net_read(uint64_t addr, uint64_t size, uint64_t *value)
{
	abort();
}

uint64_t maple_ring_peek(uint64_t addr, uint64_t size)
{
	abort();
}

/* Of the two that want locks: 0 is who tests. */
static __thread unsigned int self;

static struct other {
	pthread_t thread;
	sem_t asked, done;
	int (*what)(void);
	int answer;
} other;

static union {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spin;
	sem_t sem;
} lock;

static void *answer(void *arg)
{
	maple_shm->thread[1].tid = gettid();
	self = 1;
	do {
		sem_post(&other.done);
		sem_wait(&other.asked);
		other.answer = other.what ? other.what() : 0;
	} while (other.what);
	return NULL;
}

static void begin(void)
{
	memset(&lock, 0, sizeof(lock));
	maple_shm->thread[0].tid = gettid();
	sem_init(&other.asked, 0, 0);
	sem_init(&other.done, 0, 0);
	assert_int_equal(pthread_create(&other.thread, NULL, answer, NULL), 0);
	sem_wait(&other.done);
}

static int by(unsigned int thread, int (*what)(void))
{
	if (!thread)
		return what();
	other.what = what;
	sem_post(&other.asked);
	sem_wait(&other.done);
	return other.answer;
}

/* The other one is gone, with what it has. */
static void end(void)
{
	other.what = NULL;
	sem_post(&other.asked);
	pthread_join(other.thread, NULL);
}

static bool peek(unsigned int thread, unsigned int how)
{
	const struct maple_policy_op op = { .kind = MAPLE_EV_LOCK,
					    .addr = (uint64_t)&lock,
					    .size = 1,
					    .peek = how };

	return maple_peek_enabled(thread, &op);
}

static unsigned int held[2][MAPLE_PEEK_SEM + 1]; /* how often, by whom and how */

/*
 * Whether its call would return now, be it with an error. What that takes is
 * given back.
 */
static int may_lock(void)
{
	bool checks = (lock.mutex.__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK;
	int ret = pthread_mutex_trylock(&lock.mutex);

	if (ret == EBUSY)
		return checks && held[self][MAPLE_PEEK_MUTEX] &&
		       pthread_mutex_lock(&lock.mutex) == EDEADLK;
	return ret == ENOTRECOVERABLE || ret == EDEADLK ||
	       !pthread_mutex_unlock(&lock.mutex);
}

static int may_read(void)
{
	if (!pthread_rwlock_tryrdlock(&lock.rwlock))
		return !pthread_rwlock_unlock(&lock.rwlock);
	return held[self][MAPLE_PEEK_WRLOCK] &&
	       pthread_rwlock_rdlock(&lock.rwlock) == EDEADLK;
}

static int may_write(void)
{
	if (!pthread_rwlock_trywrlock(&lock.rwlock))
		return !pthread_rwlock_unlock(&lock.rwlock);
	return held[self][MAPLE_PEEK_WRLOCK] &&
	       pthread_rwlock_wrlock(&lock.rwlock) == EDEADLK;
}

static int may_spin(void)
{
	return !pthread_spin_trylock(&lock.spin) &&
	       !pthread_spin_unlock(&lock.spin);
}

static int may_take(void)
{
	return !sem_trywait(&lock.sem) && !sem_post(&lock.sem);
}

static int lock_mutex(void)
{
	return !pthread_mutex_trylock(&lock.mutex);
}

static int unlock_mutex(void)
{
	return !pthread_mutex_unlock(&lock.mutex);
}

static int lock_read(void)
{
	return !pthread_rwlock_tryrdlock(&lock.rwlock);
}

static int lock_write(void)
{
	return !pthread_rwlock_trywrlock(&lock.rwlock);
}

static int unlock_rwlock(void)
{
	return !pthread_rwlock_unlock(&lock.rwlock);
}

static int lock_spin(void)
{
	return !pthread_spin_trylock(&lock.spin);
}

static int unlock_spin(void)
{
	return !pthread_spin_unlock(&lock.spin);
}

static int take_one(void)
{
	return !sem_trywait(&lock.sem);
}

static int post(void)
{
	return !sem_post(&lock.sem);
}

static const struct way {
	unsigned int how;
	int (*may)(void), (*take)(void), (*give)(void);
} ways[] = {
	{ MAPLE_PEEK_MUTEX, may_lock, lock_mutex, unlock_mutex },
	{ MAPLE_PEEK_RDLOCK, may_read, lock_read, unlock_rwlock },
	{ MAPLE_PEEK_WRLOCK, may_write, lock_write, unlock_rwlock },
	{ MAPLE_PEEK_SPIN, may_spin, lock_spin, unlock_spin },
	{ MAPLE_PEEK_SEM, may_take, take_one, post },
};

/* What is seen of @w, against what it says itself. */
static void compare(const struct way *w, unsigned int *answers)
{
	bool seen, is;

	for (unsigned int t = 0; t < 2; t++) {
		seen = peek(t, w->how);
		is = by(t, w->may);
		assert_int_equal(seen, is);
		answers[is]++;
	}
}

/* Both take and give by the @n ways from @w on, as it comes. */
static void take_and_give(const struct way *w, unsigned int n)
{
	unsigned int answers[2] = { 0 };

	memset(held, 0, sizeof(held));
	for (unsigned int i = 0; i < TIMES; i++) {
		const struct way *by_way = &w[rand() % n];
		unsigned int t = rand() % 2;
		unsigned int *has = &held[t][by_way->how];

		if (rand() % 2)
			*has += by(t, by_way->take);
		else if (*has)
			*has -= by(t, by_way->give);
		for (unsigned int k = 0; k < n; k++)
			compare(&w[k], answers);
	}
	/* Neither answer is rare. */
	assert_true(answers[0] > TIMES / 10 && answers[1] > TIMES / 10);
}

static void make_mutex(int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	assert_int_equal(pthread_mutex_init(&lock.mutex, &a), 0);
	pthread_mutexattr_destroy(&a);
}

static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
			     PTHREAD_MUTEX_ERRORCHECK,
			     PTHREAD_MUTEX_ADAPTIVE_NP };
static const int robusts[] = { PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST };
static const int protocols[] = { PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT };

static void test_mutexes(void **state)
{
	for (unsigned int i = 0; i < 16; i++) {
		begin();
		make_mutex(types[i % 4], robusts[i / 4 % 2], protocols[i / 8]);
		take_and_give(&ways[0], 1);
		while (held[0][MAPLE_PEEK_MUTEX])
			held[0][MAPLE_PEEK_MUTEX] -= by(0, unlock_mutex);
		end();
	}
}

/* Its owner ends with it: it can be had. */
static void test_dead_owners(void **state)
{
	for (unsigned int i = 0; i < 8; i++) {
		begin();
		make_mutex(types[i % 4], PTHREAD_MUTEX_ROBUST, protocols[i / 4]);
		memset(held, 0, sizeof(held));
		assert_true(by(1, lock_mutex));
		assert_false(peek(0, MAPLE_PEEK_MUTEX));
		end();
		assert_true(peek(0, MAPLE_PEEK_MUTEX));
		assert_int_equal(pthread_mutex_trylock(&lock.mutex), EOWNERDEAD);
		/* Given back as it is, it is nobody's for good. */
		assert_true(unlock_mutex());
		assert_true(peek(0, MAPLE_PEEK_MUTEX));
		assert_true(may_lock());
	}
}

static void test_rwlocks(void **state)
{
	static const int kinds[] = {
		PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
	};
	pthread_rwlockattr_t a;

	for (unsigned int i = 0; i < 3; i++) {
		begin();
		pthread_rwlockattr_init(&a);
		pthread_rwlockattr_setkind_np(&a, kinds[i]);
		assert_int_equal(pthread_rwlock_init(&lock.rwlock, &a), 0);
		take_and_give(&ways[1], 2);
		end();
	}
}

static void test_spin_locks(void **state)
{
	begin();
	pthread_spin_init(&lock.spin, PTHREAD_PROCESS_PRIVATE);
	take_and_give(&ways[3], 1);
	end();
}

static void test_semaphores(void **state)
{
	for (unsigned int value = 1; value < 4; value++) {
		begin();
		sem_init(&lock.sem, 0, value);
		take_and_give(&ways[4], 1);
		end();
	}
}

/* What is not a lock's, or none that is known, holds nobody up. */
static void test_others_are_never_waited_for(void **state)
{
	struct maple_policy_op op = { .kind = MAPLE_EV_LOCK, .size = 1 };

	memset(&lock, 0xff, sizeof(lock));
	op.addr = (uint64_t)&lock;
	assert_true(maple_peek_enabled(0, &op));
	op.peek = MAPLE_PEEK_MUTEX;
	op.addr += 2; /* no mutex lies there */
	assert_true(maple_peek_enabled(0, &op));
}

static int setup(void **state)
{
	maple_shm = mmap(NULL, sizeof(*maple_shm), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	srand(1);
	maple_peek_start();
	return maple_shm == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mutexes),
		cmocka_unit_test(test_dead_owners),
		cmocka_unit_test(test_rwlocks),
		cmocka_unit_test(test_spin_locks),
		cmocka_unit_test(test_semaphores),
		cmocka_unit_test(test_others_are_never_waited_for),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
