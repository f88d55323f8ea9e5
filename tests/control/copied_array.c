// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A copy of an array asks for its length, makes room, and then has the items
 * put there: two sections of its lock. If the array has become shorter between
 * them, the copy ends with items that nobody has put there.
 */
#include <assert.h>
#include <pthread.h>

#define MOST 8

struct array {
	pthread_mutex_t l;
	int count, item[MOST];
};

static struct array from = { PTHREAD_MUTEX_INITIALIZER, 0, { 0 } };

static void push(struct array *a, int v)
{
	pthread_mutex_lock(&a->l);
	a->item[a->count] = v;
	a->count++;
	pthread_mutex_unlock(&a->l);
}

static void pop(struct array *a)
{
	pthread_mutex_lock(&a->l);
	a->count--;
	a->item[a->count] = 0;
	pthread_mutex_unlock(&a->l);
}

static int length(struct array *a)
{
	int n;

	pthread_mutex_lock(&a->l);
	n = a->count;
	pthread_mutex_unlock(&a->l);
	return n;
}

static void put_into(struct array *a, int *to, int room)
{
	pthread_mutex_lock(&a->l);
	for (int i = 0; i < a->count && i < room; i++)
		to[i] = a->item[i];
	pthread_mutex_unlock(&a->l);
}

static void *copy(void *p)
{
	int to[MOST] = { 0 }, n = length(&from);

	put_into(&from, to, n);
	for (int i = 0; i < n; i++)
		assert(to[i]);
	return p;
}

static void *shorten(void *p)
{
	pop(&from);
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 1; i < 4; i++)
		push(&from, i);
	pthread_create(&t[0], 0, copy, 0);
	pthread_create(&t[1], 0, shorten, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
