// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two threads, of which one does more when the program has an argument: what
 * tests without one do not reach.
 */
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted, rarely, kept;

static void count(void)
{
	counted++;
}

static void seldom(void)
{
	rarely = 1;
}

static int ask(void)
{
	return rarely;
}

static void keep(void)
{
	pthread_mutex_lock(&lock);
	kept++;
	pthread_mutex_unlock(&lock);
}

static void *first(void *arg)
{
	count();
	keep();
	if (arg)
		seldom();
	return NULL;
}

static void *second(void *arg)
{
	count();
	keep();
	return ask() == 2 ? arg : NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	(void)argv;
	pthread_create(&a, NULL, first, argc > 1 ? &lock : NULL);
	pthread_create(&b, NULL, second, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
