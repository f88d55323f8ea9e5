// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * StringBuffer: each method holds the buffer's lock. append() holds its own
 * buffer's, asks the other one for its length, and then for so many characters.
 *
 * Bug: another thread may truncate the other buffer in between; get_chars()
 * then is asked for more than there are.
 */
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct buffer {
	pthread_mutex_t lock;
	size_t count;
	char value[64];
};

static struct buffer line = { PTHREAD_MUTEX_INITIALIZER, 5, "GET /" };
static struct buffer text = { PTHREAD_MUTEX_INITIALIZER, 0, "" };

static size_t length(struct buffer *b)
{
	size_t n;

	pthread_mutex_lock(&b->lock);
	n = b->count;
	pthread_mutex_unlock(&b->lock);
	return n;
}

static void set_length(struct buffer *b, size_t n)
{
	pthread_mutex_lock(&b->lock);
	b->count = n;
	pthread_mutex_unlock(&b->lock);
}

static void get_chars(struct buffer *b, size_t n, char *to)
{
	pthread_mutex_lock(&b->lock);
	assert(n <= b->count);
	memcpy(to, b->value, n);
	pthread_mutex_unlock(&b->lock);
}

static void append(struct buffer *b, struct buffer *other)
{
	size_t n;

	pthread_mutex_lock(&b->lock);
	n = length(other);
	get_chars(other, n, b->value + b->count);
	b->count += n;
	pthread_mutex_unlock(&b->lock);
}

static void *writer(void *arg)
{
	append(&text, &line);
	append(&text, &line);
	return arg;
}

static void *truncater(void *arg)
{
	volatile int think = 0;

	for (int i = 0; i < 1000000; i++)
		think = think + i;
	set_length(&line, length(&line) - 2);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, writer, 0);
	pthread_create(&t[1], 0, truncater, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
