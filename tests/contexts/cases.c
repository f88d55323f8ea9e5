// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A test binary: thirty cases, each with two threads, about one small list. All
 * but the last but one look and take, and bear it if what they saw was taken by
 * the other one. What the first shows at the list's functions is all that the
 * one with the bug can show there.
 *
 * Bug: the last case but one has threads that do not look at what take()
 * returns.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct list {
	pthread_mutex_t lock;
	int n;
};

static struct list list = { PTHREAD_MUTEX_INITIALIZER, 0 };
static int taken[2];

static int empty(struct list *l)
{
	int is;

	pthread_mutex_lock(&l->lock);
	is = l->n == 0;
	pthread_mutex_unlock(&l->lock);
	return is;
}

static int take(struct list *l)
{
	int ok;

	pthread_mutex_lock(&l->lock);
	ok = l->n > 0;
	if (ok)
		l->n = l->n - 1;
	pthread_mutex_unlock(&l->lock);
	return ok;
}

static void *careful(void *arg)
{
	if (!empty(&list))
		*(int *)arg += take(&list);
	return NULL;
}

static void *trusting(void *arg)
{
	if (!empty(&list)) {
		int ok = take(&list);

		assert(ok);
		*(int *)arg += ok;
	}
	return NULL;
}

static void test(void *(*how)(void *))
{
	pthread_t t[2];

	list.n = 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, how, &taken[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	for (int i = 1; i <= 30; i++)
		test(i == 29 ? trusting : careful);
	return 0;
}
