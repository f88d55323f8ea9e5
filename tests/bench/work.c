// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * work compute|wait MS: two threads that pass by many shared variables without
 * a lock, so that there is much to try and nothing that fails, and that take
 * MS milliseconds each to compute something, or sleep for so long.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EIGHT(F, n) \
	F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define ALL(F) \
	EIGHT(F, 1) EIGHT(F, 2) EIGHT(F, 3) EIGHT(F, 4) EIGHT(F, 5) EIGHT(F, 6)
#define VARIABLE(n) static volatile int shared##n;
#define PASS(n)	    shared##n += 1;

ALL(VARIABLE)

static int ms, waits;

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

static void *work(void *arg)
{
	unsigned long sum = 0;
	double begin = cpu_ms();

	ALL(PASS)
	if (waits)
		usleep(ms * 1000);
	else
		while (cpu_ms() - begin < ms)
			for (int i = 0; i < 10000; i++)
				sum = sum * 31 + i;
	return (void *)(sum & 1);
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	if (argc != 3 ||
	    (strcmp(argv[1], "compute") && strcmp(argv[1], "wait"))) {
		fprintf(stderr, "usage: work compute|wait MS\n");
		return 2;
	}
	waits = argv[1][0] == 'w';
	ms = atoi(argv[2]);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
