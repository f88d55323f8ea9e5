// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A line is put into a buffer, then its length beside it, by whoever has one,
 * each under the lock.
 *
 * Bug: two writers may leave the line of the one and the length of the other.
 * (Figure 10 of AssetFuzzer, from its description.)
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *raw = "";
static size_t length;

static void *put(void *line)
{
	pthread_mutex_lock(&lock);
	raw = line;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	length = strlen(line);
	pthread_mutex_unlock(&lock);
	return line;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, put, "GET /");
	pthread_create(&t[1], 0, put, "GET /index.html");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	assert(strlen(raw) == length);
	return 0;
}
