// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The owner of a queue takes jobs from its end, a thief from its head. The
 * thief looks whether a job is left and takes it in two steps: for the last job
 * both go. They wait for each other with sleep(0).
 *
 * Idiom: 1
 * iRoot: R:32 -> W:47
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { JOBS = 8 };

static atomic_int done[JOBS];
static atomic_int head, end, ready, finished;

static void work_on(int job)
{
	assert(!atomic_fetch_add(&done[job], 1));
	for (volatile int i = 0; i < 10000; i++)
		;
}

static void *steal(void *arg)
{
	while (!ready)
		sleep(0);
	for (int first = 0; first < end; first++) { /* e0 */
		head = first + 1;
		work_on(first);
	}
	finished = 1;
	return NULL;
}

static void *own(void *arg)
{
	end = JOBS;
	ready = 1;
	for (;;) {
		int last = end - 1;

		end = last; /* e1 */
		if (head > last)
			break;
		work_on(last);
	}
	while (!finished)
		sleep(0);
	return NULL;
}

int main(void)
{
	pthread_t owner, thief;

	pthread_create(&thief, NULL, steal, NULL);
	pthread_create(&owner, NULL, own, NULL);
	pthread_join(thief, NULL);
	pthread_join(owner, NULL);
	return 0;
}
