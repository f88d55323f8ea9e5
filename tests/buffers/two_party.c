// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A lock for two parties that is made of two flags, without its fence. Main
 * uses it alone for a while, before there is a second thread: whoever waits
 * there for the other's write waits in vain.
 *
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define ALONE  12
#define ROUNDS 40

static struct party {
	_Alignas(64) atomic_int wants;
} party[2];
static _Alignas(64) atomic_int inside;

#ifdef HIDDEN
/* The fence of the other twin, where no binary shows it. */
static void full(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

static void (*volatile hidden)(void) = full;
#endif

static void lock(struct party *us)
{
	struct party *them = &party[us == party];

	for (;;) {
		atomic_store_explicit(&us->wants, 1, memory_order_release);
#ifdef FENCED
		atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef HIDDEN
		hidden();
#endif
		if (!atomic_load_explicit(&them->wants, memory_order_acquire))
			return;
		atomic_store_explicit(&us->wants, 0, memory_order_release);
		sched_yield();
	}
}

static void unlock(struct party *us)
{
	atomic_store_explicit(&us->wants, 0, memory_order_release);
}

static void *use(void *us)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock(us);
		assert(!atomic_fetch_add(&inside, 1));
		for (volatile int work = 0; work < 200; work++)
			;
		atomic_fetch_sub(&inside, 1);
		unlock(us);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < ALONE; i++) {
		lock(&party[0]);
		unlock(&party[0]);
	}
	pthread_create(&thread, NULL, use, &party[1]);
	use(&party[0]);
	pthread_join(thread, NULL);
	return 0;
}
