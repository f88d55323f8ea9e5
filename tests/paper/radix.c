// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Radix: two threads count the digits of their halves, who comes last works out
 * where each number goes, and both put theirs there. A thread says that it has
 * come before its counts are where the other one reads them: the barrier stands
 * a line too early.
 *
 * Paper: a wrong barrier causes wrong output
 */
#include "guard.h"

#define N      16
#define DIGITS 4

static unsigned int from[N], to[N];
static const int none[DIGITS], *count[2] = { none, none };
static int place[2][DIGITS];
static int arrived;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static int arrive(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = ++arrived;
	pthread_mutex_unlock(&lock);
	return n;
}

static void find_places(void)
{
	const int *of[2] = { count[0], count[1] };
	int sum = 0;

	for (int d = 0; d < DIGITS; d++)
		for (int t = 0; t < 2; t++) {
			place[t][d] = sum;
			sum += of[t][d];
		}
}

static void *sort(void *arg)
{
	int self = arg != NULL, own[DIGITS] = { 0 }, n;

	work(self ? 0 : 100);
	for (int i = self * N / 2; i < (self + 1) * N / 2; i++)
		own[from[i] % DIGITS]++;
#ifdef FIXED
	count[self] = own;
	n = arrive();
#else
	n = arrive();
	count[self] = own;
#endif
	if (n == 2)
		find_places();
	pthread_barrier_wait(&barrier);
	for (int i = self * N / 2; i < (self + 1) * N / 2; i++)
		to[place[self][from[i] % DIGITS]++ % N] = from[i];
	return NULL;
}

int main(void)
{
	pthread_t other;

	for (int i = 0; i < N; i++)
		from[i] = (7 * i + 3) % 31;
	pthread_barrier_init(&barrier, NULL, 2);
	other = start(sort, NULL);
	sort(&barrier);
	pthread_join(other, NULL);
	for (int i = 1; i < N; i++)
		if (to[i - 1] % DIGITS > to[i] % DIGITS)
			return 1;
	return 0;
}
