// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A buffered stream is read under a lock, and closed without it: who found the
 * buffer used up, and goes to fill it, may find no file any more.
 */
#include <pthread.h>
#include <stdlib.h>

#define SIZE 4

struct file {
	int at;
};

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
static struct file first;
static struct file *volatile in = &first;
static volatile int buffer[SIZE], pos, count;

static int fill(void)
{
	int n = 0;

	pos = 0;
	while (n < SIZE)
		buffer[n++] = in->at++; /* bug: it may be closed */
	count = n;
	return n;
}

static int next(void)
{
	int c = -1;

	pthread_mutex_lock(&l);
	if (in && (pos < count || fill())) {
		c = buffer[pos];
		pos = pos + 1;
	}
	pthread_mutex_unlock(&l);
	return c;
}

static void *read_one(void *p)
{
	next();
	return p;
}

static void *close_it(void *p)
{
	if (in)
		in = NULL;
	return p;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < SIZE; i++)
		next();
	pthread_create(&t[0], 0, read_one, 0);
	pthread_create(&t[1], 0, close_it, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
