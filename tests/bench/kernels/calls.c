// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * calls N: N thousand times by each thread a lock is taken with nothing done
 * under it, a few bytes are copied, and memory comes and goes. A last time
 * there is something under the lock.
 */
#include <string.h>
#include "kernel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t n;
static volatile size_t size = 8; /* so that the call is one */
static uint64_t all;
static char from[16] = "0123456";

static void *call(void *arg)
{
	char to[16] = "", *p;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		memcpy(to, from, size);
		p = malloc(16 + i % 64);
		if (!p)
			exit(2);
		*(volatile char *)p = to[i % 7];
		sum += p[0] - '0';
		free(p);
	}
	pthread_mutex_lock(&lock);
	all += sum;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;

	n = 1000 * (size_t)size_of(argc, argv, 1, 100000);
	in_threads(call);
	for (size_t i = 0; i < n; i++)
		sum += THREADS * (i % 7);
	return verdict("calls", all == sum);
}
