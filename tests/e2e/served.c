// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Four workers answer requests for words from a cache. Who does not find one
 * makes it and puts it in, and asks the cache again only for its place: two
 * workers may make the same. On one CPU with priorities the first worker
 * answers all, so that what two of them do is never seen.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { WORKERS = 4, REQUESTS = 12, WORDS = 3, PLACES = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static int next, put; /* requests */

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int cache[PLACES], filled; /* words, from 1 */

static int find(int word)
{
	int i;

	pthread_mutex_lock(&cache_lock);
	for (i = 0; i < filled && cache[i] != word; i++)
		;
	if (i == filled)
		i = -1;
	pthread_mutex_unlock(&cache_lock);
	return i;
}

static void add(int word)
{
	pthread_mutex_lock(&cache_lock);
	cache[filled++] = word;
	pthread_mutex_unlock(&cache_lock);
}

static void answer(int request)
{
	int word = request / (REQUESTS / WORDS) + 1;

	if (find(word) < 0) {
		for (volatile int i = 0; i < 1000; i++) /* makes it */
			;
		add(word);
	}
}

static void *work(void *arg)
{
	int request;

	do {
		pthread_mutex_lock(&lock);
		while (next == put)
			pthread_cond_wait(&asked, &lock);
		request = next < REQUESTS ? next++ : -1;
		pthread_mutex_unlock(&lock);
		if (request >= 0)
			answer(request);
	} while (request >= 0);
	return NULL;
}

int main(void)
{
	pthread_t worker[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, NULL);
	for (int i = 0; i <= REQUESTS; i++) {
		pthread_mutex_lock(&lock);
		put++; /* one more than there are: it is the end */
		pthread_cond_broadcast(&asked);
		pthread_mutex_unlock(&lock);
		for (volatile int j = 0; j < 30000; j++) /* the next one */
			;
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	assert(filled == WORDS);
	return 0;
}
