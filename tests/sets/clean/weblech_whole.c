// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The twin of weblech: an address leaves the queue and is in work in one section.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queued = 3, in_work, saved, over;

static int dequeue(void)
{
	int page = 0;

	pthread_mutex_lock(&lock);
	if (queued > 0) {
		page = queued;
		queued = queued - 1;
		in_work = in_work + 1;
	}
	pthread_mutex_unlock(&lock);
	return page;
}

static void end(void)
{
	pthread_mutex_lock(&lock);
	assert(!over);
	saved = saved + 1;
	in_work = in_work - 1;
	pthread_mutex_unlock(&lock);
}

static void *spider(void *arg)
{
	while (dequeue())
		end();
	return arg;
}

static void *watcher(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 1000000; i++)
		think = think + i;
	pthread_mutex_lock(&lock);
	if (queued == 0 && in_work == 0)
		over = 1;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, spider, 0);
	pthread_create(&t[1], 0, watcher, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
