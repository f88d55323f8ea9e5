// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What dlopen_lib loads. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

long plugin_add(long n);

long plugin_add(long n)
{
	long now;

	pthread_mutex_lock(&lock);
	sum += n;
	now = sum;
	pthread_mutex_unlock(&lock);
	return now;
}
