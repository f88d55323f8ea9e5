// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * LU: a matrix is factored by threads that each have every other row. Which rows
 * these are a thread takes from a global count, and adds one to it, without a
 * lock: two threads with one number leave half of the rows as they were.
 *
 * Paper: threads increment a global id without locks; wrong output
 */
#include "guard.h"

#define N	6
#define THREADS 2

static int next_id;
static int a[N][N], before[N][N];
static pthread_barrier_t barrier;

/* The matrix is a product of two with ones on the diagonal: it divides. */
static void fill(void)
{
	int l, u;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k <= i && k <= j; k++) {
				l = k == i ? 1 : (i + 2 * k) % 5;
				u = k == j ? 1 : (2 * k + 3 * j) % 7;
				a[i][j] += l * u;
				before[i][j] = a[i][j];
			}
}

static void *factor(void *arg)
{
	int me;

	work(arg ? 0 : 100);
	LOCK();
	me = next_id;
	next_id = me + 1;
	UNLOCK();
	for (int k = 0; k < N; k++) {
		for (int i = k + 1; i < N; i++) {
			if (i % THREADS != me)
				continue;
			a[i][k] /= a[k][k];
			for (int j = k + 1; j < N; j++)
				a[i][j] -= a[i][k] * a[k][j];
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static int is_right(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			int sum = i <= j ? a[i][j] : 0;

			for (int k = 0; k < i && k <= j; k++)
				sum += a[i][k] * a[k][j];
			if (sum != before[i][j])
				return 0;
		}
	return 1;
}

int main(void)
{
	pthread_t other;

	fill();
	pthread_barrier_init(&barrier, NULL, THREADS);
	other = start(factor, NULL);
	factor(&barrier);
	pthread_join(other, NULL);
	return !is_right();
}
