// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Clean: a pool of detached threads. Nobody joins them: main waits until the
 * last has said under the lock that it is leaving.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum { THREADS = 3, TASKS = 12 };

struct task {
	struct task *next;
	int number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct task *tasks;
static int alive = THREADS, sum;
static bool closing;

static void *serve(void *arg)
{
	struct task *task;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!tasks && !closing)
			pthread_cond_wait(&changed, &lock);
		task = tasks;
		if (!task)
			break;
		tasks = task->next;
		pthread_mutex_unlock(&lock);
		int number = task->number;
		free(task);
		pthread_mutex_lock(&lock);
		sum += number;
	}
	alive--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, &attr, serve, NULL);
	for (int i = 1; i <= TASKS; i++) {
		struct task *task = malloc(sizeof(*task));

		task->number = i;
		pthread_mutex_lock(&lock);
		task->next = tasks;
		tasks = task;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	closing = true;
	pthread_cond_broadcast(&changed);
	while (alive > 0)
		pthread_cond_wait(&changed, &lock);
	assert(sum == TASKS * (TASKS + 1) / 2);
	pthread_mutex_unlock(&lock);
	return 0;
}
