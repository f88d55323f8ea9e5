// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Two transfers in opposite directions lock their accounts in opposite order.
 * When each holds its first lock, neither gets its second.
 *
 * Idiom: deadlock
 * iRoot: L:23 -> L:39, L:38 -> L:24
 * Native: 0 of 1000 runs fail
 */
#include <assert.h>
#include <pthread.h>

struct account {
	pthread_mutex_t lock;
	int balance;
};

static struct account left = { PTHREAD_MUTEX_INITIALIZER, 100 };
static struct account right = { PTHREAD_MUTEX_INITIALIZER, 100 };

static void *to_right(void *arg)
{
	pthread_mutex_lock(&left.lock);	 /* e0 */
	pthread_mutex_lock(&right.lock); /* e3 */
	left.balance -= 10;
	right.balance += 10;
	pthread_mutex_unlock(&right.lock);
	pthread_mutex_unlock(&left.lock);
	return NULL;
}

static void *to_left(void *arg)
{
	int think = 0;

	for (int i = 0; i < 100000; i++)
		think += i;
	pthread_mutex_lock(&right.lock); /* e2 */
	pthread_mutex_lock(&left.lock);	 /* e1 */
	right.balance -= 5;
	left.balance += 5;
	pthread_mutex_unlock(&left.lock);
	pthread_mutex_unlock(&right.lock);
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, to_right, NULL);
	pthread_create(&b, NULL, to_left, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert(left.balance == 95 && right.balance == 105);
	return 0;
}
