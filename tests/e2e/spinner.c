// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A thread that never lets go of its CPU: no call, no access, only now and
 * then a look whether it may stop. With 'forever' nobody tells it to.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int stop;
static long counter;

static void *spin(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		asm volatile("mov $2000000, %%ecx\n"
			     "1: dec %%ecx\n"
			     "jnz 1b"
			     :
			     :
			     : "ecx", "cc");
	return NULL;
}

static void *work(void *arg)
{
	for (int i = 0; i < 500; i++)
		__atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t spinner, worker;

	pthread_create(&spinner, NULL, spin, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_join(worker, NULL);
	if (argc == 1 || strcmp(argv[1], "forever") != 0)
		__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(spinner, NULL);
	printf("counted %ld\n", counter);
	return 0;
}
