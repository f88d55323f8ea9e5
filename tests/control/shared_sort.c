// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Quicksort by two threads with a queue of ranges. That a thread is busy is
 * counted a moment after it has taken its range, so that the other one finds
 * nothing to do and nobody at work, and takes what is half sorted for done.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define LEN  24
#define QMAX 64
static int v[LEN];
static struct {
	int lo, hi;
} q[QMAX];
static volatile int qn, busy, done;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void put(int lo, int hi)
{
	pthread_mutex_lock(&l);
	q[qn].lo = lo;
	q[qn].hi = hi;
	qn = qn + 1;
	pthread_mutex_unlock(&l);
}

static int get(int *lo, int *hi)
{
	int ok = 0;
	pthread_mutex_lock(&l);
	if (qn > 0) {
		qn = qn - 1;
		*lo = q[qn].lo;
		*hi = q[qn].hi;
		ok = 1;
	}
	pthread_mutex_unlock(&l);
	if (ok) {
		pthread_mutex_lock(&l);
		busy = busy + 1;
		pthread_mutex_unlock(&l);
	} /* bug: a moment late */
	return ok;
}

static void sort(int lo, int hi)
{
	int i = lo, j = hi, p = v[(lo + hi) / 2], x;
	while (i <= j) {
		while (v[i] < p)
			i++;
		while (v[j] > p)
			j--;
		if (i <= j) {
			x = v[i];
			v[i] = v[j];
			v[j] = x;
			i++;
			j--;
		}
	}
	if (lo < j)
		put(lo, j);
	if (i < hi)
		put(i, hi);
}

static void *work(void *p)
{
	int lo, hi;
	while (!done) {
		if (get(&lo, &hi)) {
			sort(lo, hi);
			pthread_mutex_lock(&l);
			busy = busy - 1;
			pthread_mutex_unlock(&l);
			continue;
		}
		pthread_mutex_lock(&l);
		if (qn == 0 && busy == 0) {
			done = 1;
			for (int i = 1; i < LEN; i++)
				assert(v[i - 1] <= v[i]);
		}
		pthread_mutex_unlock(&l);
	}
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < LEN; i++)
		v[i] = (i * 17 + 5) % LEN;
	put(0, LEN - 1);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	for (int i = 1; i < LEN; i++)
		assert(v[i - 1] <= v[i]);
	return 0;
}
