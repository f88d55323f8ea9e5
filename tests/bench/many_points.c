// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * many_points THREADS ROUNDS [FILE]: threads that add to one word, two points a
 * round. The first of them writes to FILE how many ns it took, by the machine's
 * clock and not by the run's.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

static volatile long word;
static long rounds;
static const char *file;

/* The libc's would tell a controlled run's own time. */
static long now(void)
{
	struct timespec t;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_clock_gettime), "D"(CLOCK_MONOTONIC), "S"(&t)
			 : "rcx", "r11", "memory");
	return ret ? 0 : t.tv_sec * 1000000000L + t.tv_nsec;
}

static void add(long n)
{
	for (register long i = 0; i < n; i++)
		word = word + 1;
}

static void *first(void *unused)
{
	const char *to = file;
	long n = rounds, took;
	FILE *f;

	add(1); /* it stands before that until all are there */
	took = -now();
	add(n - 1);
	took += now();
	f = to ? fopen(to, "we") : NULL;
	if (f && (fprintf(f, "%ld\n", took) < 0 || fclose(f)))
		abort();
	return NULL;
}

static void *other(void *unused)
{
	add(rounds);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MOST];
	int n = argc > 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST)
		return 2;
	rounds = atol(argv[2]);
	file = argc > 3 ? argv[3] : NULL;
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, i ? other : first, NULL))
			return 2;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
