// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: rwlock, barrier, semaphore as a lock, recursive mutex, spinlock and
 * once, each guarding what the others do not.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

enum { THREADS = 3, ROUNDS = 5 };

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t recursive;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_spinlock_t spinlock;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int written, nested, posted, spun, begun, phase[THREADS];

static void begin(void)
{
	begun++;
}

static void nest(int depth)
{
	pthread_mutex_lock(&recursive);
	nested++;
	if (depth > 1)
		nest(depth - 1);
	pthread_mutex_unlock(&recursive);
}

static void *work(void *arg)
{
	int self = *(int *)arg, before;

	pthread_once(&once, begin);
	assert(begun == 1);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_rwlock_rdlock(&rwlock);
		before = written;
		assert(before == written);
		pthread_rwlock_unlock(&rwlock);
		pthread_rwlock_wrlock(&rwlock);
		written++;
		pthread_rwlock_unlock(&rwlock);
		nest(3);
		sem_wait(&semaphore);
		posted++;
		sem_post(&semaphore);
		pthread_spin_lock(&spinlock);
		spun++;
		pthread_spin_unlock(&spinlock);
		phase[self] = round;
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < THREADS; i++)
			assert(phase[i] == round);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(void)
{
	int number[THREADS] = { 0, 1, 2 };
	pthread_t threads[THREADS];
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, THREADS);
	sem_init(&semaphore, 0, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &number[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert(written == THREADS * ROUNDS && nested == 3 * written);
	assert(posted == written && spun == written);
	return 0;
}
