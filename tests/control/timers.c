// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers go off in time, as often as they are to, and for whoever is to be told.
 *	timers fd	a reader of a timerfd, once and periodically
 *	timers poll	one who polls it before, with an event that nobody sends
 *	timers epoll	the same by epoll
 *	timers alarm	a handler, which cuts a sleep short and sets it again
 *	timers race	what is expected to be there long before an alarm
 *	timers watchdog	an alarm that ends what takes too long
 */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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

/* Waits for @fd, which is read then. */
static void no_wait(int fd)
{
}

static void wait_by_poll(int fd)
{
	struct pollfd fds[] = { { -1 },
				{ eventfd(0, 0), POLLIN },
				{ fd, POLLIN } };

	assert(poll(fds, 3, -1) == 1 && fds[2].revents == POLLIN);
	close(fds[1].fd);
}

/* So many that what the kernel says of them takes several reads. */
static void wait_by_epoll(int fd)
{
	static int set = -1;
	struct epoll_event event = { .events = EPOLLIN };

	if (set < 0) {
		set = epoll_create1(0);
		for (int i = 0; i < 9; i++)
			assert(epoll_ctl(set, EPOLL_CTL_ADD, eventfd(0, 0),
					 &event) == 0);
		event.data.fd = fd;
		assert(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
	}
	assert(epoll_wait(set, &event, 1, -1) == 1 && event.data.fd == fd);
}

static void read_timer(void (*wait)(int fd))
{
	struct itimerspec in = { .it_value.tv_nsec = 5 * UNIT }, left;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	int64_t from = now();
	uint64_t times, all;

	assert(timerfd_settime(fd, 0, &in, NULL) == 0);
	assert(timerfd_gettime(fd, &left) == 0);
	assert(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 5 * UNIT);
	wait(fd);
	assert(read(fd, &times, sizeof(times)) == sizeof(times) && times == 1);
	assert(now() - from >= 5 * UNIT);
	assert(timerfd_gettime(fd, &left) == 0 && !left.it_value.tv_nsec);
	in.it_interval.tv_nsec = UNIT;
	assert(timerfd_settime(fd, 0, &in, NULL) == 0);
	for (all = 0; all < 20; all += times) {
		wait(fd);
		assert(read(fd, &times, sizeof(times)) == sizeof(times));
	}
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
			read_timer(no_wait);
		else if (!strcmp(argv[1], "poll"))
			read_timer(wait_by_poll);
		else if (!strcmp(argv[1], "epoll"))
			read_timer(wait_by_epoll);
		else
			hear();
		atomic_store(&done, 1);
	}
	pthread_join(other, NULL);
	return 0;
}
