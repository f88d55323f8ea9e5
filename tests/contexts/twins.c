// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two points are moved and looked at by the same two functions. Each has a lock
 * for each of its coordinates, none for both. Who looks compares the one and
 * only prints the other, which comes first.
 *
 * Bug: where() may have one coordinate from before a move and one from after.
 */
#include <assert.h>
#include <pthread.h>

struct point {
	pthread_mutex_t lock;
	int x, y;
};

static struct point printed = { PTHREAD_MUTEX_INITIALIZER, 1, 1 };
static struct point compared = { PTHREAD_MUTEX_INITIALIZER, 1, 1 };
static int total;

static int x_of(struct point *p)
{
	int v;

	pthread_mutex_lock(&p->lock);
	v = p->x;
	pthread_mutex_unlock(&p->lock);
	return v;
}

static int y_of(struct point *p)
{
	int v;

	pthread_mutex_lock(&p->lock);
	v = p->y;
	pthread_mutex_unlock(&p->lock);
	return v;
}

static void move(struct point *p)
{
	pthread_mutex_lock(&p->lock);
	p->x = 2;
	p->y = 2;
	pthread_mutex_unlock(&p->lock);
}

static void *mover(void *arg)
{
	move(&printed);
	move(&compared);
	return arg;
}

static void *watcher(void *arg)
{
	int x;

	total += x_of(&printed) + y_of(&printed);
	x = x_of(&compared);
	assert(x == y_of(&compared));
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, watcher, 0);
	pthread_create(&t[1], 0, mover, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
