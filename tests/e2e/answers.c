// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server that is asked without a pause, for who joins it:
 *
 *	answers FILE [patient]
 *
 * Each of its threads waits in epoll_wait(), and in nothing else, for numbers,
 * and answers each by the next one. It has no handler of any signal, so no call
 * of it may ever be interrupted: if one is, it answers 0 from then on; a
 *patient one counts that, and waits again. Another process asks, and writes
 *into FILE how many answers were right, how many wrong or late by a minute, and
 *how many waits were interrupted; it ends with the server.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define LATE_MS 60000
#define EVERY	1000000 /* ns between two questions */

static int sockets[THREADS][2];
/* Without a lock: something to be seen, and orders to force. */
static volatile long total, newest, oldest, table[8];
static volatile int disturbed, patient;
static _Atomic long *interrupted; /* shared with who asks */

static void note(long number)
{
	total = total + 1;
	if (number > newest)
		newest = number;
	table[number % 8] = table[(number + 1) % 8] + 1;
	oldest = newest - total;
}

static void *worker(void *arg)
{
	int fd = *(int *)arg, all = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	long number;

	if (all < 0 || epoll_ctl(all, EPOLL_CTL_ADD, fd, &event))
		exit(1);
	for (;;) {
		while (epoll_wait(all, &event, 1, -1) != 1) {
			++*interrupted;
			if (!patient) {
				disturbed = 1;
				break;
			}
		}
		if (recv(fd, &number, sizeof(number), 0) != sizeof(number))
			exit(0);
		note(number);
		number = disturbed ? 0 : number + 1;
		if (send(fd, &number, sizeof(number), 0) != sizeof(number))
			exit(0);
	}
}

static int is_right(int fd, long number)
{
	struct pollfd pfd = { fd, POLLIN, 0 };
	long answer = 0;

	return poll(&pfd, 1, LATE_MS) == 1 &&
	       recv(fd, &answer, sizeof(answer), 0) == sizeof(answer) &&
	       answer == number + 1;
}

static void client(const char *path)
{
	const struct timespec pause = { 0, EVERY };
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	long right = 0, wrong = 0;
	char text[64];
	int n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long number = 1;; number += THREADS) {
		for (int i = 0; i < THREADS; i++) {
			long asked = number + i;

			if (send(sockets[i][1], &asked, sizeof(asked), 0) !=
			    sizeof(asked))
				_exit(0);
		}
		for (int i = 0; i < THREADS; i++)
			if (is_right(sockets[i][1], number + i))
				right++;
			else
				wrong++;
		n = snprintf(text, sizeof(text), "%12ld %12ld %12ld\n", right,
			     wrong, *interrupted);
		if (pwrite(file, text, (size_t)n, 0) != n)
			_exit(1);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	patient = argc == 3 && !strcmp(argv[2], "patient");
	if (argc != 2 + patient)
		return 2;
	interrupted = mmap(NULL, sizeof(*interrupted), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (interrupted == MAP_FAILED)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets[i]))
			return 1;
	if (!fork())
		client(argv[1]);
	for (int i = 0; i < THREADS; i++)
		close(sockets[i][1]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, worker, &sockets[i][0]))
			return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
