// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The shape of hedc: a search has tasks, each of which knows the thread that
 * works at it, until it is done. What takes too long is cancelled by way of
 * that thread.
 *
 * Bug: that the task is still worked at, and by whom, are two sections; the
 * task may be done in between, and nobody be there.
 */
#include <assert.h>
#include <pthread.h>

struct worker {
	int cancelled;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker worker;
static struct {
	int busy, result;
	struct worker *by;
} task = { 1, 0, &worker };

static int busy(void)
{
	int is;

	pthread_mutex_lock(&lock);
	is = task.busy;
	pthread_mutex_unlock(&lock);
	return is;
}

static void *work(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 1000000; i++)
		think = think + i;
	pthread_mutex_lock(&lock);
	task.result = think;
	task.busy = 0;
	task.by = 0;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void cancel(void)
{
	pthread_mutex_lock(&lock);
	assert(task.by);
	task.by->cancelled = 1;
	pthread_mutex_unlock(&lock);
}

static void *search(void *arg)
{
	if (busy())
		cancel();
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, search, 0);
	pthread_create(&t[1], 0, work, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
