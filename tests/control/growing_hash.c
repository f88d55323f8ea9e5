// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A hash table grows under its lock, and is looked into without. Who has the
 * old slots and the new number of them looks behind their end.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct slots {
	int n;
	int key[];
};

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static struct slots *volatile slots;
static volatile int size, used;

static struct slots *made(int n)
{
	struct slots *s = calloc(1, sizeof(*s) + n * sizeof(*s->key));

	s->n = n;
	return s;
}

static void insert(struct slots *s, int key)
{
	int i = key % s->n;

	while (s->key[i])
		i = (i + 1) % s->n;
	s->key[i] = key;
}

static void put(int key)
{
	pthread_mutex_lock(&l);
	if (2 * (used + 1) > size) {
		struct slots *more = made(2 * size);

		for (int i = 0; i < slots->n; i++)
			if (slots->key[i])
				insert(more, slots->key[i]);
		size = more->n;
		slots = more;
	}
	insert(slots, key);
	used = used + 1;
	pthread_mutex_unlock(&l);
}

static int has(int key)
{
	struct slots *s = slots;
	int n = size; /* bug: of others */

	for (int i = key % n, tries = 0; tries < n; i = (i + 1) % n, tries++) {
		assert(i < s->n);
		if (s->key[i] == key || !s->key[i])
			return s->key[i] == key;
	}
	return 0;
}

static void *look(void *p)
{
	has(7);
	return p;
}

static void *add(void *p)
{
	put(3);
	return p;
}

int main(void)
{
	pthread_t t[2];

	slots = made(4);
	size = 4;
	put(1);
	put(2);
	pthread_create(&t[0], 0, look, 0);
	pthread_create(&t[1], 0, add, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
