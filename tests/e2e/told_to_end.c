// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server that answers one client, gets a signal, and then ends:
 *   told_to_end SIGNO [FD]
 * With FD it reads the signal from a signalfd, else it has a handler. Two
 * threads write down how it went, without a lock. That is a race, but harmless,
 * and no client ever sees it.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int listener, served, state;
static volatile sig_atomic_t told;
static struct sockaddr_in addr = { .sin_family = AF_INET };
static socklen_t size = sizeof(addr);

static void on_signal(int signo)
{
	told = signo;
}

static void *client(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (!connect(fd, (struct sockaddr *)&addr, size))
		close(fd);
	return arg;
}

static void *first(void *arg)
{
	state = 1;
	return arg;
}

static void *second(void *arg)
{
	state = 2;
	return arg;
}

/* Where the signal can be read. */
static int block(int signo)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

int main(int argc, char **argv)
{
	int signo = argc > 1 ? atoi(argv[1]) : SIGTERM;
	int fd = argc > 2 ? block(signo) : -1;
	struct signalfd_siginfo info;
	pthread_t t[2];

	signal(signo, on_signal);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&addr, size) ||
	    listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &size))
		return 1;
	pthread_create(&t[0], NULL, client, NULL);
	close(accept(listener, NULL, NULL));
	served++;
	pthread_join(t[0], NULL);
	raise(signo);
	if (fd >= 0 && read(fd, &info, sizeof(info)) == sizeof(info))
		told = info.ssi_signo;
	if (told != signo)
		return 1;
	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return 0;
}
