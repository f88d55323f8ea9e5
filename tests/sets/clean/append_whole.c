// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The twin of append: append() holds the other buffer from the question for its
 * length until the characters are there. Nobody holds the two the other way round.
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

/* The caller holds @b. */
static void get_chars(struct buffer *b, size_t n, char *to)
{
	assert(n <= b->count);
	memcpy(to, b->value, n);
}

static void append(struct buffer *b, struct buffer *other)
{
	size_t n;

	pthread_mutex_lock(&b->lock);
	pthread_mutex_lock(&other->lock);
	n = other->count;
	get_chars(other, n, b->value + b->count);
	b->count += n;
	pthread_mutex_unlock(&other->lock);
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
