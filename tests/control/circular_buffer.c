// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Items go round in a buffer, one at a time: who has put one in may not put in
 * another before it was taken out. Who may not goes on to the next item instead
 * of waiting, and who finds none as well, so what comes out is another item
 * than the one that it is taken for.
 */
#include <assert.h>
#include <pthread.h>

#define SIZE  4
#define ITEMS 7

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static int buffer[SIZE], first, next, count;
static int may_put = 1, may_take;

static void put(int v)
{
	buffer[next] = v;
	next = (next + 1) % SIZE;
	count++;
}

static int take(void)
{
	int v = buffer[first];

	first = (first + 1) % SIZE;
	count--;
	return v;
}

static void *fill(void *p)
{
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&l);
		if (may_put) {
			put(i);
			may_put = 0;
			may_take = 1;
		}
		pthread_mutex_unlock(&l);
	}
	return p;
}

static void *drain(void *p)
{
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&l);
		if (may_take) {
			assert(take() == i);
			may_take = 0;
			may_put = 1;
		}
		pthread_mutex_unlock(&l);
	}
	return p;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, fill, 0);
	pthread_create(&t[1], 0, drain, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
