// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A queue to steal from, by the THE protocol: who takes from it reads the head
 * before it has moved the tail, and not after. A thief in between gets the same
 * item.
 */
#include <assert.h>
#include <pthread.h>

#define SIZE  16
#define ITEMS 4
static volatile int head, tail, buf[SIZE], taken[ITEMS];
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void push(int v)
{
	int t = tail;
	buf[t % SIZE] = v;
	tail = t + 1;
}

static int take(void)
{
	int h = head; /* bug: must come after tail = t */
	int t = tail - 1;
	tail = t;
	if (t < h) {
		tail = t + 1;
		pthread_mutex_lock(&l);
		h = head;
		t = tail - 1;
		if (t < h) {
			pthread_mutex_unlock(&l);
			return -1;
		}
		tail = t;
		pthread_mutex_unlock(&l);
	}
	return buf[t % SIZE];
}

static int steal(void)
{
	int h, v = -1;
	pthread_mutex_lock(&l);
	h = head;
	head = h + 1;
	if (h + 1 > tail)
		head = h;
	else
		v = buf[h % SIZE];
	pthread_mutex_unlock(&l);
	return v;
}

static void use(int v)
{
	if (v >= 0) {
		taken[v] = taken[v] + 1;
		assert(taken[v] == 1);
	}
}

static void *thief(void *p)
{
	for (int i = 0; i < 2; i++)
		use(steal());
	return p;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, 0, thief, 0);
	push(0);
	push(1);
	use(take());
	push(2);
	use(take());
	use(take());
	push(3);
	use(take());
	pthread_join(t, 0);
	return 0;
}
