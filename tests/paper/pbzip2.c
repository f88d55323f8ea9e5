// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * pbzip2 0.9.4: main puts blocks into a queue, a consumer packs them, and main
 * takes them, packed, in their order. With the last one it deletes the queue.
 * It has not joined the consumer, which may still come back for another block,
 * to a queue whose lock is gone.
 *
 * Paper: main does not join the consumers, an order violation; a crash
 */
#include <semaphore.h>
#include "guard.h"

#define BLOCKS 3

struct queue {
	pthread_mutex_t *lock;
	int block[BLOCKS], n;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queue;
static int packed[BLOCKS];
static sem_t done;

/* -1: all blocks are packed. */
static int next_block(void)
{
	int block = -1;

	pthread_mutex_lock(queue->lock);
	if (queue->n)
		block = queue->block[--queue->n];
	pthread_mutex_unlock(queue->lock);
	return block;
}

static void *consume(void *arg)
{
	int block;

	while ((block = next_block()) >= 0) {
		packed[block] = 100 + block;
		sem_post(&done);
	}
	return NULL;
}

static void make_queue(void)
{
	queue = calloc(1, sizeof(*queue));
	queue->lock = &lock;
	for (int i = 0; i < BLOCKS; i++)
		queue->block[queue->n++] = i;
}

int main(void)
{
	int sum = 0;
	pthread_t consumer;

	sem_init(&done, 0, 0);
	make_queue();
	consumer = start(consume, NULL);
	work(500);
	for (int i = 0; i < BLOCKS; i++)
		sem_wait(&done);
	for (int i = 0; i < BLOCKS; i++)
		sum += packed[i];
	work(5000); /* it is written */
#ifdef FIXED
	pthread_join(consumer, NULL);
#endif
	pthread_mutex_destroy(queue->lock);
	queue->lock = NULL;
#ifndef FIXED
	pthread_join(consumer, NULL);
#endif
	return sum != 303;
}
