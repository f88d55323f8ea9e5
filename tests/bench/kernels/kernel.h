/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the kernels share: THREADS threads that do the same and meet at a
 * barrier, and random numbers that are the same each time. Each kernel is
 * called with the size of its work, verifies what it has computed, and ends
 * with 1 if that is wrong.
 */
#ifndef MAPLE_BENCH_KERNEL_H
#define MAPLE_BENCH_KERNEL_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2

static pthread_barrier_t barrier;

static inline void meet(void)
{
	pthread_barrier_wait(&barrier);
}

static inline uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 32;
}

/* In [-1, 1). */
static inline double next_real(uint64_t *seed)
{
	return next_random(seed) / 2147483648.0 - 1;
}

static inline void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(2);
	}
	return memory;
}

/* @work gets the thread's number. */
static inline void in_threads(void *(*work)(void *))
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i)) {
			fprintf(stderr, "no thread\n");
			exit(2);
		}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static inline unsigned int size_of(int argc, char **argv, unsigned int least,
				   unsigned int most)
{
	unsigned int n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (n < least || n > most) {
		fprintf(stderr, "usage: %s SIZE (%u to %u)\n", argv[0], least,
			most);
		exit(2);
	}
	return n;
}

static inline int verdict(const char *name, int right)
{
	if (!right)
		fprintf(stderr, "%s: the result is wrong\n", name);
	return !right;
}

#endif
