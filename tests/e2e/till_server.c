// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A server with a thread for each of two clients, and three bugs that only an
 * order shows:
 *
 *   till_server PORT MODE	serves
 *   till_server PORT drive	one round: what each client has paid is asked
 * for till_server PORT order	the same, and never says that it is wrong
 *
 * lost: two payments make one; the answers tell, and standard output.
 * locks: paying and drawing take two locks in opposite orders.
 * leaves: when a payment is lost the server ends, with status 3.
 * rude: ends at the first payment of all.
 * once: a second round on the same server is refused.
 * later: only from the second round on are payments lost.
 * warm: nothing is wrong; before it serves, a thread writes what main reads.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENTS 2

static pthread_mutex_t till_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int till, book, warmed;
static const char *mode;

static bool is(const char *what)
{
	return !strcmp(mode, what);
}

static void pay(void)
{
	int before;

	if (is("rude"))
		exit(3);
	if (is("locks") || is("warm")) {
		pthread_mutex_lock(&till_lock);
		pthread_mutex_lock(&book_lock);
		till++;
		book++;
		pthread_mutex_unlock(&book_lock);
		pthread_mutex_unlock(&till_lock);
		return;
	}
	if (is("later") && book < CLIENTS) {
		pthread_mutex_lock(&till_lock);
		till++;
		book++;
		pthread_mutex_unlock(&till_lock);
		return;
	}
	before = till;
	till = before + 1;
	__atomic_add_fetch(&book, 1, __ATOMIC_SEQ_CST);
}

static void draw(void)
{
	pthread_mutex_lock(&book_lock);
	pthread_mutex_lock(&till_lock);
	till++;
	book++;
	pthread_mutex_unlock(&till_lock);
	pthread_mutex_unlock(&book_lock);
}

/* What is in the till, when both have paid. */
static int count(void)
{
	if (till == book)
		return till;
	if (is("leaves"))
		exit(3);
	printf("lost\n");
	fflush(stdout);
	return till;
}

/* A request is a letter, an answer a line. */
static void *serve_one(void *arg)
{
	int fd = (int)(intptr_t)arg, found;
	char what, line[32];

	while (read(fd, &what, 1) == 1) {
		found = 0;
		if (what == 'p')
			pay();
		else if (what == 'd')
			draw();
		else if (is("once") && book > CLIENTS)
			found = -1;
		else
			found = count();
		snprintf(line, sizeof(line), "%d\n", found);
		if (write(fd, line, strlen(line)) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void *warm_up(void *arg)
{
	warmed = 1;
	return NULL;
}

/* That it is too early now and then harms nobody. */
static void start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, warm_up, NULL))
		exit(4);
	if (warmed)
		printf("warm\n");
	pthread_join(thread, NULL);
}

static struct sockaddr_in address(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int serve(int port)
{
	struct sockaddr_in at = address(port);
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, client;
	pthread_t thread;

	if (is("warm"))
		start();
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 8)) {
		perror("listen");
		return 4;
	}
	while ((client = accept(fd, NULL, NULL)) >= 0)
		if (!pthread_create(&thread, NULL, serve_one,
				    (void *)(intptr_t)client))
			pthread_detach(thread);
	return 0;
}

/* ---- one round ---- */

static void ask(int fd, char what)
{
	if (write(fd, &what, 1) != 1)
		exit(1);
}

static int answer(int fd)
{
	char line[32] = "";
	size_t n = 0;

	do
		if (n == sizeof(line) - 1 || read(fd, line + n, 1) != 1)
			exit(1);
	while (line[n++] != '\n');
	return atoi(line);
}

static int drive(int port)
{
	struct sockaddr_in at = address(port);
	int fd[CLIENTS], before, after, i;

	for (i = 0; i < CLIENTS; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd[i], (struct sockaddr *)&at, sizeof(at)))
			return 1;
	}
	ask(fd[0], 'c');
	before = answer(fd[0]);
	ask(fd[0], 'p');
	ask(fd[1], getenv("DRAW") ? 'd' : 'p');
	for (i = 0; i < CLIENTS; i++)
		answer(fd[i]);
	ask(fd[0], 'c');
	after = answer(fd[0]);
	return before < 0 || after != before + CLIENTS;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: till_server PORT MODE|drive|order\n");
		return 2;
	}
	mode = argv[2];
	if (is("drive"))
		return drive(atoi(argv[1]));
	if (is("order")) {
		drive(atoi(argv[1]));
		return 0;
	}
	return serve(atoi(argv[1]));
}
