// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * One place counts, very often before there are threads that come to it, too.
 */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void count_to(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		count++;
		pthread_mutex_unlock(&lock);
	}
}

static void *work(void *arg)
{
	count_to(30);
	return NULL;
}

int main(void)
{
	pthread_t worker[2];

	count_to(1000);
	for (int i = 0; i < 2; i++)
		pthread_create(&worker[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(worker[i], NULL);
	return count != 1060;
}
