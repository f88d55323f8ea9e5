// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The kernel keeps a thread for a while, in ps(1)'s state D, as one that waits
 * for a page: its child has its memory until it ends, after so many
 * milliseconds as the argument says. In a controlled run that makes no
 * difference to the choices. The status is 1 if an update is lost; that takes
 * another thread's turn between a read and its write.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long count;
static struct timespec nap;

/* No point of a schedule: it makes a system call, and touches nothing. */
static int child(void *unused)
{
	syscall(SYS_nanosleep, &nap, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

static void *add(void *detained)
{
	static char stack[65536] __attribute__((aligned(16)));

	for (int i = 0; i < 4; i++) {
		long was = count;

		/* Nobody waits for it: how soon it can be had differs. */
		if (detained && i == 1 &&
		    clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK,
			  NULL) < 0)
			abort();
		count = was + 1;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	if (argc > 1)
		nap.tv_nsec = atol(argv[1]) * 1000000;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, add, i ? NULL : &nap);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return count != 8;
}
