// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Vyukov's stack of indices: three threads pop, use, and push. By five
 * preemptions in the right places an index comes back, and two threads have it
 * at a time.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define NT 3
static struct {
	atomic_int next, value;
} a[3];
static atomic_int head, count;

static int pop(void)
{
	while (atomic_load(&count) > 1) {
		int h = atomic_load(&head);
		int n = atomic_exchange(&a[h].next, -1);
		if (n >= 0) {
			int x = h;
			if (atomic_compare_exchange_strong(&head, &x, n)) {
				atomic_fetch_sub(&count, 1);
				return h;
			}
			atomic_exchange(&a[h].next, n);
		}
	}
	return -1;
}

static void push(int i)
{
	int h = atomic_load(&head);
	do
		atomic_store(&a[i].next, h);
	while (!atomic_compare_exchange_strong(&head, &h, i));
	atomic_fetch_add(&count, 1);
}

static void *f(void *p)
{
	int id = (int)(long)p;
	for (int i = 0; i < 2; i++) {
		int e;
		for (;;) {
			e = pop();
			if (e >= 0)
				break;
			if (i)
				return 0;
		}
		atomic_store(&a[e].value, id);
		assert(atomic_load(&a[e].value) == id);
		push(e);
	}
	return 0;
}

int main(void)
{
	pthread_t t[NT];

	atomic_store(&count, 3);
	atomic_store(&head, 0);
	for (int i = 0; i < 2; i++)
		atomic_store(&a[i].next, i + 1);
	atomic_store(&a[2].next, -1);
	for (long i = 0; i < NT; i++)
		pthread_create(&t[i], 0, f, (void *)i);
	for (int i = 0; i < NT; i++)
		pthread_join(t[i], 0);
	return 0;
}
