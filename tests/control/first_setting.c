// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A pool has limits by user, in a table that the first one to set a limit
 * makes. Two who find none make one each; what was set in the first is gone.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define USERS 8

struct table {
	pthread_mutex_t l;
	int user[USERS], limit[USERS], n;
};

static struct table *volatile active, *volatile idle;

static void put(struct table *t, int user, int limit)
{
	pthread_mutex_lock(&t->l);
	t->user[t->n] = user;
	t->limit[t->n] = limit;
	t->n++;
	pthread_mutex_unlock(&t->l);
}

static int get(struct table *t, int user)
{
	int limit = 0;

	pthread_mutex_lock(&t->l);
	for (int i = 0; i < t->n; i++)
		if (t->user[i] == user)
			limit = t->limit[i];
	pthread_mutex_unlock(&t->l);
	return limit;
}

static struct table *made(void)
{
	struct table *t = calloc(1, sizeof(*t));

	pthread_mutex_init(&t->l, 0);
	return t;
}

static void *set_limits(void *p)
{
	int user = (int)(long)p;
	struct table *mine = made();

	put(idle, user, 5);
	if (!active)
		active = mine; /* bug: another one may be there by now */
	put(active, user, 10);
	return 0;
}

int main(void)
{
	pthread_t t[2];

	idle = made();
	put(idle, 0, 5);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, set_limits, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	for (int user = 0; user < 3; user++)
		assert(get(idle, user) == 5);
	for (int user = 1; user < 3; user++)
		assert(get(active, user) == 10);
	return 0;
}
