// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An account has two fields, and each has a getter and a setter that take the
 * account's lock. A copy of it is made by two getters, one after the other;
 * interest is credited to both fields in one section.
 *
 * Bug: copy_of() may have one field from before the interest and one from
 * after it. (Figure 1 of AssetFuzzer, from its description.)
 */
#include <assert.h>
#include <pthread.h>

struct account {
	pthread_mutex_t lock;
	int checking, savings;
};

static struct account x = { PTHREAD_MUTEX_INITIALIZER, 100, 100 };

static int checking_of(struct account *a)
{
	int value;

	pthread_mutex_lock(&a->lock);
	value = a->checking;
	pthread_mutex_unlock(&a->lock);
	return value;
}

static int savings_of(struct account *a)
{
	int value;

	pthread_mutex_lock(&a->lock);
	value = a->savings;
	pthread_mutex_unlock(&a->lock);
	return value;
}

static int legal(struct account *a)
{
	return checking_of(a) >= 0 && savings_of(a) >= 0;
}

static void copy_of(struct account *a, struct account *copy)
{
	copy->checking = checking_of(a);
	copy->savings = savings_of(a);
}

static void credit_interest(struct account *a)
{
	pthread_mutex_lock(&a->lock);
	a->checking += a->checking / 10;
	a->savings += a->savings / 10;
	pthread_mutex_unlock(&a->lock);
}

static void *teller(void *arg)
{
	struct account y;

	if (legal(&x)) {
		copy_of(&x, &y);
		assert(y.checking == y.savings);
	}
	return arg;
}

static void *clerk(void *arg)
{
	credit_interest(&x);
	return arg;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, teller, 0);
	pthread_create(&t[1], 0, clerk, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
