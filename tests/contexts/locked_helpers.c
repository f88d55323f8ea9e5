// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A queue of jobs is used by three helper functions, each of which takes the
 * lock for itself. Many callers ask how many jobs there are and try to take one,
 * and bear that none is left; so does what this thread did before, ten times.
 *
 * Bug: the last caller does not look at what take() returns: it has asked.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs[64], count;

static int waiting(void)
{
	int n;

	pthread_mutex_lock(&lock);
	n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

static void put(int job)
{
	pthread_mutex_lock(&lock);
	jobs[count] = job;
	count = count + 1;
	pthread_mutex_unlock(&lock);
}

static int take(void)
{
	int job = -1;

	pthread_mutex_lock(&lock);
	if (count > 0) {
		count = count - 1;
		job = jobs[count];
	}
	pthread_mutex_unlock(&lock);
	return job;
}

/* Takes what there is, and bears that there is nothing. */
static int help_out(void)
{
	int job;

	if (waiting() == 0)
		return 0;
	job = take();
	return job < 0 ? 0 : job;
}

static void *worker(void *arg)
{
	int done = 0;

	for (int i = 0; i < 10; i++) {
		put(1);
		done += help_out();
	}
	put(1);
	if (waiting() > 0) {
		int job = take();

		assert(job >= 0);
		done += job;
	}
	return done < 0 ? arg : NULL;
}

static void *helper(void *arg)
{
	int done = 0;

	for (int i = 0; i < 5; i++)
		done += help_out();
	return done < 0 ? arg : NULL;
}

int main(void)
{
	pthread_t t[2];

	pthread_create(&t[0], 0, worker, 0);
	pthread_create(&t[1], 0, helper, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return 0;
}
