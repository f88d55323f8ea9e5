// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers go off in time, as often as they are to, and for whoever is to be told.
 *	timers fd	a reader of a timerfd, once and periodically
 *	timers alarm	a handler, which cuts a sleep short and sets it again
 *	timers race	what is expected to be there long before an alarm
 *	timers watchdog	an alarm that ends what takes too long
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define UNIT 10000000 /* ns */

static atomic_int rings, done;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void *sleep_on(void *arg)
{
	while (!atomic_load(&done))
		usleep(UNIT / 1000);
	return NULL;
}

static void read_timer(void)
{
	struct itimerspec in = { .it_value.tv_nsec = 5 * UNIT }, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	int64_t from = now();
	uint64_t times, all;

	assert(timerfd_settime(fd, 0, &in, NULL) == 0);
	assert(timerfd_gettime(fd, &left) == 0);
	assert(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 5 * UNIT);
	assert(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1);
	assert(now() - from >= 5 * UNIT);
	assert(timerfd_gettime(fd, &left) == 0 && !left.it_value.tv_nsec);
	in.it_interval.tv_nsec = UNIT;
	assert(timerfd_settime(fd, 0, &in, NULL) == 0);
	for (all = 0; all < 20; all += times)
		assert(read(fd, &times, sizeof(times)) == sizeof(times));
	assert(now() - from >= 5 * UNIT + 5 * UNIT + 19 * UNIT);
	in.it_value.tv_nsec = 0;
	assert(timerfd_settime(fd, 0, &in, &left) == 0);
	assert(left.it_interval.tv_nsec == UNIT);
}

static void ring(int signo)
{
	struct itimerval again = { .it_value.tv_usec = UNIT / 1000 };

	if (atomic_fetch_add(&rings, 1) < 9)
		setitimer(ITIMER_REAL, &again, NULL);
}

static void hear(void)
{
	struct itimerval in = { .it_value.tv_usec = UNIT / 1000 }, left;

	signal(SIGALRM, ring);
	assert(setitimer(ITIMER_REAL, &in, NULL) == 0);
	assert(getitimer(ITIMER_REAL, &left) == 0);
	while (atomic_load(&rings) < 10)
		sleep(100);
	assert(alarm(1000) == 0 && alarm(0) == 1000);
}

static void note(int signo)
{
	assert(atomic_load(&done));
}

static void *work(void *arg)
{
	usleep(UNIT / 1000);
	atomic_store(&done, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (!strcmp(argv[1], "race") || !strcmp(argv[1], "watchdog")) {
		if (!strcmp(argv[1], "race"))
			signal(SIGALRM, note);
		alarm(60);
		pthread_create(&other, NULL, work, NULL);
		while (!atomic_load(&done))
			usleep(UNIT / 10000);
	} else {
		pthread_create(&other, NULL, sleep_on, NULL);
		if (!strcmp(argv[1], "fd"))
			read_timer();
		else
			hear();
		atomic_store(&done, 1);
	}
	pthread_join(other, NULL);
	return 0;
}
