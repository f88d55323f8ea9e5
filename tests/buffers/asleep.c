// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A worker says that it goes to sleep, looks for work once more, and sleeps. A
 * client leaves work, and wakes the worker if it sleeps. Without a fence each
 * may read what was there before the other's write: the worker is not woken.
 *
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

static _Alignas(64) atomic_int asleep;
static _Alignas(64) atomic_int work;
static sem_t wake;

#ifdef HIDDEN
/* The fence of the other twin, where no binary shows it. */
static void full(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

static void (*volatile hidden)(void) = full;
#endif

static void fence(void)
{
#ifdef FENCED
	atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef HIDDEN
	hidden();
#endif
}

static void *serve(void *arg)
{
	atomic_store_explicit(&asleep, 1, memory_order_relaxed);
	fence();
	if (!atomic_load_explicit(&work, memory_order_relaxed))
		sem_wait(&wake);
	return arg;
}

static void *ask(void *arg)
{
	atomic_store_explicit(&work, 1, memory_order_relaxed);
	fence();
	if (atomic_load_explicit(&asleep, memory_order_relaxed))
		sem_post(&wake);
	return arg;
}

int main(void)
{
	pthread_t worker, client;

	sem_init(&wake, 0, 0);
	pthread_create(&worker, NULL, serve, NULL);
	pthread_create(&client, NULL, ask, NULL);
	pthread_join(client, NULL);
	pthread_join(worker, NULL);
	return 0;
}
