// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * load COUNT CLIENTS SOCKET COMMAND...: starts COMMAND, a memcached that
 * listens at the path SOCKET, has CLIENTS connections set and get values in
 * turns, COUNT times in all, checks each answer, and stops it. On the CPU
 * MAPLE_BENCH_CPU, if that is set. The status is 0 when all was as it should
 * be, memcached's own status included.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 64
#define KEYS	100
#define STARTS	30.0  /* seconds that it may take, under whatever it is */
#define ANSWERS 20000 /* ms */

static struct client {
	int fd;
	unsigned int n; /* of its requests */
	size_t got;
	char answer[256], wanted[256];
} client[CLIENTS];

static pid_t server;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	if (server > 0)
		kill(server, SIGKILL);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void start(char **argv)
{
	const char *cpu = getenv("MAPLE_BENCH_CPU");
	cpu_set_t set;

	server = fork();
	if (server < 0)
		fail(argv[0], strerror(errno));
	if (server)
		return;
	if (cpu) {
		CPU_ZERO(&set);
		CPU_SET(atoi(cpu), &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "load: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int connect_to(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	double until = now() + STARTS;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status;

	if (strlen(path) >= sizeof(at.sun_path))
		fail(path, "too long");
	strcpy(at.sun_path, path);
	while (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		if (now() > until)
			fail(path, strerror(errno));
		if (waitpid(server, &status, WNOHANG) == server) {
			server = 0;
			fail("memcached", "it ended at once");
		}
		usleep(1000);
	}
	return fd;
}

/* Sets a value, then gets it: the same connection, so what it gets is known. */
static void ask(struct client *c, unsigned int number)
{
	unsigned int key = number * 1000 + c->n / 2 % KEYS;
	char request[256];
	int len;

	if (c->n % 2 == 0) {
		len = snprintf(request, sizeof(request),
			       "set k%u 0 0 10\r\nv%09u\r\n", key, c->n);
		strcpy(c->wanted, "STORED\r\n");
	} else {
		len = snprintf(request, sizeof(request), "get k%u\r\n", key);
		snprintf(c->wanted, sizeof(c->wanted),
			 "VALUE k%u 0 10\r\nv%09u\r\nEND\r\n", key, c->n - 1);
	}
	c->n++;
	c->got = 0;
	if (send(c->fd, request, len, MSG_NOSIGNAL) != len)
		fail("memcached", "it takes no request");
}

/* True when the answer is there, all of it. */
static int hear(struct client *c)
{
	ssize_t n =
		read(c->fd, c->answer + c->got, sizeof(c->answer) - 1 - c->got);

	if (n <= 0)
		fail("memcached", "it closed the connection");
	c->got += n;
	c->answer[c->got] = '\0';
	if (c->got < strlen(c->wanted))
		return 0;
	if (strcmp(c->answer, c->wanted))
		fail("wrong answer", c->answer);
	return 1;
}

static void drive(unsigned int count, unsigned int clients)
{
	struct pollfd pfd[CLIENTS];
	unsigned int asked = 0, answered = 0, i;

	for (i = 0; i < clients; i++) {
		pfd[i] = (struct pollfd){ client[i].fd, POLLIN, 0 };
		if (asked++ < count)
			ask(&client[i], i);
	}
	while (answered < count) {
		if (poll(pfd, clients, ANSWERS) <= 0)
			fail("memcached", "it does not answer");
		for (i = 0; i < clients; i++) {
			if (!pfd[i].revents || !hear(&client[i]))
				continue;
			answered++;
			if (asked < count) {
				asked++;
				ask(&client[i], i);
			}
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int count, clients;
	int status;

	count = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
	clients = argc > 4 ? strtoul(argv[2], NULL, 10) : 0;
	if (!clients || clients > CLIENTS || count < clients) {
		fprintf(stderr, "usage: load COUNT CLIENTS SOCKET COMMAND\n");
		return 2;
	}
	unlink(argv[3]);
	start(argv + 4);
	for (unsigned int i = 0; i < clients; i++)
		client[i].fd = connect_to(argv[3]);
	drive(count, clients);
	kill(server, SIGTERM);
	if (waitpid(server, &status, 0) != server || status)
		fail("memcached", "it did not end well");
	return 0;
}
