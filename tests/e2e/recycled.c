// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Buffers of a pool, handed on under its lock, each used by one thread at a
 * time in many places: thousands of pairs of accesses that no common lock
 * excludes, and none of them is a bug. But who has put one back looks at its
 * word 3 once more, as if it still had it: idiom 1, a write in the use of
 * another thread before the read in work(). Natively 0 of 1,000 runs fail.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define WORKERS 3
#define BUFFERS 2
#define ROUNDS	16

struct buffer {
	struct buffer *next;
	volatile long word[4];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer buffers[BUFFERS], *pool;

static struct buffer *take(void)
{
	struct buffer *b;

	pthread_mutex_lock(&lock);
	b = pool;
	if (b)
		pool = b->next;
	pthread_mutex_unlock(&lock);
	return b;
}

static void put(struct buffer *b)
{
	pthread_mutex_lock(&lock);
	b->next = pool;
	pool = b;
	pthread_mutex_unlock(&lock);
}

#define FOUR(what, i) what(i) what(i + 1) what(i + 2) what(i + 3)
#define ALL(what)     FOUR(what, 0)
#define FILL(i)	      b->word[i] = seed + (i);
#define LOOK(i)	      assert(b->word[i] == seed + (i));
#define USE(name)                                     \
	static void name(struct buffer *b, long seed) \
	{                                             \
		ALL(FILL)                             \
		ALL(LOOK)                             \
	}

USE(parse)
USE(route)
USE(render)
USE(reply)

static void *work(void *arg)
{
	static void (*const use[])(struct buffer *, long) = { parse, route,
							      render, reply };
	struct buffer *b;
	long done = 0, seed;

	while (done < ROUNDS) {
		b = take();
		if (!b)
			continue;
		seed = (long)(size_t)arg + done;
		use[done % 4](b, seed);
		put(b);
		if (++done == ROUNDS && arg == (void *)200)
			assert(b->word[3] == seed + 3);
	}
	return NULL;
}

int main(void)
{
	pthread_t worker[WORKERS];

	for (int i = 0; i < BUFFERS; i++)
		put(&buffers[i]);
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, (void *)(i * 100));
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	return 0;
}
