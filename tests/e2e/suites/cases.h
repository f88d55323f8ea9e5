/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the test programs of all frameworks test: an account whose deposit
 * takes its lock twice, so that two at once may come to one (idiom 1, add's
 * read and write; natively about 1 run of 10,000). Seven cases go the same
 * way and do not mind, so the order in which it fails has been seen long
 * before the eighth, which does.
 */
#ifndef CASES_H
#define CASES_H

#include <pthread.h>

static pthread_mutex_t cases_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long cases_balance;

static void cases_add(long n)
{
	long before;

	pthread_mutex_lock(&cases_lock);
	before = cases_balance;
	pthread_mutex_unlock(&cases_lock);
	pthread_mutex_lock(&cases_lock);
	cases_balance = before + n;
	pthread_mutex_unlock(&cases_lock);
}

static void *cases_work(void *n)
{
	cases_add(*(long *)n);
	return NULL;
}

/* Two deposits of @n at once; what there is then. */
static long cases_deposit(long n)
{
	pthread_t other;

	cases_balance = 0;
	pthread_create(&other, NULL, cases_work, &n);
	cases_add(n);
	pthread_join(other, NULL);
	return cases_balance;
}

#endif
