// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The flags of Dekker's algorithm: whoever comes raises its own, and does the
 * job if the other's is down. There is no fence between, so the CPU may read
 * before its own flag is to be seen elsewhere, and then both do the job. No
 * order of the accesses on one CPU shows that.
 *
 * Its twin whose fence no binary shows looks whether each thread may run where
 * it could before.
 *
 * Native: 0 of 1000 runs fail
 */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static struct party {
	_Alignas(64) atomic_int here;
	int did;
} party[2];

#ifdef HIDDEN
/* The fence of the other twin, where no binary shows it. */
static void full(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

static void (*volatile hidden)(void) = full;
#endif

#ifdef HIDDEN
static cpu_set_t cpus;

static void look(void)
{
	cpu_set_t ours;

	assert(!sched_getaffinity(0, sizeof(ours), &ours) &&
	       CPU_EQUAL(&ours, &cpus));
}
#endif

static void *come(void *arg)
{
	struct party *us = arg, *them = &party[us == party];

	atomic_store_explicit(&us->here, 1, memory_order_release);
#ifdef FENCED
	atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef HIDDEN
	hidden();
#endif
	if (!atomic_load_explicit(&them->here, memory_order_acquire))
		us->did = 1;
#ifdef HIDDEN
	look();
#endif
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

#ifdef HIDDEN
	sched_getaffinity(0, sizeof(cpus), &cpus);
#endif
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, come, &party[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert(!party[0].did || !party[1].did);
	return 0;
}
