// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What comes from outside takes its time, and a thread that sleeps meanwhile
 * sleeps as long:
 *	outside child	another process answers after a while
 *	outside timer	a timer of the kernel expires
 */
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS 1000000

static atomic_int come;

static void *sleep_on(void *arg)
{
	usleep(1000000); /* a busy machine lets the child wait */
	assert(atomic_load(&come));
	return NULL;
}

static void wait_for_child(void)
{
	struct pollfd fd = { .events = POLLIN };
	pthread_t sleeper;
	int ends[2];
	pid_t child;
	char c = 0;

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	child = fork();
	if (child == 0) {
		usleep(20000);
		_exit(write(ends[1], &c, 1) != 1);
	}
	pthread_create(&sleeper, NULL, sleep_on, NULL);
	fd.fd = ends[0];
	assert(poll(&fd, 1, 10000) == 1 && read(ends[0], &c, 1) == 1);
	atomic_store(&come, 1);
	pthread_join(sleeper, NULL);
	waitpid(child, NULL, 0);
}

static void wait_for_timer(void)
{
	struct itimerspec in = { .it_value.tv_nsec = 20 * MS };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	unsigned long long times;
	pthread_t sleeper;

	assert(fd >= 0 && timerfd_settime(fd, 0, &in, NULL) == 0);
	pthread_create(&sleeper, NULL, sleep_on, NULL);
	assert(read(fd, &times, sizeof(times)) == sizeof(times));
	atomic_store(&come, 1);
	pthread_join(sleeper, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "child"))
		wait_for_child();
	else
		wait_for_timer();
	return 0;
}
