// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Next to nothing: what a run of it costs is the cost of a run. */
#include <pthread.h>

static volatile int shared;

static void *add(void *unused)
{
	shared = shared + 1;
	return NULL;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, add, NULL))
		return 1;
	shared = shared + 1;
	return pthread_join(t, NULL);
}
