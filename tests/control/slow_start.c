// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One thread adds, another sets. The first begins with a child that has its
 * memory for a while, so that the kernel keeps it: until it has come to its first
 * access its creator, and so the second thread, must not go on, or a schedule
 * would be another one each time. The status is 1 if what was set is lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long count;
static const struct timespec nap = { .tv_nsec = 20000000 };

static int child(void *unused)
{
	syscall(SYS_nanosleep, &nap, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

static void *wait_and_add(void *unused)
{
	static char stack[65536] __attribute__((aligned(16)));

	if (clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL) <
	    0)
		abort();
	count = count + 1;
	return NULL;
}

/* Of which no place need be in a schedule. */
static void *set(void *unused)
{
	count = 10;
	return NULL;
}

int main(void)
{
	pthread_t thread[2];

	pthread_create(&thread[0], NULL, wait_and_add, NULL);
	pthread_create(&thread[1], NULL, set, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return count == 1;
}
