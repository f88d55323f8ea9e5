// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * append() asks for the source's length and then copies that many bytes: two
 * critical sections. The source may be cut short between them.
 *
 * Idiom: 1
 * iRoot: W:35 -> R:43
 * Native: 0 of 1000 runs fail
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char source[] = "a text to copy";
static size_t count = sizeof(source) - 1;

static size_t length(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

static void *cut(void *arg)
{
	int think = 0;

	for (int i = 0; i < 100000; i++)
		think += i;
	pthread_mutex_lock(&lock);
	count = 0; /* e0 */
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void copy_out(char *to, size_t n)
{
	pthread_mutex_lock(&lock);
	if (n > count) /* e1 */
		abort();
	memcpy(to, source, n);
	pthread_mutex_unlock(&lock);
}

static void *append(void *arg)
{
	copy_out(arg, length());
	return NULL;
}

int main(void)
{
	char text[64];
	pthread_t a, b;

	pthread_create(&a, NULL, append, text);
	pthread_create(&b, NULL, cut, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
