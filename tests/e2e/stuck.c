// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Two threads wait for each other's lock in every run. */
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *a_then_b(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b);
	return NULL;
}

static void *b_then_a(void *arg)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a);
	return NULL;
}

int main(void)
{
	pthread_t t, u;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, a_then_b, NULL);
	pthread_create(&u, NULL, b_then_a, NULL);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	return 0;
}
