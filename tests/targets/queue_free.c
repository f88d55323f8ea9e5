// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * After pbzip2: main frees the queue when the last block is written, but the
 * consumer still comes back to lock it, to see that nothing is left.
 *
 * Idiom: 1
 * iRoot: W:62 -> R:28
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct queue {
	pthread_mutex_t *lock;
	int blocks;
};

static sem_t packed;

static void *consume(void *arg)
{
	struct queue *queue = arg;
	pthread_mutex_t *lock;
	int left;

	do {
		lock = queue->lock; /* e1 */
		pthread_mutex_lock(lock);
		left = queue->blocks;
		if (left > 0)
			queue->blocks = left - 1;
		pthread_mutex_unlock(lock);
		if (left == 1)
			sem_post(&packed);
	} while (left > 0);
	return NULL;
}

static void *write_out(void *arg)
{
	unsigned int sum = 1;

	sem_wait(&packed);
	for (int i = 0; i < 500000; i++)
		sum = sum * 31 + i;
	*(unsigned int *)arg = sum;
	return NULL;
}

int main(void)
{
	static struct queue queue = { .blocks = 3 };
	pthread_t consumer, writer;
	unsigned int sum;

	queue.lock = calloc(1, sizeof(*queue.lock));
	pthread_create(&consumer, NULL, consume, &queue);
	pthread_create(&writer, NULL, write_out, &sum);
	pthread_join(writer, NULL);
	free(queue.lock);
	queue.lock = NULL; /* e0 */
	pthread_join(consumer, NULL);
	return 0;
}
