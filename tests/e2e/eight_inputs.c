// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A program that takes an input: two workers share out the characters of its
 * argument. Digits are added, capitals are counted, other letters go into a
 * list; what comes out does not depend on the order, and nothing ever fails.
 * With a second argument it computes so many rounds before, as a program does
 * that has something to do: else what a campaign costs would be hidden, where
 * that is measured, by what starting it costs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *input;
static size_t next;
static long sum, capitals, letters;
static char list[64];
static int last, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static int take(void)
{
	int c = 0;

	pthread_mutex_lock(&lock);
	if (next < strlen(input))
		c = input[next++];
	pthread_mutex_unlock(&lock);
	return c;
}

static void add(int digit)
{
	pthread_mutex_lock(&lock);
	sum += digit;
	pthread_mutex_unlock(&lock);
	last = digit;
}

static void count(void)
{
	__atomic_fetch_add(&capitals, 1, __ATOMIC_SEQ_CST);
}

static void keep(char c)
{
	pthread_mutex_lock(&list_lock);
	list[letters++ % sizeof(list)] = c;
	pthread_mutex_unlock(&list_lock);
	last = c;
}

static void *work(void *arg)
{
	int c;

	while ((c = take())) {
		if (c >= '0' && c <= '9')
			add(c - '0');
		else if (c >= 'A' && c <= 'Z')
			count();
		else
			keep(c);
	}
	done++;
	return NULL;
}

static unsigned int hash = 1;

static void prepare(int rounds)
{
	for (int i = 0; i < rounds; i++)
		hash = hash * 31 + i;
}

int main(int argc, char **argv)
{
	pthread_t worker[2];

	input = argc > 1 ? argv[1] : "";
	prepare(argc > 2 ? atoi(argv[2]) : 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&worker[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(worker[i], NULL);
	printf("%ld %ld %ld\n", sum, capitals, letters);
	return 0;
}
