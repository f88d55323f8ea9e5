// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Timers go off in time, as often as they are to, and for whoever is to be told.
 *	timers fd	a reader of a timerfd, once and periodically
 *	timers poll	one who polls it before, with an event that nobody sends
 *	timers epoll	the same by epoll
 *	timers alarm	a handler, which cuts a sleep short and sets it again
 *	timers pause	the same handler, but waited for by pause()
 *	timers suspend	... by sigsuspend()
 *	timers sigwait	no handler, but sigwait()
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

static void sleep_long(void)
{
	sleep(100);
}

static void sleep_paused(void)
{
	pause();
}

static void suspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigsuspend(&none);
}

static void wait_for_alarm(void)
{
	sigset_t set;
	int signo;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	assert(sigwait(&set, &signo) == 0 && signo == SIGALRM);
	atomic_fetch_add(&rings, 1);
}

static void count(int signo)
{
	atomic_fetch_add(&rings, 1);
}

/* Rings ten times, all by itself or set again by its handler. */
static void hear(void (*handler)(int signo), void (*wait)(void))
{
	struct itimerval in = { .it_value.tv_usec = UNIT / 1000 }, left;

	if (handler != ring)
		in.it_interval = in.it_value;
	if (handler)
		signal(SIGALRM, handler);
	assert(setitimer(ITIMER_REAL, &in, NULL) == 0);
	assert(getitimer(ITIMER_REAL, &left) == 0);
	while (atomic_load(&rings) < 10)
		wait();
	alarm(0);
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
	const char *mode = argv[1];
	sigset_t blocked;
	pthread_t other;

	if (!strcmp(mode, "race") || !strcmp(mode, "watchdog")) {
		if (!strcmp(mode, "race"))
			signal(SIGALRM, note);
		alarm(60);
		pthread_create(&other, NULL, work, NULL);
		while (!atomic_load(&done))
			usleep(UNIT / 10000);
		pthread_join(other, NULL);
		return 0;
	}
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	pthread_create(&other, NULL, sleep_on, NULL);
	if (strcmp(mode, "suspend") && strcmp(mode, "sigwait"))
		pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
	if (!strcmp(mode, "fd"))
		read_timer(no_wait);
	else if (!strcmp(mode, "poll"))
		read_timer(wait_by_poll);
	else if (!strcmp(mode, "epoll"))
		read_timer(wait_by_epoll);
	else if (!strcmp(mode, "alarm"))
		hear(ring, sleep_long);
	else if (!strcmp(mode, "pause"))
		hear(count, sleep_paused);
	else if (!strcmp(mode, "suspend"))
		hear(ring, suspend);
	else if (!strcmp(mode, "sigwait"))
		hear(NULL, wait_for_alarm);
	else
		return 2;
	atomic_store(&done, 1);
	pthread_join(other, NULL);
	return 0;
}
